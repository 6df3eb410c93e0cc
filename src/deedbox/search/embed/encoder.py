"""The Universal Sentence Encoder: runs of 2, 3 and 5 neighbouring tokens, read by convolutions and added up.

The package that carries it keeps the weights in one file of numpy, the rows of the tokens in 8 bits: token number n is
row n // 17 of part n % 17, and each part has a scale and a least value of its own."""

import zipfile
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from deedbox.kernel.errors import BadRequest
from deedbox.search.embed import fetch, sentencepiece
from deedbox.search.embed.nodes import INPUT, OUTPUT, Nodes, Weights

MODEL_TYPE: Literal["universal-sentence-encoder"] = "universal-sentence-encoder"
WINDOW = 512
"""Tokens. The encoder has no bound of its own, but a vector of very long text says little."""
_PART = "q"
_WORDS = "words"
_RUNS = (2, 3, 5)


class EncoderConfig(msgspec.Struct, frozen=True):
    """The form of an encoder, by its config.json."""

    model_type: Literal["universal-sentence-encoder"]
    hidden_size: int
    max_position_embeddings: int
    layer_norm_eps: float

    @property
    def positions(self) -> int:
        """The most tokens that are read at once."""
        return self.max_position_embeddings


_FORM = msgspec.json.Decoder(EncoderConfig)


def read_form(config: bytes) -> EncoderConfig:
    return _FORM.decode(config)


def unpack(folder: Path) -> None:
    """Makes the files of a package into those in which models are published; BadRequest if they are not whole."""
    from safetensors.numpy import save_file

    tokenizer = sentencepiece.tokenizer((folder / fetch.PIECES).read_bytes())
    try:
        with np.load(folder / fetch.ARRAYS, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        parts = [arrays.pop(f"{_PART}{number + 1}") for number in range(len(arrays["scale"]))]
        words = np.stack(parts, axis=1).reshape(-1, parts[0].shape[1])
        form = EncoderConfig(MODEL_TYPE, arrays["d3"].shape[1], WINDOW, float(arrays.pop("eps")))
        save_file({**arrays, _WORDS: words}, folder / fetch.WEIGHTS)
    except (zipfile.BadZipFile, OSError, EOFError, KeyError, ValueError, TypeError, IndexError) as error:
        raise BadRequest(f"The file {fetch.ARRAYS} of the encoder cannot be read: {error}") from error
    (folder / fetch.TOKENIZER).write_bytes(tokenizer)
    (folder / fetch.CONFIG).write_bytes(msgspec.json.encode(form))


def build(weights: Weights, form: EncoderConfig) -> bytes:
    """The graph as an ONNX file: the tokens of one text in, its vector (not normalised) out."""
    try:
        return _Graph(weights, form).finished()
    except (KeyError, ValueError, IndexError) as error:
        raise BadRequest(f"The weights do not fit the model's config.json: {error}") from error


class _Graph(Nodes):
    """The graph of an encoder."""

    def __init__(self, weights: Weights, form: EncoderConfig) -> None:
        super().__init__(weights)
        self._form = form

    def finished(self) -> bytes:
        rows = self._rows()
        read = self._node("Concat", [rows, *self._runs(rows)], axis=2)
        self._layers(self._summed(self._normalised(read, self._weight("ln_g"), self._weight("ln_b"))))
        return self._serialized(self._form.hidden_size)

    def _rows(self) -> str:
        """The row of each token; the table stays in the 8 bits that it has."""
        table = self._weights[_WORDS]
        if table.dtype != np.uint8:
            raise ValueError("the rows of the tokens are not in 8 bits")
        scale, least = self._weight("scale"), self._weight("lo")
        part = self._node("Mod", [INPUT, self._numbers("parts", [len(scale)])])
        whole = self._node("Gather", [self._constant(_WORDS, table), INPUT], axis=0)
        scales = self._node("Gather", [self._constant("scale", scale[:, None]), part], axis=0)
        leasts = self._node("Gather", [self._constant("least", least[:, None]), part], axis=0)
        stretched = self._node("Mul", [self._node("Cast", [whole], to=TensorProto.FLOAT), scales])
        return self._node("Add", [stretched, leasts])

    def _runs(self, rows: str) -> list[str]:
        """What each token and its neighbours say together, for each length of a run."""
        weight, bias, gain, shift = (
            np.concatenate([self._weight(f"{name}{length}") for length in _RUNS], axis=-1)
            for name in ("proj", "proj_b", "ln_g", "ln_b")
        )
        seen = self._node("MatMul", [rows, self._constant("project", weight)])
        seen = self._normalised(self._node("Add", [seen, self._constant("project_bias", bias)]), gain, shift)
        width = len(gain) // len(_RUNS)
        found = []
        for number, length in enumerate(_RUNS):
            edges = [self._numbers(f"{name}{length}", [at]) for name, at in _edges(number * width, width)]
            hidden = self._node("Transpose", [self._node("Slice", [seen, *edges])], perm=[0, 2, 1])
            for layer in ("1", "2"):
                hidden = self._convolved(layer, length, hidden)
            found.append(self._node("Transpose", [hidden], perm=[0, 2, 1]))
        return found

    def _convolved(self, layer: str, length: int, hidden: str) -> str:
        name = f"w{layer}_{length}"
        weight = self._weight(name)
        kernel = weight.reshape(length, -1, weight.shape[1]).transpose(2, 1, 0)
        given = [hidden, self._constant(name, kernel), self._constant(f"bias_{name}", self._weight(f"b{name[1:]}"))]
        before = (length - 1) // 2
        run = self._node("Conv", given, kernel_shape=[length], pads=[before, length - 1 - before])
        return self._node("Add", [self._node("Relu", [run]), hidden])

    def _summed(self, read: str) -> str:
        """The tokens added up and divided by the root of their number."""
        weight = self._constant("sum", self._weight("cnn_W"))
        bias = self._constant("sum_bias", self._weight("cnn_b"))
        tokens = self._node("Gather", [self._node("Shape", [INPUT]), self._numbers("second", [1])], axis=0)
        count = self._node("Cast", [tokens], to=TensorProto.FLOAT)
        added = self._node("ReduceSum", [read, self._numbers("along", [1])], keepdims=0)
        total = self._node("Add", [self._node("MatMul", [added, weight]), self._node("Mul", [count, bias])])
        return self._node("Div", [total, self._node("Sqrt", [count])])

    def _layers(self, total: str) -> None:
        """Two layers of two steps, each beside a way that leaves out the first step."""
        first = self._node("Relu", [self._times(total, "d0")])
        middle = self._node("Add", [self._times(total, "p1"), self._times(first, "d1")])
        middle = self._node("Relu", [middle])
        third = self._node("Relu", [self._times(middle, "d2")])
        last = self._node("Add", [self._times(middle, "p3"), self._times(third, "d3")])
        self._node("Tanh", [last], output=OUTPUT)

    def _times(self, given: str, name: str) -> str:
        return self._node("MatMul", [given, self._constant(name, self._weight(name))])

    def _normalised(self, given: str, gain: NDArray[np.float32], shift: NDArray[np.float32]) -> str:
        norm = [self._constant(f"{given}.{name}", array) for name, array in (("gain", gain), ("shift", shift))]
        return self._node("LayerNormalization", [given, *norm], epsilon=self._form.layer_norm_eps)


def _edges(begin: int, width: int) -> tuple[tuple[str, int], ...]:
    return (("begin", begin), ("end", begin + width), ("axis", 2))
