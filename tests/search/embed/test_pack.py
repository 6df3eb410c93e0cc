"""A model that lies in one packed file: its weights become those of the graph, and what is no pack is refused."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.search import limits
from deedbox.search.embed import install, pack
from deedbox.search.embed.inference import LoadedModel
from deedbox.search.embed.models import GRAPH, TOKENIZER
from tests.search.embed import oracle, tiny
from tests.search.embed.packs import GROUP, MARK, Weights, packed

CONFIG = tiny.shape(model_type="roberta", pad_token_id=1, layer_norm_eps=1e-5)


def as_kept(weights: Weights) -> Weights:
    """The weights after what 8 bits have lost of them, computed a second way."""
    kept = {}
    for name, values in weights.items():
        kept[name] = values
        if values.ndim == 2 and not any(word in name for word in ("position", "token_type")):
            flat = values.reshape(-1).astype(np.float64)
            for begin in range(0, len(flat), GROUP):
                step = float(np.float32(max(abs(flat[begin : begin + GROUP])) / 127))
                flat[begin : begin + GROUP] = [round(each / step) * step for each in flat[begin : begin + GROUP]]
            kept[name] = flat.reshape(values.shape).astype(np.float32)
    return kept


def unpacked(tmp_path: Path, data: bytes) -> Path:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    (tmp_path / "tiny.pack").write_bytes(data)
    pack.unpack(tmp_path / "tiny.pack", folder)
    return folder


def test_a_pack_gives_the_vectors_of_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MODEL_INT8_GAIN", 1e9)
    weights, place = tiny.weights(3), tmp_path / "models"
    model = install.install_folder(unpacked(tmp_path, packed(weights)), "tiny", place, tiny.unseen)
    assert (model.dimensions, model.window, model.precision) == (tiny.HIDDEN, 24, "fp32")
    files = [(place / "tiny" / name).read_bytes() for name in (GRAPH, TOKENIZER)]
    (vector,) = LoadedModel(files[0], files[1], model.window, 1).vectors(["the tenant pays"])
    expected = oracle.vector(as_kept(weights), CONFIG, [2, 4, 5, 6, 3], "cls")
    assert np.allclose(vector, expected, atol=2e-5)
    # Neither another place of the first position nor another pooling would pass for it.
    for config, pooling in ((CONFIG, "mean"), ({**CONFIG, "model_type": "bert"}, "cls")):
        assert not np.allclose(vector, oracle.vector(as_kept(weights), config, [2, 4, 5, 6, 3], pooling), atol=2e-3)


def tensors_of(data: bytes) -> list[dict[str, Any]]:
    length = struct.unpack("<Q", data[8:16])[0]
    found: list[dict[str, Any]] = json.loads(data[16 : 16 + length])["tensors"]
    return found


def changed(**differences: Any) -> bytes:
    """A pack whose first tensor is not as its header says."""
    first, *rest = tensors_of(packed(tiny.weights()))
    return packed(tiny.weights(), tensors=[{**first, **differences}, *rest])


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: b"", "no pack"),
        (lambda: b"HMSEMB02" + packed(tiny.weights())[8:], "no pack"),
        (lambda: MARK + struct.pack("<Q", 2**60), "no pack"),
        (lambda: MARK + struct.pack("<Q", 9) + b"no header", "header"),
        (lambda: packed(tiny.weights(), format=2), "header"),
        (lambda: packed(tiny.weights())[:-1], "cannot be read"),
        (lambda: packed(tiny.weights()) + b"more", "not as long"),
        (lambda: changed(group=7), "word_emb cannot be read"),
        (lambda: changed(group=0), "word_emb cannot be read"),
        (lambda: changed(shape=[1, 1]), "word_emb cannot be read"),
        (lambda: changed(shape=[-1, -1]), "word_emb cannot be read"),
        (lambda: changed(dtype="f32"), "word_emb cannot be read"),
        (lambda: changed(name="other.w"), "not known: other.w"),
        (lambda: changed(name="l0.other.w"), r"not known: l0\.other\.w"),
    ],
)
def test_what_is_no_whole_pack_is_refused(tmp_path: Path, made: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        unpacked(tmp_path, made())
    assert not any((tmp_path / "unpacked").iterdir())
