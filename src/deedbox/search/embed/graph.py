"""Writes the ONNX graph of a BERT-shaped model straight from its weights, in full precision or in 8-bit integers."""

from typing import Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

from deedbox.kernel.errors import BadRequest
from deedbox.search.embed.nodes import INPUT, MICROSOFT, OUTPUT, Nodes, Precision, Weights

Pooling: TypeAlias = Literal["mean", "cls"]

_ACTIVATIONS = {"gelu": "BiasGelu", "gelu_new": "FastGelu", "gelu_pytorch_tanh": "FastGelu", "relu": "Relu"}
_PREFIXES = ("", "bert.", "roberta.", "model.")
_WORDS = "embeddings.word_embeddings.weight"


class ModelShape(msgspec.Struct, frozen=True):
    """The form of a model, by its config.json."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    model_type: Literal["bert", "roberta", "xlm-roberta"]
    hidden_act: Literal["gelu", "gelu_new", "gelu_pytorch_tanh", "relu"] = "gelu"
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0
    position_embedding_type: Literal["absolute"] = "absolute"

    @property
    def first_position(self) -> int:
        """Where the position of a text's first token lies: RoBERTa counts on from its padding."""
        return 0 if self.model_type == "bert" else self.pad_token_id + 1

    @property
    def positions(self) -> int:
        """The most tokens that the model reads at once."""
        return self.max_position_embeddings - self.first_position


_SHAPE = msgspec.json.Decoder(ModelShape)


def read_shape(config: bytes) -> ModelShape:
    """The shape in a config.json; BadRequest if the model is not BERT-shaped."""
    try:
        shape = _SHAPE.decode(config)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"The model's config.json does not describe a BERT-shaped model: {error}") from error
    whole = shape.num_attention_heads > 0 and shape.hidden_size % shape.num_attention_heads == 0
    if not whole or shape.num_hidden_layers < 1 or shape.positions < 8:
        raise BadRequest("The model's config.json describes no model that could work")
    return shape


def build(weights: Weights, shape: ModelShape, pooling: Pooling, precision: Precision) -> bytes:
    """The graph as an ONNX file: the tokens of one text in, its vector (not normalised) out."""
    try:
        return _Graph(_named(weights), shape, precision).finished(pooling)
    except (KeyError, ValueError, IndexError) as error:
        raise BadRequest(f"The weights do not fit the model's config.json: {error}") from error


def _named(weights: Weights) -> Weights:
    """The weights without the prefix that they have inside larger models."""
    for prefix in _PREFIXES:
        if prefix + _WORDS in weights:
            return {name.removeprefix(prefix): array for name, array in weights.items()}
    raise BadRequest("The weights have no word table of a BERT-shaped model")


