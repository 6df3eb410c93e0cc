"""Merkle trees as in RFC 6962: leaves and nodes are hashed apart, so that neither can pass for the other."""

import hashlib
from collections.abc import Sequence


def leaf(data: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + data).digest()


def node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The hash that stands for all the leaves, in this order."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = _split(len(leaves))
    return node(root(leaves[:split]), root(leaves[split:]))


def paths(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """For each leaf, the hashes that lead from it to the root, the nearest first."""
    if len(leaves) <= 1:
        return [[] for _ in leaves]
    split = _split(len(leaves))
    left, right = leaves[:split], leaves[split:]
    beside_left, beside_right = root(right), root(left)
    return [
        *([*path, beside_left] for path in paths(left)),
        *([*path, beside_right] for path in paths(right)),
    ]


def includes(root_hash: bytes, size: int, index: int, leaf_hash: bytes, path: Sequence[bytes]) -> bool:
    """Whether the path leads from this leaf, at this place among so many, to the root."""
    if not 0 <= index < size:
        return False
    found, last, left = leaf_hash, size - 1, index
    for beside in path:
        if last == 0:
            return False
        if left % 2 or left == last:
            found = node(beside, found)
            while not left % 2 and left:
                left, last = left // 2, last // 2
        else:
            found = node(found, beside)
        left, last = left // 2, last // 2
    return last == 0 and found == root_hash


def _split(size: int) -> int:
    """The largest power of two below the size."""
    return int(1 << (size - 1).bit_length() - 1)
