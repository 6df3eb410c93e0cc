"""Very small models with random weights, in the layout in which models are published."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "tenant", "pays", "rent", "on", "first", "day", "of", "each", "month",
    "a", "no", ".", ",", "?", "##s", "7",
]  # fmt: skip
HIDDEN, LAYERS, INNER, POSITIONS = 32, 2, 64, 40


def shape(**differences: Any) -> dict[str, Any]:
    """A config.json."""
    plain: dict[str, Any] = {
        "model_type": "bert", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": 4,
        "intermediate_size": INNER, "max_position_embeddings": POSITIONS, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12, "pad_token_id": 0, "vocab_size": len(WORDS), "type_vocab_size": 2,
    }  # fmt: skip
    return {**plain, **differences}


def weights(seed: int = 0, prefix: str = "") -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(seed)
    made: dict[str, NDArray[np.float32]] = {}

    def add(name: str, *size: int, around: float = 0.0, spread: float = 0.3) -> None:
        made[prefix + name] = random.normal(around, spread, size).astype(np.float32)

    def dense(name: str, inputs: int, outputs: int) -> None:
        add(f"{name}.weight", outputs, inputs)
        add(f"{name}.bias", outputs)

    def norm(name: str) -> None:
        add(f"{name}.weight", HIDDEN, around=1.0, spread=0.1)
        add(f"{name}.bias", HIDDEN, spread=0.1)

    add("embeddings.word_embeddings.weight", len(WORDS), HIDDEN)
    add("embeddings.position_embeddings.weight", POSITIONS, HIDDEN)
    add("embeddings.token_type_embeddings.weight", 2, HIDDEN)
    norm("embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            dense(f"{layer}.attention.self.{part}", HIDDEN, HIDDEN)
        dense(f"{layer}.attention.output.dense", HIDDEN, HIDDEN)
        norm(f"{layer}.attention.output.LayerNorm")
        dense(f"{layer}.intermediate.dense", HIDDEN, INNER)
        dense(f"{layer}.output.dense", INNER, HIDDEN)
        norm(f"{layer}.output.LayerNorm")
    return made


def tokenizer() -> Tokenizer:
    """It truncates and pads, as published tokenizers do."""
    made = Tokenizer(models.WordPiece({word: number for number, word in enumerate(WORDS)}))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.enable_truncation(12)
    made.enable_padding(length=12)
    return made


def write(folder: Path, seed: int = 0, *, config: dict[str, Any] | None = None, prefix: str = "") -> Path:
    """A folder with the files of a model."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config or shape()))
    tokenizer().save(str(folder / "tokenizer.json"))
    save_file(weights(seed, prefix), folder / "model.safetensors")
    return folder


def unseen(done: int, total: int) -> None:
    """Progress that nobody looks at."""
