"""The graph that is written computes what BERT computes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from deedbox.kernel.errors import BadRequest
from deedbox.search.embed import graph
from deedbox.search.embed.graph import Pooling
from deedbox.search.embed.nodes import INPUT, Precision
from tests.search.embed import oracle, tiny

IDS = [2, 4, 5, 6, 7, 8, 4, 9, 3]


def made(config: dict[str, Any], pooling: Pooling, precision: Precision, **rest: Any) -> NDArray[np.float32]:
    """The unit vector that the graph of a tiny model gives."""
    built = graph.build(tiny.weights(**rest), graph.read_shape(json.dumps(config).encode()), pooling, precision)
    found = onnxruntime.InferenceSession(built, providers=["CPUExecutionProvider"]).run(
        None, {INPUT: np.array([IDS], np.int64)}
    )[0][0]
    assert found.shape == (tiny.HIDDEN,)
    return np.asarray(found / np.linalg.norm(found), np.float32)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize(
    "differences",
    [
        {},
        {"hidden_act": "relu"},
        {"hidden_act": "gelu_new"},
        {"num_attention_heads": 8, "layer_norm_eps": 1e-5},
        {"model_type": "roberta", "pad_token_id": 1},
        {"model_type": "xlm-roberta", "pad_token_id": 1, "layer_norm_eps": 1e-5},
        {"num_hidden_layers": 1},
    ],
)
def test_in_full_precision_it_agrees_with_the_plain_computation(pooling: Pooling, differences: dict[str, Any]) -> None:
    config = tiny.shape(**differences)
    expected = oracle.vector(tiny.weights(), config, IDS, pooling)
    assert np.allclose(made(config, pooling, "fp32"), expected, atol=2e-5)


@pytest.mark.parametrize("prefix", ["bert.", "roberta.", "model."])
def test_weights_inside_a_larger_model_are_found(prefix: str) -> None:
    plain = made(tiny.shape(), "mean", "fp32")
    assert np.array_equal(made(tiny.shape(), "mean", "fp32", prefix=prefix), plain)


def test_weights_in_half_precision_are_read() -> None:
    half = {name: array.astype(np.float16) for name, array in tiny.weights().items()}
    shape = graph.read_shape(json.dumps(tiny.shape()).encode())
    session = onnxruntime.InferenceSession(graph.build(half, shape, "mean", "fp32"))
    found = session.run(None, {INPUT: np.array([IDS], np.int64)})[0][0]
    expected = oracle.vector(half, tiny.shape(), IDS, "mean")
    assert np.allclose(found / np.linalg.norm(found), expected, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_8_bit_integers_give_nearly_the_same_vector(seed: int) -> None:
    exact = made(tiny.shape(), "mean", "fp32", seed=seed)
    assert float(made(tiny.shape(), "mean", "int8", seed=seed) @ exact) > 0.97


def test_each_column_has_its_own_scale() -> None:
    matrix = np.array([[1000.0, 0.001, 0.0], [-500.0, 0.0005, 0.0]], np.float32)
    whole, scale = graph.quantize(matrix)
    assert whole.tolist() == [[127, 127, 0], [-64, 64, 0]]
    assert np.allclose(whole * scale, matrix, rtol=0.01)


@pytest.mark.parametrize(
    "config",
    [
        b"no json",
        b"{}",
        json.dumps(tiny.shape(model_type="distilbert")).encode(),
        json.dumps(tiny.shape(hidden_act="swish")).encode(),
        json.dumps(tiny.shape(position_embedding_type="relative_key")).encode(),
        json.dumps(tiny.shape(num_attention_heads=5)).encode(),
        json.dumps(tiny.shape(num_attention_heads=0)).encode(),
        json.dumps(tiny.shape(max_position_embeddings=0)).encode(),
    ],
)
def test_a_model_that_is_not_bert_shaped_is_refused(config: bytes) -> None:
    with pytest.raises(BadRequest, match=r"config\.json"):
        graph.read_shape(config)


@pytest.mark.parametrize("differences", [{"num_hidden_layers": 3}, {"hidden_size": 64}])
def test_weights_that_do_not_fit_the_config_are_refused(differences: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="do not fit"):
        made(tiny.shape(**differences), "mean", "fp32")


def test_weights_without_a_word_table_are_refused() -> None:
    with pytest.raises(BadRequest, match="no word table"):
        graph.build({}, graph.read_shape(json.dumps(tiny.shape()).encode()), "mean", "fp32")


def test_the_graph_depends_on_nothing_but_the_model(tmp_path: Path) -> None:
    shape = graph.read_shape(json.dumps(tiny.shape()).encode())
    built = {graph.build(tiny.weights(3), shape, "mean", "int8") for _ in range(2)}
    assert len(built) == 1
