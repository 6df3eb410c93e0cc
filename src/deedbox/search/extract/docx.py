"""A Word document: body, tables, text boxes, notes, headers and footers, with the headings that its styles name."""

import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator

from lxml import etree

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.limits import DOCX_ENTRIES, DOCX_PART_BYTES, DOCX_PART_RATIO, DOCX_PART_RATIO_FROM_BYTES
from deedbox.search.extract import word_styles
from deedbox.search.extract.kinds import mislabelled
from deedbox.search.extract.text import Draft
from deedbox.search.extract.word_text import Block, blocks
from deedbox.search.extract.word_xml import DAMAGED, parsed
from deedbox.search.upload import Extraction

ENCRYPTED = "This Word document is encrypted. Remove its password and upload it again."
BOMB = "This Word document unpacks to more than is allowed"
_NO_WORD = "a ZIP archive that is not a Word document"
_DIRECTORY_ENTRY = b"PK\x01\x02"
_PLAIN_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_AFTER_THE_BODY = ("footnotes", "endnotes", "header", "footer")

# What the libraries raise on a file that is broken in one way or another.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, etree.XMLSyntaxError),
    *(EOFError, NotImplementedError, OverflowError, ValueError),
)


class Part:
    """One XML file in the archive, and the parts that it refers to by their types."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive = archive
        self.name = name

    def read(self) -> bytes:
        """Its bytes; empty if there is no such part."""
        try:
            entry = self._archive.getinfo(self.name)
        except KeyError:
            return b""
        _check_entry(entry)
        return self._archive.read(entry)

    def related(self, kind: str) -> Iterator["Part"]:
        """The parts of the given type that this one refers to, in the order of their names."""
        folder, _, file = self.name.rpartition("/")
        relations = Part(self._archive, posixpath.join(folder, "_rels", f"{file}.rels")).read()
        targets = set()
        for relation in parsed(relations) if relations else ():
            if str(relation.get("Type", "")).endswith(f"/{kind}") and relation.get("TargetMode") != "External":
                target = posixpath.join("/", folder, str(relation.get("Target", "")))
                targets.add(posixpath.normpath(target).lstrip("/"))
        return (Part(self._archive, target) for target in sorted(targets))


def read(data: bytes) -> Extraction:
    if data.count(_DIRECTORY_ENTRY) > DOCX_ENTRIES:
        raise BadRequest(BOMB)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read_document(archive)
    except _BROKEN as error:
        raise BadRequest(DAMAGED) from error


def _read_document(archive: zipfile.ZipFile) -> Extraction:
    main = next(Part(archive, "").related("officeDocument"), Part(archive, "word/document.xml"))
    body = main.read()
    if not body:
        raise mislabelled("docx", _NO_WORD)
    styles = [part.read() for part in main.related("styles")]
    levels = word_styles.headings(parsed(styles[0])) if styles and styles[0] else {}
    draft = Draft()
    _write(draft, _blocks(body, levels))
    written: set[bytes] = set()
    for kind in _AFTER_THE_BODY:
        for part in main.related(kind):
            xml = part.read()
            if xml not in written:  # each section has headers of its own, mostly the same
                written.add(xml)
                _write(draft, _blocks(xml, levels))
    return draft.finish()


def _blocks(xml: bytes, levels: dict[str, int]) -> Iterator[Block]:
    return blocks(xml, levels) if xml else iter(())


def _write(draft: Draft, found: Iterator[Block]) -> None:
    """Paragraphs with an empty line between them; rows of a table and items of a list without."""
    before: Block | None = None
    for block in found:
        if not block.text.strip():
            continue
        if draft.length:
            draft.add("\n" if before and before.tight and block.tight else "\n\n")
        if block.heading:
            draft.head(block.text)
        draft.add(block.text)
        before = block


def _check_entry(entry: zipfile.ZipInfo) -> None:
    """BadRequest unless the part, by its entry in the archive's directory, can be read within the limits."""
    if entry.flag_bits & 1:
        raise BadRequest(ENCRYPTED)
    if entry.compress_type not in _PLAIN_METHODS:
        raise BadRequest(DAMAGED)
    dense = entry.file_size > DOCX_PART_RATIO * max(entry.compress_size, 1)
    if entry.file_size > DOCX_PART_BYTES or (dense and entry.file_size > DOCX_PART_RATIO_FROM_BYTES):
        raise BadRequest(BOMB)
