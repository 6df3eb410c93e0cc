"""The form of a sealed file: a PDF and, after it, one revision exactly as `seal` writes it. It knows nothing else.

Pure Python over a few kilobytes, in time that grows with them, so that it may run in the server itself."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from deedbox.pdf.seal import der
from deedbox.pdf.seal import pades as seal
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.seal.pades import SealParameters
from deedbox.pdf.verify import appended_revision
from deedbox.pdf.verify.appended_revision import Appended
from deedbox.pdf.verify.syntax import Name, Object, ObjectReference, array, number, text

_DIGITS = b"0123456789abcdef"
_FIELD_NAME = re.compile(r"Seal(?: [2-9]| [1-9]\d{1,4})?")
_OWN = 5
"""The page, the field, the validation data, the catalog and the signature are in every seal."""


class SealedForm(NamedTuple):
    """What the revision of a seal says, and where the gap in it is: the hex digits from `gap_start` to `gap_end`."""

    base_bytes: int
    """How many bytes come before the revision."""
    size_bytes: int
    gap_start: int
    gap_end: int
    cms_der: bytes
    order: SealParameters
    """What was ordered of the seal; `room`, `certificates` and `crls` as they are in the file."""
    revision: Appended

    @property
    def signed(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """What the signature is about: two stretches of the file, from and to."""
        return (0, self.gap_start - 1), (self.gap_end + 1, self.size_bytes)


def read(data: bytes, before: int = 0) -> SealedForm:
    """The form of a sealed file, of which `data` is the end after so many other bytes; Malformed says what is off."""
    revision = appended_revision.read(data, before)
    objects = list(revision.objects.items())
    if len(objects) < _OWN:
        raise Malformed("The last revision is not that of a seal")
    (page, _), (field, _) = objects[:2]
    (signature, written_signature) = objects[-1]
    if objects[-2][0] != revision.trailer.get("Root"):
        raise Malformed("The last revision is not that of a seal")
    _check_field(revision, page, field, signature)
    _check_catalog(revision, field, signature)
    order = _order(revision, written_signature.value)
    _check_numbers(revision, page)
    start, digits = _gap(revision, written_signature, signature, order)
    return SealedForm(revision.start, revision.end, start, start + len(digits), _contents(digits), order, revision)


def claims(data: bytes) -> bool:
    """Whether a file says of itself that Deedbox sealed it, anywhere."""
    return f"{seal.PRIVATE} << /".encode() in data


def _check_field(revision: Appended, page: ObjectReference, field: ObjectReference, signature: ObjectReference) -> None:
    annotations = _dictionary(revision, page).get("Annots")
    named = _dictionary(revision, field)
    widget = {
        "Type": Name("Annot"), "Subtype": Name("Widget"), "FT": Name("Sig"), "T": named.get("T"), "V": signature,
        "F": number(132), "Rect": [number(0)] * 4, "P": page,
    }  # fmt: skip
    if list(named.items()) != list(widget.items()) or not _FIELD_NAME.fullmatch(text(named["T"])):
        raise Malformed("The field of the seal is not as seals have it")
    if not isinstance(annotations, list) or annotations[-1:] != [field] or annotations.count(field) != 1:
        raise Malformed("The page does not have the field of the seal")


def _check_catalog(revision: Appended, field: ObjectReference, signature: ObjectReference) -> None:
    catalog = _dictionary(revision, revision.trailer["Root"])
    fields = _form(revision, catalog).get("Fields")
    if not isinstance(fields, list) or fields[-1:] != [field] or fields.count(field) != 1:
        raise Malformed("The form does not have the field of the seal")
    if catalog.get("Perms") != {"DocMDP": signature} or _form(revision, catalog).get("SigFlags") != number(3):
        raise Malformed("The catalog does not say that the file is sealed")


def _form(revision: Appended, catalog: dict[str, Any]) -> dict[str, Any]:
    """The form, in the catalog or with a number of its own."""
    found = catalog.get("AcroForm")
    if isinstance(found, ObjectReference):
        return _dictionary(revision, found)
    if not isinstance(found, dict):
        raise Malformed("The form is missing")
    return found


def _dictionary(revision: Appended, reference: Any) -> dict[str, Any]:
    found = revision.objects.get(reference)
    if found is None or found.stream is not None or not isinstance(found.value, dict):
        raise Malformed("The revision lacks an object of the seal")
    return found.value


def _check_numbers(revision: Appended, page: ObjectReference) -> None:
    """Everything that was written is something that a seal needs."""
    catalog = _dictionary(revision, revision.trailer["Root"])
    objects = list(revision.objects)
    store = objects[-3]
    own_form = catalog.get("AcroForm")
    forms = [own_form] if isinstance(own_form, ObjectReference) else []
    streams = [one for kind in ("Certs", "CRLs") for one in array(_dictionary(revision, store).get(kind, []))]
    expected = [page, objects[1], *forms, *streams, store, revision.trailer["Root"], objects[-1]]
    if expected != objects or catalog.get("DSS") != store:
        raise Malformed("The revision holds something that no seal has")


def _order(revision: Appended, signature: Any) -> SealParameters:
    private = signature.get("Deedbox") if isinstance(signature, dict) else None
    if not isinstance(private, dict):
        raise Malformed("The signature is not one of Deedbox")
    store = _dictionary(revision, list(revision.objects)[-3])
    if list(store) != [key for key in ("Type", "Certs", "CRLs") if key in store] or store.get("Type") != "DSS":
        raise Malformed("The validation data is not as seals have it")
    expected, part = _text(private, "Timestamp"), _text(private, "Part")
    if expected not in get_args(seal.Expected) or part not in get_args(seal.Part):
        raise Malformed("The signature does not say what it is about, and which timestamp it has")
    moment = der.moment(_text(signature, "M").removeprefix("D:").removesuffix("Z"))
    return SealParameters(
        room=len(signature["Contents"]) if isinstance(signature.get("Contents"), bytes) else 0,
        signed_at=moment,
        certificates=list(_streams(revision, store, "Certs")),
        crls=list(_streams(revision, store, "CRLs")),
        document_id=_text(private, "Document"),
        audit_head=_text(private, "Audit"),
        name=_text(signature, "Name"),
        reason=_text(signature, "Reason"),
        location=_text(signature, "Location"),
        timestamp=expected,  # type: ignore[arg-type]
        part=part,  # type: ignore[arg-type]
    )


def _text(owner: dict[str, Any], key: str) -> str:
    return text(owner[key]) if key in owner else ""


def _streams(revision: Appended, store: dict[str, Any], kind: str) -> Iterator[bytes]:
    for reference in array(store.get(kind, [])):
        found = revision.objects.get(reference)
        if found is None or found.stream is None or list(found.value) != ["Length"]:
            raise Malformed("The validation data is not as seals have it")
        yield found.stream


def _gap(revision: Appended, signature: Object, number: ObjectReference, order: SealParameters) -> tuple[int, bytes]:
    """Where the digits of the signature begin, and they; written anew, the signature must be the same bytes."""
    head, tail = seal.signature_dictionary(order)
    header = b"%d %d obj\n" % number
    start = revision.places[number] + len(header) + len(head)
    end = start + 2 * order.room
    digits = signature.written[len(header) + len(head) :][: 2 * order.room]
    span = (0, start - 1, end + 1, revision.end - (end + 1))
    ranged = head.removesuffix(_HEAD_END)[: -len(seal.range_digits(span))] + seal.range_digits(span) + _HEAD_END
    if header + ranged + digits + tail + b"\nendobj\n" != signature.written:
        raise Malformed("The signature's dictionary is not as seals have it")
    return start, digits


_HEAD_END = b"] /Contents <"


def _contents(digits: bytes) -> bytes:
    """The signature in the gap, followed by zeros alone."""
    if not digits or len(digits) % 2 or digits.translate(None, _DIGITS):
        raise Malformed("The place of the signature holds more than its digits")
    filled = bytes.fromhex(digits.decode())
    count = filled[1] & 0x7F if filled[1:2] > b"\x80" else 0
    size = 2 + count + int.from_bytes(filled[2 : 2 + count] if count else filled[1:2], "big")
    if filled[0] != 0x30 or count > 4 or size > len(filled) or filled[size:].strip(b"\0"):
        raise Malformed("The place of the signature does not hold one signature and zeros")
    return filled[:size]
