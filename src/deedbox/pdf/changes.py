"""Changes to a file after its seal: only those that keep the seal verifiable pass, and two parsers must agree."""

import io
from collections.abc import Iterator
from typing import Any

import pikepdf
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.diff_analysis import DiffResult, ModificationLevel

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.signed_data import reading

_CATALOG_MAY_CHANGE = {"/DSS", "/Extensions", "/Version", "/AcroForm", "/Metadata"}
_FORM_MAY_CHANGE = {"/Fields", "/SigFlags"}
_PAGE_MAY_CHANGE = {"/Annots"}
_INFO_MAY_CHANGE = {"/ModDate", "/Producer"}
_TIMESTAMP_FIELD = {"/FT", "/T", "/TU", "/V", "/Type", "/Subtype", "/F", "/Rect", "/P", "/Ff"}

Id = tuple[int, int]


def archival_only(pdf: bytes, sealed_bytes: int, field: str) -> bool:
    """Whether all that follows the sealed bytes is validation data and time-stamps, nothing that shows or acts."""
    try:
        with reading("What was added after the seal cannot be read."):
            return _library_agrees(pdf, field) and _nothing_else_changed(pdf[:sealed_bytes], pdf)
    except BadRequest:
        return False


def is_accounted_for(pdf: bytes, signed_bytes: int) -> bool:
    """Whether what follows the signed bytes of a file is white space, or revisions up to its end: no junk."""
    rest = pdf[signed_bytes:].strip(b"\r\n\t \0\f")
    return not rest or (rest.endswith(b"%%EOF") and b"startxref" in rest and b"xref" in rest)


def changes_allowed(signature: Any) -> bool | None:
    """Whether pyHanko allows the changes made after someone else's signature; None when it cannot say."""
    try:
        with reading("What was added after the signature cannot be read."):
            signature.compute_integrity_info()
            allowed = signature.summarise_integrity_info()["docmdp_ok"]
            return None if allowed is None else bool(allowed)
    except BadRequest:
        return None


def _library_agrees(pdf: bytes, field: str) -> bool:
    reader = PdfFileReader(io.BytesIO(pdf), strict=True)
    signature = next(one for one in reader.embedded_signatures if one.field_name == field)
    signature.compute_integrity_info()
    found = signature.diff_result
    return isinstance(found, DiffResult) and found.modification_level <= ModificationLevel.LTA_UPDATES


def _nothing_else_changed(before: bytes, after: bytes) -> bool:
    """Compares every object of the sealed file with the same object of the new one, where hidden content would show."""
    with (
        pikepdf.open(io.BytesIO(before), attempt_recovery=False, inherit_page_attributes=False) as old,
        pikepdf.open(io.BytesIO(after), attempt_recovery=False, inherit_page_attributes=False) as new,
    ):
        changed = {number for number in _ids(old) if not _same(old.get_object(number), new.get_object(number))}
        if old.Root.objgen != new.Root.objgen or not _may_change(old.Root, new.Root, _CATALOG_MAY_CHANGE):
            return False
        if not _form_only_grew(old.Root.get("/AcroForm"), new.Root.get("/AcroForm")):
            return False
        if not all(map(_page_only_grew, old.pages, new.pages)) or len(old.pages) != len(new.pages):
            return False
        return changed <= set(_explained(old)) and _info_same(old, new)


def _ids(pdf: pikepdf.Pdf) -> Iterator[Id]:
    for one in pdf.objects:
        kind = one.get("/Type") if isinstance(one, (pikepdf.Dictionary, pikepdf.Stream)) else None
        # These hold the others; what they hold is compared one by one.
        if kind not in ("/XRef", "/ObjStm"):
            yield one.objgen


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, pikepdf.Stream):
        return (
            isinstance(new, pikepdf.Stream)
            and old.stream_dict.unparse(resolved=True) == new.stream_dict.unparse(resolved=True)
            and old.read_raw_bytes() == new.read_raw_bytes()
        )
    return bool(_unparsed(old) == _unparsed(new))


def _unparsed(value: Any) -> bytes:
    return bytes(value.unparse(resolved=True)) if isinstance(value, pikepdf.Object) else repr(value).encode()


def _may_change(old: Any, new: Any, keys: set[str]) -> bool:
    names = (set(old.keys()) | set(new.keys())) - keys
    return all(_entry(old, name) == _entry(new, name) for name in names)


def _entry(owner: Any, name: str) -> bytes | None:
    # Not resolved: a reference to another object is another value.
    value = owner.get(name)
    return None if value is None else value.unparse() if isinstance(value, pikepdf.Object) else repr(value).encode()


def _form_only_grew(old: Any, new: Any) -> bool:
    if old is None or new is None:
        return False
    return _may_change(old, new, _FORM_MAY_CHANGE) and _only_timestamps_added(old.get("/Fields"), new.get("/Fields"))


def _page_only_grew(old: pikepdf.Page, new: pikepdf.Page) -> bool:
    if old.obj.objgen != new.obj.objgen or not _may_change(old.obj, new.obj, _PAGE_MAY_CHANGE):
        return False
    return _only_timestamps_added(old.obj.get("/Annots"), new.obj.get("/Annots"))


def _only_timestamps_added(old: Any, new: Any) -> bool:
    before, after = list(old or []), list(new or [])
    kept = [_reference(one) for one in after[: len(before)]] == [_reference(one) for one in before]
    return kept and all(map(_is_unseen_timestamp, after[len(before) :]))


def _reference(value: Any) -> bytes:
    return bytes(value.unparse())


def _is_unseen_timestamp(field: Any) -> bool:
    """Whether the field is that of a document time-stamp, takes no room on a page and does nothing."""
    if not set(field.keys()) <= _TIMESTAMP_FIELD or field.get("/FT") != "/Sig":
        return False
    if field.get("/V") is None or field.V.get("/Type") != "/DocTimeStamp":
        return False
    corners = [float(number) for number in field.get("/Rect", [0, 0, 0, 0])]
    return len(corners) == 4 and (corners[0] == corners[2] or corners[1] == corners[3])


def _explained(old: pikepdf.Pdf) -> Iterator[Id]:
    """The objects of the sealed file that an archival update may write again; what it writes is checked elsewhere."""
    form: Any = old.Root.get("/AcroForm")
    pages = [page.obj for page in old.pages]
    yield from _numbers(old.Root, form, form.get("/Fields"), old.Root.get("/Metadata"), old.trailer.get("/Info"))
    yield from _numbers(*pages, *(page.get("/Annots") for page in pages))
    store = old.Root.get("/DSS")
    if store is not None:
        yield from _numbers(store, *store.values(), *(store.get("/VRI") or {}).values())


def _numbers(*values: Any) -> Iterator[Id]:
    return (value.objgen for value in values if isinstance(value, pikepdf.Object) and value.is_indirect)


def _info_same(old: pikepdf.Pdf, new: pikepdf.Pdf) -> bool:
    before, after = old.trailer.get("/Info"), new.trailer.get("/Info")
    if before is None or after is None:
        return before is None and (after is None or set(after.keys()) <= _INFO_MAY_CHANGE)
    return _may_change(before, after, _INFO_MAY_CHANGE)
