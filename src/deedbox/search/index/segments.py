"""Whether the files of the words are as they were written: tantivy puts a sum at the end of each, but reads past it."""

import struct
import zlib
from pathlib import Path

import msgspec

from deedbox.search.index import IndexUnusable

_MAGIC = 1337
_END = struct.Struct("<II")
"""The length of the footer, a fixed number."""


class _Deletes(msgspec.Struct):
    opstamp: int


class _Segment(msgspec.Struct):
    segment_id: str
    deletes: _Deletes | None = None


class _Meta(msgspec.Struct):
    segments: list[_Segment]


class _Footer(msgspec.Struct):
    crc: int


def check(folder: Path) -> None:
    """Raises IndexUnusable when a file of a segment in use was altered; leftovers of a crash do not count."""
    try:
        meta = msgspec.json.decode((folder / "meta.json").read_bytes(), type=_Meta)
        for segment in meta.segments:
            name = segment.segment_id.replace("-", "")
            deletes = None if segment.deletes is None else f"{name}.{segment.deletes.opstamp}.del"
            for file in folder.glob(f"{name}.*"):
                if file.suffix != ".del" or file.name == deletes:
                    _check(file)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, struct.error) as error:
        raise IndexUnusable(f"The word index cannot be read: {error}") from error


def _check(file: Path) -> None:
    with memoryview(file.read_bytes()) as body:
        length, magic = _END.unpack(body[-_END.size :])
        end = len(body) - _END.size - length
        footer = msgspec.json.decode(body[max(0, end) : -_END.size], type=_Footer)
        if magic != _MAGIC or footer.crc != zlib.crc32(body[: max(0, end)]):
            raise IndexUnusable(f"{file.name} was altered.")
