"""Snapshots of indexes in the blob store, so that a server which lacks an index need not build it from the database."""

from collections.abc import Iterator
from pathlib import Path

import msgspec


class SnapshotFile(msgspec.Struct, frozen=True):
    """A file of an index, named from the index's folder."""

    name: str
    size_bytes: int


class SnapshotPiece(msgspec.Struct, frozen=True):
    """A blob with the next bytes of the files, which stand one behind another."""

    sha256: str
    size_bytes: int


class SnapshotContents(msgspec.Struct, frozen=True):
    files: list[SnapshotFile]
    pieces: list[SnapshotPiece]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The index of a workspace and a recipe, as it was at one number of the log."""

    id: str
    workspace_id: str
    recipe: str
    format: int
    """Of the index's files."""
    watermark: int
    chunks: int
    size_bytes: int
    contents: SnapshotContents
    made_at: str
    """When it was begun: what was deleted before is not in it."""


def spans(files: list[SnapshotFile], begin: int, length: int) -> Iterator[tuple[str, int, int]]:
    """Which bytes of which files these are: name, first byte, how many."""
    end = begin + length
    for file in files:
        first, last = max(begin, 0), min(end, file.size_bytes)
        if first < last:
            yield file.name, first, last - first
        begin, end = begin - file.size_bytes, end - file.size_bytes


def read(folder: Path, files: list[SnapshotFile], begin: int, length: int) -> bytes:
    """So many bytes of the files in the folder; fewer at their end."""
    found = bytearray()
    for name, first, count in spans(files, begin, length):
        with (folder / name).open("rb") as file:
            file.seek(first)
            found += file.read(count)
    return bytes(found)


def write(folder: Path, files: list[SnapshotFile], begin: int, data: bytes) -> None:
    """Puts the bytes at their place in files that are there."""
    rest = memoryview(data)
    for name, first, count in spans(files, begin, len(data)):
        with (folder / name).open("r+b") as file:
            file.seek(first)
            file.write(rest[:count])
        rest = rest[count:]
