"""Packs of very small models, written from what the format says."""

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tests.search.embed import tiny

MARK = b"HMSEMB01"
GROUP = 16
SHORT = {
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "f1",
    "output.dense": "f2",
    "output.LayerNorm": "fln",
}
Weights = dict[str, NDArray[np.float32]]
Tensors = list[tuple[str, NDArray[np.float32]]]


def tokenizer() -> Tokenizer:
    """One that marks begin and end as RoBERTa's does: not in the places of BERT's."""
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(tiny.WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.RobertaProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def short(weights: Weights) -> Tensors:
    """The weights as a pack names and joins them."""
    found: Tensors = [
        ("word_emb", weights["embeddings.word_embeddings.weight"]),
        ("pos_emb", weights["embeddings.position_embeddings.weight"]),
        ("type_emb", weights["embeddings.token_type_embeddings.weight"]),
        ("emb_ln.w", weights["embeddings.LayerNorm.weight"]),
        ("emb_ln.b", weights["embeddings.LayerNorm.bias"]),
    ]
    for number in range(tiny.LAYERS):
        layer = f"encoder.layer.{number}."
        for kind in ("weight", "bias"):
            parts = [weights[f"{layer}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            found.append((f"l{number}.qkv.{kind[0]}", np.concatenate(parts)))
            found += [(f"l{number}.{to}.{kind[0]}", weights[f"{layer}{name}.{kind}"]) for name, to in SHORT.items()]
    return found


def rounded(values: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    groups = values.reshape(-1, GROUP)
    scales = (np.abs(groups).max(axis=1) / 127).astype(np.float32)
    return np.rint(groups / scales[:, None]).astype(np.int8), scales


def in_8_bits(name: str, values: NDArray[np.float32]) -> bool:
    return values.ndim == 2 and name not in ("pos_emb", "type_emb")


def packed(weights: Weights, **differences: Any) -> bytes:
    """A pack with these weights; its header may be made to say something else."""
    data, tensors = b"", []
    for name, values in short(weights):
        small = in_8_bits(name, values)
        body = b"".join(part.tobytes() for part in rounded(values)) if small else values.tobytes()
        kind = {"dtype": "i8", "group": GROUP} if small else {"dtype": "f32", "group": 0}
        tensors.append({"name": name, "shape": list(values.shape), "len": len(body), **kind})
        data += body
    words = tokenizer().to_str().encode()
    header = {
        "format": 1,
        "meta": {"model": "tiny", "license": "none", "pooling": "cls", "normalize": True, "max_length": 24},
        "arch": {
            "hidden": tiny.HIDDEN, "layers": tiny.LAYERS, "heads": 4, "intermediate": tiny.INNER,
            "vocab": len(tiny.WORDS), "max_positions": tiny.POSITIONS, "layer_norm_eps": 1e-5, "position_offset": 2,
        },
        "tokenizer_len": len(words),
        "tensors": tensors,
        **differences,
    }  # fmt: skip
    said = json.dumps(header).encode()
    return MARK + struct.pack("<Q", len(said)) + said + words + data
