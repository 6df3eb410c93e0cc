"""A document that is a ZIP archive of parts: each is read within the limits, whatever the archive says of it."""

import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from lxml import etree

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.word_xml import damage_error, parse
from deedbox.search.limits import PACKAGE_ENTRIES, PACKAGE_PART_BYTES, PACKAGE_PART_RATIO, PACKAGE_PART_RATIO_FROM_BYTES

_DIRECTORY_ENTRY = b"PK\x01\x02"
_PLAIN_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# What the libraries raise on a file that is broken in one way or another.
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, etree.XMLSyntaxError),
    *(EOFError, NotImplementedError, OverflowError, ValueError),
)


class OfficePackage:
    """The parts of a document; `noun` is what a refusal calls it."""

    def __init__(self, zipped: zipfile.ZipFile, noun: str) -> None:
        self._zip = zipped
        self.noun = noun

    def entries(self) -> list[zipfile.ZipInfo]:
        """The files in it, in their order."""
        return [entry for entry in self._zip.infolist() if not entry.is_dir()]

    def read(self, name: str | zipfile.ZipInfo) -> bytes:
        """The bytes of a part; empty if there is no such part."""
        try:
            entry = self._zip.getinfo(name) if isinstance(name, str) else name
        except KeyError:
            return b""
        self.check(entry)
        return self._zip.read(entry)

    def related(self, name: str, kind: str) -> list[str]:
        """The parts of the given type that the part refers to, in the order of their names."""
        return sorted({target for found, target in self.relations(name).values() if found.endswith(f"/{kind}")})

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Type and target of each part that the part refers to, by the name that it calls it."""
        folder, _, file = name.rpartition("/")
        xml = self.read(posixpath.join(folder, "_rels", f"{file}.rels"))
        found = {}
        for relation in parse(xml, self.noun) if xml else ():
            if relation.get("TargetMode") != "External":
                target = beside(name, str(relation.get("Target", "")))
                found[str(relation.get("Id", ""))] = (str(relation.get("Type", "")), target)
        return found

    def check(self, entry: zipfile.ZipInfo) -> None:
        """BadRequest unless the part, by its entry in the archive's directory, can be read within the limits."""
        if entry.flag_bits & 1:
            raise BadRequest(encryption_error(self.noun))
        if entry.compress_type not in _PLAIN_METHODS:
            raise BadRequest(damage_error(self.noun))
        dense = entry.file_size > PACKAGE_PART_RATIO * max(entry.compress_size, 1)
        if entry.file_size > PACKAGE_PART_BYTES or (dense and entry.file_size > PACKAGE_PART_RATIO_FROM_BYTES):
            raise BadRequest(bomb(self.noun))


@contextmanager
def open_package(data: bytes, noun: str) -> Iterator[OfficePackage]:
    """The archive; whatever is found broken in it, while it is open, becomes a BadRequest."""
    if data.count(_DIRECTORY_ENTRY) > PACKAGE_ENTRIES:
        raise BadRequest(bomb(noun))
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            yield OfficePackage(zipped, noun)
    except BROKEN as error:
        raise BadRequest(damage_error(noun)) from error


def beside(name: str, target: str) -> str:
    """The part that another one calls so."""
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(name), target)).lstrip("/")


def encryption_error(noun: str) -> str:
    return f"This {noun} is encrypted. Remove its password and upload it again."


def bomb(noun: str) -> str:
    return f"This {noun} unpacks to more than is allowed"
