"""Very small sentence encoders with random weights, in the files in which a package carries them; and what they
compute, token by token."""

import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

PARTS, ROWS, DIMENSIONS, WIDTH, INNER = 3, 9, 16, 8, 10
RUNS = {2: 0, 3: 1, 5: 2}
"""The lengths of the runs, and how many tokens of each stand before its own."""
UNKNOWN, CONTROL, GIVEN = 2, 3, 4
SPECIAL = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL, "extra": GIVEN}
PIECES = [
    *SPECIAL, "▁the", "▁tenant", "▁pays", "▁rent", "▁", "s", "t", "e", "n", "a", "r", "p", "y", ".", "<", ">", "/",
    "é", "▁ten", "ant", "▁1", "x", "ra",
]  # fmt: skip
assert len(PIECES) == PARTS * ROWS
NEWLINE = 10


def arrays(seed: int = 0) -> Arrays:
    random = np.random.default_rng(seed)

    def some(*size: int, around: float = 0.0, spread: float = 0.3) -> NDArray[np.float32]:
        return random.normal(around, spread, size).astype(np.float32)

    made: Arrays = {f"q{part + 1}": random.integers(0, 256, (ROWS, DIMENSIONS), np.uint8) for part in range(PARTS)}
    made |= {"scale": np.abs(some(PARTS)) / 100 + 0.005, "lo": some(PARTS), "bits": np.array([8], np.int8)}
    for length in RUNS:
        made |= {f"proj{length}": some(DIMENSIONS, WIDTH), f"proj_b{length}": some(WIDTH)}
        made |= {f"ln_g{length}": some(WIDTH, around=1.0), f"ln_b{length}": some(WIDTH)}
        for layer in ("1", "2"):
            made |= {f"w{layer}_{length}": some(length * WIDTH, WIDTH), f"b{layer}_{length}": some(WIDTH)}
    whole = DIMENSIONS + len(RUNS) * WIDTH
    made |= {"ln_g": some(whole, around=1.0), "ln_b": some(whole)}
    made |= {"cnn_W": some(whole, DIMENSIONS), "cnn_b": some(DIMENSIONS)}
    made |= {"d0": some(DIMENSIONS, INNER), "d1": some(INNER, INNER), "p1": some(DIMENSIONS, INNER)}
    made |= {"d2": some(INNER, DIMENSIONS), "p3": some(INNER, DIMENSIONS), "d3": some(DIMENSIONS, DIMENSIONS)}
    return {**made, "eps": np.array(1e-6)}


def vector(given: Mapping[str, NDArray[Any]], ids: Sequence[int]) -> NDArray[np.float64]:
    """The unit vector of these tokens: slow, plain, and what the graph must agree with."""
    table = {name: np.asarray(array, np.float64) for name, array in given.items()}
    rows = [table[f"q{n % PARTS + 1}"][n // PARTS] * table["scale"][n % PARTS] + table["lo"][n % PARTS] for n in ids]
    seen = [
        _normal(
            np.concatenate([row @ table[f"proj{length}"] + table[f"proj_b{length}"] for length in RUNS]),
            np.concatenate([table[f"ln_g{length}"] for length in RUNS]),
            np.concatenate([table[f"ln_b{length}"] for length in RUNS]),
            float(table["eps"]),
        )
        for row in rows
    ]
    read = list(rows)
    for number, length in enumerate(RUNS):
        hidden = [one[number * WIDTH : (number + 1) * WIDTH] for one in seen]
        for layer in ("1", "2"):
            hidden = _run(hidden, table[f"w{layer}_{length}"], table[f"b{layer}_{length}"], length)
        read = [np.concatenate(both) for both in zip(read, hidden, strict=True)]
    total = np.zeros(DIMENSIONS)
    for one in read:
        total += _normal(one, table["ln_g"], table["ln_b"], float(table["eps"])) @ table["cnn_W"] + table["cnn_b"]
    total /= math.sqrt(len(ids))
    middle = _above(total @ table["p1"] + _above(total @ table["d0"]) @ table["d1"])
    found = np.tanh(middle @ table["p3"] + _above(middle @ table["d2"]) @ table["d3"])
    return np.asarray(found / np.linalg.norm(found))


def _above(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(values, 0)


def _normal(
    values: NDArray[np.float64], gain: NDArray[np.float64], shift: NDArray[np.float64], eps: float
) -> NDArray[np.float64]:
    centred = values - values.mean()
    return np.asarray(centred / math.sqrt((centred**2).mean() + eps) * gain + shift)


def _run(
    hidden: list[NDArray[np.float64]], weight: NDArray[np.float64], bias: NDArray[np.float64], length: int
) -> list[NDArray[np.float64]]:
    found = []
    for place in range(len(hidden)):
        total = bias.copy()
        for step in range(length):
            at = place + step - RUNS[length]
            if 0 <= at < len(hidden):
                total += hidden[at] @ weight[step * WIDTH : (step + 1) * WIDTH]
        found.append(_above(total) + hidden[place])
    return found


def _number(value: int) -> bytes:
    low = value & 0x7F
    return bytes([low]) if value < 0x80 else bytes([low | 0x80]) + _number(value >> 7)


def field(number: int, value: bytes | int | float) -> bytes:
    """A field of a message of protocol buffers."""
    if isinstance(value, bytes):
        return _number(number << 3 | 2) + _number(len(value)) + value
    if isinstance(value, float):
        return _number(number << 3 | 5) + struct.pack("<f", value)
    return _number(number << 3) + _number(value)


def characters() -> bytes:
    """A map in which a new line is a space: its trie of units, then what letters become."""
    units, leaf = [0] * 512, NEWLINE ^ 256
    units[NEWLINE] = 256 << 10 | 1 << 8 | NEWLINE
    units[leaf] = 1 << 31
    return struct.pack("<I512I", 4 * len(units), *units) + b" \0"


def sentencepiece(pieces: Sequence[str] = PIECES) -> bytes:
    """A SentencePiece model with these pieces, the longer the likelier."""
    made = b""
    for piece in pieces:
        kind = field(3, SPECIAL[piece]) if piece in SPECIAL else b""
        score = 0.0 if piece in SPECIAL else -8.0 + len(piece)
        made += field(1, field(1, piece.encode()) + field(2, score) + kind)
    trainer = field(4, 27) + field(10, 0.99) + b"\x09" + bytes(8)
    normalizer = field(1, b"made") + field(2, characters()) + field(3, 1)
    return made + field(2, trainer) + field(3, normalizer)


def save(folder: Path, made: Arrays) -> None:
    np.savez_compressed(folder / "weights.npz", allow_pickle=True, **made)


def write(folder: Path, seed: int = 0) -> Path:
    """A folder with the files of a package."""
    folder.mkdir(parents=True, exist_ok=True)
    save(folder, arrays(seed))
    (folder / "sp.model").write_bytes(sentencepiece())
    return folder
