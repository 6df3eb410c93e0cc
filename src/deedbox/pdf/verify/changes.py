"""What general readers say of a file: of revisions after others' signatures, and of what lies before a seal."""

import io
import re
from typing import Any

import pikepdf

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.verify.extension import Before
from deedbox.pdf.verify.signed_data import translate_errors
from deedbox.pdf.verify.syntax import Name, ObjectReference, number

_READ_ALWAYS = {"Producer"}
"""pyHanko writes this property itself, and all others as they are, also references."""
_REFERENCE = re.compile(rb"(\d{1,10})\s+\d{1,5}\s+R\b")


def is_accounted_for(pdf: bytes, signed_bytes: int) -> bool:
    """Whether what follows the signed bytes of a file is white space, or revisions up to its end: no junk."""
    rest = pdf[signed_bytes:].strip(b"\r\n\t \0\f")
    return not rest or (rest.endswith(b"%%EOF") and b"startxref" in rest and b"xref" in rest)


def allows_changes(signature: Any) -> bool | None:
    """Whether pyHanko allows the changes made after someone else's signature; None when it cannot say."""
    try:
        with translate_errors("What was added after the signature cannot be read."):
            signature.compute_integrity_info()
            allowed = signature.summarise_integrity_info()["docmdp_ok"]
            return None if allowed is None else bool(allowed)
    except BadRequest:
        return None


def validation_data(pdf: bytes) -> bytes | None:
    """The store of validation data as qpdf writes it; None if there is none, or the file cannot be read."""
    try:
        with (
            translate_errors("The file cannot be read."),
            pikepdf.open(io.BytesIO(pdf), attempt_recovery=False) as opened,
        ):
            store = opened.Root.get("/DSS")
            return store.unparse(resolved=True) if isinstance(store, pikepdf.Object) else None
    except BadRequest:
        return None


def before(sealed: bytes) -> Before:
    """What qpdf finds in a sealed file; BadRequest if it cannot read it."""
    with (
        translate_errors("The sealed file cannot be read."),
        pikepdf.open(io.BytesIO(sealed), attempt_recovery=False, inherit_page_attributes=False) as pdf,
    ):
        # The library leaves out references to what is missing, so they are looked for in what is written.
        written = [sealed, *(one.read_bytes() for one in pdf.objects if _holds_objects(one))]
        numbers = frozenset(int(found[1]) for text in written for found in _REFERENCE.finditer(text))
        info = pdf.trailer.get("/Info")
        entries = dict(info.items()) if isinstance(info, pikepdf.Dictionary) else {}
        properties = {key.removeprefix("/"): _property(value) for key, value in entries.items()}
        for name in _READ_ALWAYS & set(properties):
            properties[name] = _value(entries[f"/{name}"])
        return Before(numbers, properties)


def _holds_objects(one: Any) -> bool:
    return isinstance(one, pikepdf.Stream) and one.get("/Type") == "/ObjStm"


def _property(value: Any) -> Any:
    """A property in the form of the strict reader, which follows no reference."""
    if isinstance(value, pikepdf.Object) and value.is_indirect:
        return ObjectReference(*value.objgen)
    return _value(value)


def _value(value: Any) -> Any:
    if isinstance(value, pikepdf.Name):
        return Name(str(value).removeprefix("/"))
    if isinstance(value, pikepdf.Array):
        return [_property(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return number(value)
    if value is None or isinstance(value, bool):
        return value
    return bytes(value) if isinstance(value, pikepdf.String) else repr(value)
