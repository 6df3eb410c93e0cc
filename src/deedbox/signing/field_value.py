"""What a field may hold: what is wrong with a value, and the one form in which it is kept.

A day is kept as 2026-05-03 and a number as 1234.50, whatever the languages of those who write and read them."""

import re
from collections.abc import Iterator, Mapping
from datetime import date

from deedbox import i18n
from deedbox.i18n import numbers
from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest, Saying
from deedbox.kernel.mailbox import checked_address
from deedbox.pdf.marks.field_text import FieldSpace, letters_by_hand, letters_that_fit
from deedbox.pdf.marks.glyphs import describe, unprintable
from deedbox.pdf.marks.radio_options import Option, Part, laid_out
from deedbox.signing import pattern
from deedbox.signing.model import Document, Field, FieldType, SignerSignature

BY_HAND: tuple[FieldType, ...] = ("signature", "initials")
"""Fields that the signature fills."""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TRIMMED: tuple[FieldType, ...] = ("date", "email", "number", "checkbox", "radio")
_NO_TEXT: tuple[FieldType, ...] = (*BY_HAND, "checkbox", "radio", "attachment")
"""Fields on which no text is printed that anybody wrote into them."""


def normalize(field: Field, value: str) -> str:
    """The value as it is kept; empty if there is nothing in it."""
    if not value.strip():
        return ""
    trimmed = value.strip() if field.type in _TRIMMED else value
    if field.is_button and trimmed == "false":
        return ""
    return (numbers.plain(trimmed) or trimmed) if field.type == "number" else trimmed


def current_value(field: Field, filled: Mapping[str, str]) -> str | None:
    """What stands in the field for a signer who has filled in this: their own, else what a colleague has signed.

    Empty if they have cleared it; None if nobody has written in it, and a default holds."""
    mine = filled.get(field.id)
    return field.value if field.value and not mine else mine


def format_value(kind: FieldType, value: str, language: str) -> str:
    """A value that is kept, as a page shows it to readers of the language."""
    if kind in ("date", "date_signed") and (day := _day(value)):
        return i18n.date(language, day)
    if kind == "number" and numbers.plain(value):
        return numbers.written(language, value)
    return value


def fault(document: Document, field: Field, value: str, language: str) -> Saying | None:
    """What is wrong with a value in the form in which it is kept; an empty one is never wrong here.

    The language is the document's, in which the value is printed."""
    if not value or field.type == "attachment":
        return None
    return next(_faults(document, field, value, language), None)


def fault_of(field: Field, name: str, **values: str) -> Saying:
    """What is said of a field, by the name of the sentence."""
    return Saying(name, values, field.id, field.label or f"page.field_{field.type}")


def check_by_hand(document: Document, field: Field, made: SignerSignature) -> None:
    """BadRequest for a typed signature or initials that no font can print, or that the field is too small for."""
    if not made.text:
        return
    if missing := unprintable(made.text):
        raise refusal(BadRequest, f"{field.type}_unprintable", letters=describe(missing))
    letters = letters_by_hand(made.text, room_of(document, field), made.hand or "dancing")
    if letters is not None:
        raise refusal(BadRequest, f"{field.type}_no_room", page=str(field.page), most=str(letters))


def room_of(document: Document, field: Field) -> FieldSpace:
    """The room that a field has on its page."""
    file = next(file for file in document.files if file.id == field.file_id)
    width, height = file.sizes[field.page - 1]
    return FieldSpace(field.w * width, field.h * height, field.font_size)


def options_on_page(document: Document, field: Field) -> tuple[float, list[Option]]:
    """The size at which the options of a radio field are printed, and where, in fractions of the page.

    LookupError if its rectangle is too small, which is refused when the field is placed."""
    room = room_of(document, field)
    layout = laid_out(field.options, room)
    if layout is None:
        raise LookupError(f"{field.id} is too small for its options")
    width, height = room.w / field.w, room.h / field.h

    def on_page(part: Part) -> Part:
        return Part(field.x + part.x / width, field.y + part.y / height, part.w / width, part.h / height)

    return layout.size, [Option(one.text, on_page(one.circle), on_page(one.label)) for one in layout.options]


def _faults(document: Document, field: Field, value: str, language: str) -> Iterator[Saying]:
    if len(value) > limits.FIELD_VALUE_CHARS:
        yield fault_of(field, "too_long", most=str(limits.FIELD_VALUE_CHARS))
    if field.max_length is not None and len(value) > field.max_length:
        yield fault_of(field, "too_long", most=str(field.max_length))
    if field.pattern is not None and not pattern.matches(field.pattern, value):
        yield fault_of(field, "hint", hint=field.hint) if field.hint else fault_of(field, "pattern")
    if field.is_choice and value not in field.options:
        yield fault_of(field, "select", options=", ".join(field.options))
    if not _is_of_type(field, value):
        yield fault_of(field, field.type)
    if missing := unprintable(value):
        yield fault_of(field, "unprintable", letters=describe(missing))
    if field.type not in _NO_TEXT:
        letters = letters_that_fit(format_value(field.type, value, language), room_of(document, field))
        if letters is not None:
            yield fault_of(field, "no_room", most=str(letters))


def _is_of_type(field: Field, value: str) -> bool:
    kind = field.type
    if kind == "date":
        return _day(value) is not None
    if kind == "number":
        return numbers.plain(value) == value
    if kind == "email":
        return _is_address(value)
    if kind == "checkbox" or field.is_button:
        return value in ("true", "false")
    return True


def _day(value: str) -> date | None:
    try:
        return date.fromisoformat(value) if _DAY.fullmatch(value) else None
    except ValueError:
        return None


def _is_address(value: str) -> bool:
    try:
        checked_address(value)
    except BadRequest:
        return False
    return True
