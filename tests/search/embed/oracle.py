"""The forward pass of BERT in numpy, as its authors describe it: slow, plain, and what the graph must agree with."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_erf = np.vectorize(math.erf)


def vector(weights: Mapping[str, NDArray[Any]], config: Mapping[str, Any], ids: Sequence[int], pooling: str) -> Array:
    """The unit vector of these tokens."""
    table = {name: np.asarray(array, np.float64) for name, array in weights.items()}
    first = 0 if config["model_type"] == "bert" else config["pad_token_id"] + 1
    positions = table["embeddings.position_embeddings.weight"][first : first + len(ids)]
    hidden = table["embeddings.word_embeddings.weight"][list(ids)] + positions
    hidden = hidden + table["embeddings.token_type_embeddings.weight"][0]
    hidden = _norm(table, "embeddings.LayerNorm", hidden, config)
    for number in range(config["num_hidden_layers"]):
        hidden = _layer(table, f"encoder.layer.{number}", hidden, config)
    pooled = hidden.mean(axis=0) if pooling == "mean" else hidden[0]
    return np.asarray(pooled / np.linalg.norm(pooled))


def _layer(table: Mapping[str, Array], name: str, hidden: Array, config: Mapping[str, Any]) -> Array:
    attended = _dense(table, f"{name}.attention.output.dense", _attention(table, name, hidden, config))
    hidden = _norm(table, f"{name}.attention.output.LayerNorm", hidden + attended, config)
    inner = _activation(config["hidden_act"], _dense(table, f"{name}.intermediate.dense", hidden))
    outer = _dense(table, f"{name}.output.dense", inner)
    return _norm(table, f"{name}.output.LayerNorm", hidden + outer, config)


def _attention(table: Mapping[str, Array], name: str, hidden: Array, config: Mapping[str, Any]) -> Array:
    heads = config["num_attention_heads"]
    width = hidden.shape[1] // heads
    query, key, value = (
        _dense(table, f"{name}.attention.self.{part}", hidden).reshape(len(hidden), heads, width).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(width)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = shares / shares.sum(axis=-1, keepdims=True)
    return np.asarray((shares @ value).transpose(1, 0, 2).reshape(hidden.shape))


def _dense(table: Mapping[str, Array], name: str, given: Array) -> Array:
    return np.asarray(given @ table[f"{name}.weight"].T + table[f"{name}.bias"])


def _norm(table: Mapping[str, Array], name: str, given: Array, config: Mapping[str, Any]) -> Array:
    centred = given - given.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + config["layer_norm_eps"])
    return np.asarray(centred / spread * table[f"{name}.weight"] + table[f"{name}.bias"])


def _activation(name: str, given: Array) -> Array:
    if name == "relu":
        return np.maximum(given, 0)
    if name == "gelu":
        return np.asarray(given * 0.5 * (1 + _erf(given / math.sqrt(2))))
    return np.asarray(given * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (given + 0.044715 * given**3))))
