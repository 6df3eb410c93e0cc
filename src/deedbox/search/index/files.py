"""The files of an index. A manifest says how much of each counts; the rest is of a change that never ended."""

import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from deedbox.search.index import FORMAT, IndexUnusable
from deedbox.search.index.bits import Codes, Floats, Vectors, code_bytes
from deedbox.search.index.terms import ChunkTerms, Numbers

_MANIFEST = "manifest.json"
WORDS = "words"
PARTS = ("rows", "floats", "terms", "names")
MAPPED = ("floats", "terms")
"""Read where they are needed. They have no sum: to read them all would make opening slow."""

Record: TypeAlias = NDArray[np.void]


class FilePart(msgspec.Struct, frozen=True):
    """The true part of a file."""

    length: int = 0
    sum: int = 0


NOTHING = FilePart()


class IndexManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an index: swapped in one step, after everything that it names is durable."""

    format: int = FORMAT
    identity: str
    """An index that is begun anew has another one."""
    recipe: str
    dimensions: int
    watermark: int = 0
    generation: int = 0
    """Part of the names of the files; a rewrite begins the next one."""
    rows: FilePart = NOTHING
    floats: FilePart = NOTHING
    terms: FilePart = NOTHING
    names: FilePart = NOTHING
    words_opstamp: int = 0
    check: int = 0


_KNOWN = msgspec.json.Decoder(IndexManifest)


def record(dimensions: int) -> np.dtype[np.void]:
    """A row: the ordinal of its upload, its number, how many terms it has, its sign bits."""
    return np.dtype([("upload", "<u4"), ("number", "<u4"), ("terms", "<u4"), ("code", "u1", (code_bytes(dimensions),))])


def records(uploads: Numbers, numbers: Numbers, terms: Numbers, codes: Codes, dimensions: int) -> Record:
    rows = np.zeros(len(uploads), record(dimensions))
    rows["upload"], rows["number"], rows["terms"], rows["code"] = uploads, numbers, terms, codes
    return rows


def read_manifest(folder: Path) -> IndexManifest | None:
    """The manifest; None where no index was ever finished."""
    try:
        body = (folder / _MANIFEST).read_bytes()
    except FileNotFoundError:
        return None
    try:
        known = msgspec.json.decode(body).get("format")
        if known != FORMAT:
            raise IndexUnusable(f"The index has format {known}, this version reads {FORMAT}.")
        manifest = _KNOWN.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, AttributeError) as error:
        raise IndexUnusable(f"The manifest of the index cannot be read: {error}") from error
    if manifest.check != _sum(manifest):
        raise IndexUnusable("The manifest of the index was altered.")
    return manifest


def stored_watermark(folder: Path, dimensions: int, recipe: str) -> int:
    """How far the index in the folder goes, without opening it; 0 when it must be rebuilt."""
    try:
        known = read_manifest(folder)
    except IndexUnusable:
        return 0
    return known.watermark if known and (known.dimensions, known.recipe) == (dimensions, recipe) else 0


def write_manifest(folder: Path, manifest: IndexManifest) -> None:
    """Durable when it returns; a crash leaves the one before."""
    draft = folder / f"{_MANIFEST}.draft"
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(msgspec.structs.replace(manifest, check=_sum(manifest))))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / _MANIFEST)
    flush_folder(folder)


def begin_again(folder: Path) -> None:
    """Gives a copy of an index an identity of its own."""
    known = read_manifest(folder)
    if known is None:
        raise IndexUnusable("The copy of the index has no manifest.")
    write_manifest(folder, msgspec.structs.replace(known, identity=new_identity()))


def new_identity() -> str:
    return os.urandom(8).hex()


def _sum(manifest: IndexManifest) -> int:
    return zlib.crc32(msgspec.json.encode(msgspec.structs.replace(manifest, check=0)))


def flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def path(folder: Path, part: str, generation: int) -> Path:
    return folder / f"{part}.{generation}"


class Tail:
    """Writes a file from the end of its true part on."""

    def __init__(self, file: Path, part: FilePart, *, summed: bool) -> None:
        self._length, self._sum, self._summed = part.length, part.sum, summed
        self._file = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        self._file.truncate(self._length)
        self._file.seek(self._length)

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._length += len(data)
        if self._summed:
            self._sum = zlib.crc32(data, self._sum)

    def finish(self) -> FilePart:
        """The true part to be, durable."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return FilePart(self._length, self._sum)

    def abandon(self) -> None:
        self._file.close()


