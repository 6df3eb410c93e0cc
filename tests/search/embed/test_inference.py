"""Vectors: of unit length, the same for the same text whatever is beside it, and never NaN."""

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deedbox.kernel.errors import ServiceError
from deedbox.search.embed import graph, models
from deedbox.search.embed.inference import LoadedModel
from deedbox.search.embed.nodes import Precision
from deedbox.search.embed.turns import WindowPart
from deedbox.search.embed.vectors import unit
from deedbox.search.library.upload import Extraction
from tests.search.embed import oracle, tiny

SENTENCES = [
    "The tenant pays the rent on the first day of each month.",
    "Der Mieter zahlt die Miete.",
    "Either party may terminate this agreement with thirty days' written notice.",
    "契約は毎年更新されます。",
    "who pays?",
]
ODD = ["", " ", "\x00", "\x00" * 40, "😀" * 300, "\u200d\ufe0f", "a" * 5000, "\ufffd", "؟", "\n\n\t"]


@cache
def tiny_engine(precision: Precision = "int8", window: int = 20, threads: int = 2) -> LoadedModel:
    shape = graph.read_shape(json.dumps(tiny.shape()).encode())
    built = graph.build(tiny.weights(), shape, "mean", precision)
    return LoadedModel(built, tiny.tokenizer().to_str().encode(), window, threads)


def real_engine(models_dir: Path, threads: int = 2) -> LoadedModel:
    model = models.current(models_dir)
    assert model is not None
    folder = models_dir / model.name
    return LoadedModel(
        (folder / models.GRAPH).read_bytes(), (folder / models.TOKENIZER).read_bytes(), model.window, threads
    )


def same(one: Any, other: Any) -> bool:
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_the_installed_model_gives_unit_vectors_that_know_what_is_alike(models_dir: Path) -> None:
    engine = real_engine(models_dir)
    rent, notice, question = engine.vectors([SENTENCES[0], SENTENCES[2], "When is the rent due?"])
    assert rent.shape == (384,)
    assert all(abs(float(np.linalg.norm(vector)) - 1) < 1e-5 for vector in (rent, notice, question))
    assert float(rent @ question) > 0.5 > float(notice @ question)


def test_chunks_leave_room_for_the_prefix() -> None:
    engine = tiny_engine()
    text, prefix = "the tenant pays rent . " * 40, "no rent no rent ? "
    for before, fits in (("", False), (prefix, True)):
        found = engine.spans(Extraction(text, None, []), 1000, 0, before)
        windows = {count for count, _ in engine.read([WindowPart(prefix + text[a:b], 0, 9) for a, b in found[:-1]])}
        assert (windows == {1}) is fits


def test_a_text_has_the_same_vector_alone_and_among_others(models_dir: Path) -> None:
    engine = real_engine(models_dir)
    together = engine.vectors([*SENTENCES, *ODD, "word " * 200])
    for text, vector in zip([*SENTENCES, *ODD], together, strict=False):
        assert same(vector, engine.vectors([text])[0])
    assert same(together[:5], real_engine(models_dir, threads=1).vectors(SENTENCES))


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_have_unit_vectors_too(models_dir: Path, text: str) -> None:
    (vector,) = real_engine(models_dir).vectors([text])
    assert np.isfinite(vector).all()
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5


def test_texts_without_tokens_share_one_fixed_vector() -> None:
    empty, space, control = tiny_engine().vectors(["", "  ", "\x00\x01"])
    assert same(empty, space)
    assert same(empty, control)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=200), max_size=5))
def test_whatever_the_texts_each_has_a_unit_vector(texts: list[str]) -> None:
    found = tiny_engine().vectors(texts)
    assert len(found) == len(texts)
    assert all(abs(float(np.linalg.norm(vector)) - 1) < 1e-5 for vector in found)


@pytest.mark.parametrize("text", ["the tenant pays", "rents on the 7 .", "unknown words"])
def test_the_vector_is_that_of_the_text_with_its_special_tokens(text: str) -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.no_padding()
    expected = oracle.vector(tiny.weights(), tiny.shape(), tokenizer.encode(text).ids, "mean")
    assert np.allclose(tiny_engine("fp32").vectors([text])[0], expected, atol=2e-5)


def test_the_limits_in_a_tokenizer_file_do_not_count() -> None:
    long = "the tenant pays rent on the first day of each month . "
    one, other = tiny_engine("fp32", window=40).vectors([long + "a", long + "no"])
    assert not same(one, other)


def test_a_text_longer_than_the_window_is_the_mean_of_its_windows() -> None:
    engine = tiny_engine("fp32")
    first, second = "the tenant pays rent " * 4, "on first day of each month . , ? 7 the day a no the the"
    assert engine.room == 18
    halves = np.mean(engine.vectors([first, second]), axis=0)
    (whole,) = engine.vectors([first + second])
    assert np.allclose(whole, halves / np.linalg.norm(halves), atol=1e-6)


def test_text_far_beyond_the_window_still_counts() -> None:
    begin = "the tenant pays rent . " * 40
    one, other = tiny_engine().vectors([begin + "7 7 7 7 7 7 7 7", begin])
    assert not same(one, other)


def test_chunks_are_never_larger_than_the_window_whatever_size_is_asked_for() -> None:
    engine, text = tiny_engine(), "the tenant pays rent . " * 40
    for start, end in engine.spans(Extraction(text, None, []), 200, 0):
        assert len(text[start:end].split()) <= engine.room


@pytest.mark.parametrize("broken", [np.nan, np.inf, 0.0])
def test_a_vector_without_direction_is_an_error_and_not_an_answer(broken: float) -> None:
    with pytest.raises(ServiceError, match="install the model again"):
        unit(np.full(8, broken, np.float32))


def test_the_default_model_agrees_with_the_plain_computation_on_its_weights(models_dir: Path) -> None:
    model = models.current(models_dir)
    assert model is not None
    assert (model.name, model.dimensions, model.window) == ("all-MiniLM-L6-v2", 384, 256)
    golden = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))
    for text, vector in zip(golden, real_engine(models_dir).vectors(list(golden)), strict=True):
        exact = np.frombuffer(base64.b64decode(golden[text]), "<f2").astype(np.float32)
        assert float(vector @ exact) > (0.97 if model.precision == "int8" else 0.9999), text
