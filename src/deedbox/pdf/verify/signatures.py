"""The signatures that a PDF's own structure leads to, and the validation data that it brings along."""

import io
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal

# The modules that pyHanko imports only when it meets a file that needs them: in a sandbox it is too late then.
import pyhanko.pdf_utils.crypt.pdfmac
import pyhanko.pdf_utils.filters
import pyhanko.pdf_utils.metadata.xmp_xml  # noqa: F401
from msgspec import Struct
from pyhanko.pdf_utils import xref
from pyhanko.pdf_utils.crypt import AuthStatus
from pyhanko.pdf_utils.decode_limits import (
    DEFAULT_PURPOSE_LIMITS,
    DecodeLimits,
    DecodePurpose,
    DocumentDecodeBudget,
    StreamDecodeLimits,
)
from pyhanko.pdf_utils.generic import ArrayObject, DictionaryObject, StreamObject, TextStringObject, parse_pdf_date
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.validation import EmbeddedPdfSignature

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.seal.pades import PRIVATE
from deedbox.pdf.verify.signed_data import translate_errors
from deedbox.pdf.verify.trust import TooMuchWork

# What it would log, with tracebacks, is what the report says.
for _library in ("pyhanko", "pyhanko_certvalidator"):
    logging.getLogger(_library).setLevel(logging.CRITICAL + 1)


_DECODED = DecodeLimits(
    per_purpose={
        **DEFAULT_PURPOSE_LIMITS,
        DecodePurpose.XREF_STREAM: StreamDecodeLimits(max_output_size=limits.VERIFY_TABLE_BYTES),
    },
    document_budget=DocumentDecodeBudget(base_allowance=limits.VERIFY_DECODED_BYTES, max_ratio=4),
)


class PdfSignature(Struct, frozen=True, kw_only=True):
    """One signature as its dictionary describes it; nothing of it is checked."""

    field: str
    kind: Literal["seal", "timestamp"]
    sub_filter: str | None
    byte_range: list[Any]
    filled: bytes
    """What a reader takes for the signature, with its padding."""
    claimed_at: datetime | None
    document_id: str | None
    audit_head: str | None
    library: EmbeddedPdfSignature


class Structure(Struct, frozen=True, kw_only=True):
    signatures: list[PdfSignature]
    certificates: list[bytes]
    crls: list[bytes]


def structure(pdf: bytes, password: str | None = None) -> Structure:
    """What is in the PDF; BadRequest says why it cannot be read. An encrypted one is read only by its password."""
    with translate_errors("The file is not a readable PDF."):
        with _bounded_tables():
            reader = PdfFileReader(io.BytesIO(pdf), strict=False, decode_limits=_DECODED)
        if reader.encrypted and (password is None or not _unlocked(reader, password)):
            raise BadRequest("The PDF is encrypted.")
        root = reader.root
    with translate_errors("The signatures in the PDF cannot be read."):
        _check_counts(reader, len(pdf))
        signatures = list(reader.embedded_signatures)
        return Structure(
            signatures=[_described(one) for one in signatures],
            certificates=list(_streams(root, "/Certs")),
            crls=list(_streams(root, "/CRLs")),
        )


@contextmanager
def _bounded_tables() -> Iterator[None]:
    """TooMuchWork for a table of objects that claims more of them than are read, before they are read.

    pyHanko reads as many entries as a cross-reference stream claims to have, however few bytes it has for them."""
    read, entries = xref.parse_xref_stream, 0

    def bounded(xref_stream: StreamObject, strict: bool = True) -> Iterator[xref.XRefEntry]:
        nonlocal entries
        entries += sum(int(size) for size in list(xref_stream.get("/Index", [0, xref_stream.get("/Size")]))[1::2])
        if entries > limits.VERIFY_OBJECTS:
            raise TooMuchWork(f"more than {limits.VERIFY_OBJECTS:,} objects")
        yield from read(xref_stream, strict)

    xref.parse_xref_stream = bounded
    try:
        yield
    finally:
        xref.parse_xref_stream = read


def _check_counts(reader: PdfFileReader, size: int) -> None:
    """TooMuchWork if the file has more of anything than is examined here, before any of it is examined."""
    if reader.xrefs.total_revisions > limits.VERIFY_REVISIONS:
        raise TooMuchWork(f"more than {limits.VERIFY_REVISIONS} revisions")
    form = _value(reader.root, "/AcroForm")
    waiting = _nodes(form, "/Fields")
    visited = signed = 0
    while waiting:
        field = waiting.pop()
        visited += 1
        signed += isinstance(_value(field, "/V"), DictionaryObject)
        waiting += _nodes(field, "/Kids")
        if visited + len(waiting) > limits.VERIFY_FIELDS:
            raise TooMuchWork(f"more than {limits.VERIFY_FIELDS:,} form fields")
    most = min(limits.VERIFY_SIGNATURES, limits.VERIFY_COVERED_BYTES // size)
    if signed > most:
        raise TooMuchWork(f"more than {most} signatures, the most for a file of its size")


def _nodes(owner: Any, name: str) -> list[DictionaryObject]:
    found = _value(owner, name) if isinstance(owner, DictionaryObject) else None
    nodes = [one.get_object() for one in found] if isinstance(found, ArrayObject) else []
    return [one for one in nodes if isinstance(one, DictionaryObject)]


def _unlocked(reader: PdfFileReader, password: str) -> bool:
    with translate_errors("The PDF is encrypted."):
        return bool(reader.decrypt(password).status != AuthStatus.FAILED)


def _described(signature: EmbeddedPdfSignature) -> PdfSignature:
    described = signature.sig_object
    private = _value(described, PRIVATE)
    notes = private if isinstance(private, DictionaryObject) else {}
    return PdfSignature(
        field=signature.field_name,
        kind="timestamp" if _value(described, "/Type") == "/DocTimeStamp" else "seal",
        sub_filter=_text(_value(described, "/SubFilter")),
        byte_range=[int(number) if isinstance(number, int) else number for number in signature.byte_range],
        filled=signature.pkcs7_content,
        claimed_at=_date(_value(described, "/M")),
        document_id=_text(_value(notes, "/Document")),
        audit_head=_text(_value(notes, "/Audit")),
        library=signature,
    )


def _value(owner: Mapping[str, Any], name: str) -> Any:
    """The entry itself, where `get` would give a reference."""
    return owner[name] if name in owner else None  # noqa: SIM401


def _text(value: Any) -> str | None:
    return str(value).removeprefix("/") if isinstance(value, str) else None


def _date(value: Any) -> datetime | None:
    if not isinstance(value, TextStringObject):
        return None
    try:
        with translate_errors("A date cannot be read."):
            return parse_pdf_date(value, strict=False)
    except BadRequest:
        return None


def _streams(root: DictionaryObject, name: str) -> Iterator[bytes]:
    """The certificates or lists that are kept in the file for later; each vouches for itself by its signature."""
    store = _value(root, "/DSS")
    items = _value(store, name) if isinstance(store, DictionaryObject) else None
    for item in list(items or [])[: limits.VERIFY_VALIDATION_ITEMS]:
        stream = item.get_object()
        if isinstance(stream, StreamObject):
            yield stream.data