class Tails:
    """The files of a generation, being written."""

    def __init__(self, folder: Path, manifest: IndexManifest) -> None:
        self._parts = {
            part: Tail(path(folder, part, manifest.generation), getattr(manifest, part), summed=part not in MAPPED)
            for part in PARTS
        }

    def write(self, rows: Record, floats: Floats, terms: Numbers) -> None:
        self._parts["rows"].write(rows.tobytes())
        self._parts["floats"].write(floats.astype("<f4").tobytes())
        self._parts["terms"].write(terms.astype("<u4").tobytes())

    def name(self, names: Iterable[str]) -> None:
        self._parts["names"].write("".join(f"{name}\n" for name in names).encode())

    def finish(self) -> dict[str, FilePart]:
        return {part: tail.finish() for part, tail in self._parts.items()}

    def abandon(self) -> None:
        for tail in self._parts.values():
            tail.abandon()


class Loaded(msgspec.Struct, frozen=True):
    """A generation as it lies in memory."""

    vectors: Vectors
    names: list[str]
    """The upload ids by ordinal; empty for some that are gone."""
    ordinals: dict[str, int]
    """The uploads that have vectors."""


def load(folder: Path, manifest: IndexManifest) -> Loaded:
    """Raises IndexUnusable when a file is not what the manifest says."""
    names = _true_part(folder, manifest, "names").decode("utf-8", "replace").split("\n")[:-1]
    rows = np.frombuffer(_true_part(folder, manifest, "rows"), record(manifest.dimensions))
    floats, stream = open_floats(folder, manifest), open_terms(folder, manifest)
    lengths = rows["terms"].astype(np.int64)
    belong = len(rows) == len(floats) and int(lengths.sum()) == len(stream)
    if not belong or (len(rows) and int(rows["upload"].max()) >= len(names)):
        raise IndexUnusable("The files of the index do not belong together.")
    living = np.zeros(len(names), bool)
    # Of an upload that occurs twice the last is true.
    living[list(dict(zip(names, range(len(names)), strict=True)).values())] = True
    positions = np.flatnonzero(living[rows["upload"]]).astype(np.uint32)
    begins = (np.cumsum(lengths) - lengths)[positions]
    rows = rows[positions]
    uploads = np.ascontiguousarray(rows["upload"])
    terms = ChunkTerms(begins, np.ascontiguousarray(rows["terms"]), stream)
    vectors = Vectors(
        np.ascontiguousarray(rows["code"]), uploads, np.ascontiguousarray(rows["number"]), positions, floats, terms
    )
    return Loaded(vectors, names, {names[ordinal]: ordinal for ordinal in np.unique(uploads).tolist()})


def difference(folder: Path, before: IndexManifest, manifest: IndexManifest) -> tuple[list[str], Record]:
    """The names and rows that this manifest has more than one before it, of the same generation."""
    names = _true_part(folder, manifest, "names", before.names).decode("utf-8", "replace").split("\n")[:-1]
    rows = np.frombuffer(_true_part(folder, manifest, "rows", before.rows), record(manifest.dimensions))
    return names, rows


def open_floats(folder: Path, manifest: IndexManifest) -> Floats:
    """The vectors, mapped: only those that are rescored are read."""
    mapped = _mapped(folder, manifest, "floats", np.dtype("<f4"), manifest.dimensions)
    return mapped.reshape(-1, manifest.dimensions)


def open_terms(folder: Path, manifest: IndexManifest) -> Numbers:
    """The terms of all rows one after another, mapped."""
    return _mapped(folder, manifest, "terms", np.dtype("<u4"), 1)


def _mapped(folder: Path, manifest: IndexManifest, part: str, kind: np.dtype[Any], width: int) -> NDArray[Any]:
    length: int = getattr(manifest, part).length
    if length == 0:
        return np.zeros(0, kind)
    file = path(folder, part, manifest.generation)
    try:
        if length % (kind.itemsize * width) == 0:
            return np.asarray(np.memmap(file, kind, "r", shape=(length // kind.itemsize,)))
    except (FileNotFoundError, ValueError) as error:
        raise IndexUnusable(f"{file.name} is shorter than the manifest says.") from error
    raise IndexUnusable(f"{file.name} is no whole number of rows.")


def remove_others(folder: Path, generation: int) -> None:
    """Removes the files of other generations."""
    for part in PARTS:
        for file in folder.glob(f"{part}.*"):
            if file != path(folder, part, generation):
                file.unlink(missing_ok=True)


def _true_part(folder: Path, manifest: IndexManifest, part: str, known: FilePart = NOTHING) -> bytes:
    """The true part of a file, after what is known of it."""
    wanted: FilePart = getattr(manifest, part)
    file = path(folder, part, manifest.generation)
    try:
        with file.open("rb") as opened:
            opened.seek(known.length)
            body = opened.read(wanted.length - known.length)
    except FileNotFoundError:
        body = b""
    if len(body) != wanted.length - known.length or zlib.crc32(body, known.sum) != wanted.sum:
        raise IndexUnusable(f"{file.name} is not what the manifest says.")
    return body