def quantize(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Signed 8-bit columns, each with a scale of its own: one scale for all would cost 5 % of the similarity."""
    peak = np.abs(matrix).max(axis=0) / 127
    scale = np.where(peak == 0, 1, peak).astype(np.float32)
    return np.clip(np.rint(matrix / scale), -127, 127).astype(np.int8), scale


class _Graph(Nodes):
    """The graph of a BERT-shaped model."""

    def __init__(self, weights: Weights, shape: ModelShape, precision: Precision) -> None:
        super().__init__(weights)
        self._shape = shape
        self._precision = precision

    def finished(self, pooling: Pooling) -> bytes:
        hidden = self._embeddings()
        for number in range(self._shape.num_hidden_layers):
            hidden = self._layer(f"encoder.layer.{number}.", hidden)
        self._pooled(hidden, pooling)
        return self._serialized(self._shape.hidden_size)

    def _embeddings(self) -> str:
        """Word, position and segment, added up and normalised."""
        table = self._weight(_WORDS)
        if table.shape[1] != self._shape.hidden_size:
            raise ValueError(f"a word has {table.shape[1]} numbers")
        words = self._word_rows(table)
        # A text has one segment, so its row is the same for every token.
        positions = self._weight("embeddings.position_embeddings.weight")[self._shape.first_position :]
        segment = self._weight("embeddings.token_type_embeddings.weight")[0]
        places = self._constant("positions", positions + segment)
        length = self._node("Gather", [self._node("Shape", [INPUT]), self._numbers("one", [1])], axis=0)
        rows = self._node("Slice", [places, self._numbers("zero", [0]), length, self._numbers("axis", [0])])
        return self._normalised("embeddings.LayerNorm", self._node("Add", [words, rows]))

    def _word_rows(self, table: NDArray[np.float32]) -> str:
        if self._precision == "fp32":
            return self._node("Gather", [self._constant("words", table), INPUT], axis=0)
        columns, scale = quantize(table.T)
        rows = self._node("Gather", [self._constant("words", columns.T), INPUT], axis=0)
        scales = self._node("Gather", [self._constant("word_scales", scale[:, None]), INPUT], axis=0)
        return self._node("Mul", [self._node("Cast", [rows], to=TensorProto.FLOAT), scales])

    def _layer(self, name: str, hidden: str) -> str:
        attended = self._attention(name, hidden)
        mixed = self._product(name + "attention.output.dense", attended)
        hidden = self._added(name + "attention.output", hidden, mixed)
        inner = self._activated(name + "intermediate.dense", self._product(name + "intermediate.dense", hidden))
        return self._added(name + "output", hidden, self._product(name + "output.dense", inner))

    def _attention(self, name: str, hidden: str) -> str:
        parts = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self._weight(f"{part}.weight").T for part in parts], axis=1)
        bias = self._constant(name + "bias", np.concatenate([self._weight(f"{part}.bias") for part in parts]))
        heads = self._shape.num_attention_heads
        if self._precision == "fp32":
            given = [hidden, self._constant(name + "weight", weight), bias]
            return self._node("Attention", given, domain=MICROSOFT, num_heads=heads)
        columns, scale = quantize(weight)
        whole, step, zero = self._whole_numbers(hidden)
        given = [whole, self._constant(name + "weight", columns), bias, step, self._constant(name + "scale", scale)]
        given += ["", zero, self._constant(name + "zero", np.zeros(len(scale), np.int8))]
        return self._node("QAttention", given, domain=MICROSOFT, num_heads=heads)

    def _product(self, name: str, given: str) -> str:
        """The input times the weights; the bias is added by the next node."""
        weight = self._weight(f"{name}.weight").T
        if self._precision == "fp32":
            return self._node("MatMul", [given, self._constant(f"{name}.weight", weight)])
        columns, scale = quantize(weight)
        whole, step, zero = self._whole_numbers(given)
        factors = [whole, self._constant(f"{name}.weight", columns), step, self._constant(f"{name}.scale", scale)]
        factors += [zero, self._constant(f"{name}.zero", np.zeros(len(scale), np.int8))]
        return self._node("MatMulIntegerToFloat", factors, domain=MICROSOFT)

    def _whole_numbers(self, given: str) -> tuple[str, str, str]:
        """The values as 8-bit integers, with their scale and their zero."""
        names = [f"{given}.{part}" for part in ("whole", "step", "zero")]
        self._nodes.append(helper.make_node("DynamicQuantizeLinear", [given], names))
        return names[0], names[1], names[2]

    def _activated(self, name: str, given: str) -> str:
        bias = self._constant(f"{name}.bias", self._weight(f"{name}.bias"))
        kind = _ACTIVATIONS[self._shape.hidden_act]
        if kind == "Relu":
            return self._node("Relu", [self._node("Add", [given, bias])])
        return self._node(kind, [given, bias], domain=MICROSOFT)

    def _added(self, name: str, hidden: str, change: str) -> str:
        norm = [self._constant(f"{name}.{part}", self._weight(f"{name}.LayerNorm.{part}")) for part in _NORM]
        bias = self._constant(f"{name}.dense.bias", self._weight(f"{name}.dense.bias"))
        epsilon = self._shape.layer_norm_eps
        return self._node("SkipLayerNormalization", [hidden, change, *norm, bias], domain=MICROSOFT, epsilon=epsilon)

    def _normalised(self, name: str, given: str) -> str:
        norm = [self._constant(f"{name}.{part}", self._weight(f"{name}.{part}")) for part in _NORM]
        return self._node("LayerNormalization", [given, *norm], epsilon=self._shape.layer_norm_eps)

    def _pooled(self, hidden: str, pooling: Pooling) -> None:
        if pooling == "cls":
            hidden = self._node("Gather", [hidden, self._numbers("first", [0])], axis=1)
        self._nodes.append(helper.make_node("ReduceMean", [hidden], [OUTPUT], axes=[1], keepdims=0))


_NORM = ("weight", "bias")
