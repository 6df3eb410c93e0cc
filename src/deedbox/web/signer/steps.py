"""The steps of a signing page: each field of the sheet with the boxes where it stands, and the words of its script."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from deedbox import i18n
from deedbox.pdf.marks.radio_options import Part
from deedbox.signing.field_value import options_on_page
from deedbox.signing.initials import initials_of
from deedbox.signing.model import Attachment, Document, Field
from deedbox.web.signer.inside import Inside
from deedbox.web.signer.sheet import Home, SheetRow, SigningSheet, homes

_FLAGS = {"checkbox": "tick", "radio": "choose", "select": "choose", "date": "date", "attachment": "file"}
"""What the mark of a field says while it is its turn, where it is not simply filled in."""
_WORDS = (
    "step", "next", "next_document", "kept", "offline", "again", "not_kept", "offline_sign", "going", "drawn", "photo",
    "bad_photo", "no_signature", "no_initials", "uploaded", "upload_failed",
)  # fmt: skip
_REFUSALS = {
    "required": "required",
    "required_checkbox": "required_tick",
    "required_attachment": "required_file",
    "wrong_email": "email",
    "wrong_date": "date",
}


class SigningStep(NamedTuple):
    """A field to be filled in; without a row, a document that is only read."""

    document: Document
    row: SheetRow | None
    boxes: Sequence[Mapping[str, Any]] = ()
    page: int = 0
    file: Attachment | None = None
    """What the signer has given for it."""

    @property
    def flag(self) -> str:
        return _FLAGS.get(self.row.field.type, "text") if self.row else ""

    @property
    def fixed(self) -> bool:
        """Whether there is nothing to be changed in it."""
        return self.row is not None and all(field.read_only for field in self.row.boxes)

    @property
    def raw(self) -> str:
        """What stands in a field that cannot be changed, as conditions name it."""
        return (self.row.field.value or self.row.field.default or "") if self.row else ""


class HandwrittenStep(NamedTuple):
    """What is written by hand: the signature or the initials, with all their boxes."""

    kind: str
    boxes: Sequence[Mapping[str, Any]]
    document: str
    page: int | None
    offered: str
    """What it is if it is typed."""


class OtherMark(NamedTuple):
    said: str
    label: str
    box: Mapping[str, Any]


def steps(who: Inside, sheet: SigningSheet, files: Sequence[Attachment]) -> Iterator[SigningStep]:
    """Field by field, as one reads; and each document in which nothing can be done but read, in its place."""
    given = {one.field_id: one for one in files if one.signer_id == who.signer.id}
    at, found = homes(who), dict[str, list[SigningStep]]()
    for row in sheet.rows:
        home = at[row.field.file_id]
        boxes = [_box(home, field) for field in row.boxes]
        step = SigningStep(home.document, row, boxes, home.page(row.field), given.get(row.field.id))
        found.setdefault(home.document.id, []).append(step)
    signed = {at[field.file_id].document.id for fields in sheet.by_hand.values() for field in fields}
    for document in who.packet.documents:
        own = found.get(document.id, [])
        yield from own
        if all(step.fixed for step in own) and document.id not in signed and not who.packet.lone:
            yield SigningStep(document, None)


def marks(who: Inside, sheet: SigningSheet) -> list[HandwrittenStep]:
    """What the signer writes by hand: initials where there are fields for them, and always the signature."""
    if who.signer.role != "signer":
        return []
    offered = {"initials": initials_of(who.signer.name), "signature": who.signer.name}
    return [_mark(who, kind, sheet.by_hand[kind], offered[kind]) for kind in offered if _asked(kind, sheet)]


def others(who: Inside, sheet: SigningSheet) -> list[OtherMark]:
    """What others have filled in, with its place."""
    at = homes(who)
    return [
        OtherMark(one.said, one.field.label or one.name, _box(at[one.field.file_id], one.field)) for one in sheet.others
    ]


def script_words(language: str, role: str) -> dict[str, str]:
    """What the page's script says."""
    said, refused = i18n.of_use(language, "page"), i18n.of_use(language, "refusal")
    return {
        **{name: said[name] for name in _WORDS},
        **{name: refused[other] for name, other in _REFUSALS.items()},
        "consent": refused["consent_approver" if role == "approver" else "consent"],
    }


def _box(home: Home, field: Field) -> dict[str, Any]:
    """Where a field stands, and on what it depends."""
    condition = field.show_if
    return {
        "id": field.id,
        "document": home.document.id,
        "file": field.file_id,
        "page": field.page,
        "at": [round(side, 5) for side in (field.x, field.y, field.w, field.h)],
        "if": [condition.field, condition.equals] if condition else None,
        **({"options": _options(home, field)} if field.type == "radio" and field.is_choice else {}),
    }


def _options(home: Home, field: Field) -> list[dict[str, Any]]:
    """Where the circle and the label of each option stand, in fractions of the field."""
    size, options = options_on_page(home.document, field)

    def within(part: Part) -> list[float]:
        x, y = (part.x - field.x) / field.w, (part.y - field.y) / field.h
        return [round(side, 4) for side in (x, y, part.w / field.w, part.h / field.h)]

    return [
        {"text": one.text, "size": round(size, 2), "circle": within(one.circle), "label": within(one.label)}
        for one in options
    ]


def _asked(kind: str, sheet: SigningSheet) -> bool:
    return kind == "signature" or bool(sheet.by_hand[kind])


def _mark(who: Inside, kind: str, fields: Sequence[Field], offered: str) -> HandwrittenStep:
    at = homes(who)
    if not fields:
        return HandwrittenStep(kind, [], who.packet.documents[-1].id, None, offered)
    boxes, first = [_box(at[field.file_id], field) for field in fields], at[fields[0].file_id]
    return HandwrittenStep(kind, boxes, first.document.id, first.page(fields[0]), offered)
