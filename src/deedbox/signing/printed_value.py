"""The values of fields as the page shows them: dates as the document's language writes them, all large enough."""

from datetime import datetime

from deedbox import words
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.room import Room, need_room, need_room_by_hand
from deedbox.signing.model import Document, Field, FieldType, Signature

_MINE = {"signature": "Your signature", "initials": "Your initials"}


def printed(kind: FieldType, value: str, language: str) -> str:
    """What the page shows for a value; BadRequest for a date that is none."""
    if kind != "date" or not value:
        return value
    try:
        return words.date(language, datetime.strptime(value, "%Y-%m-%d").date())  # noqa: DTZ007 (a day has no zone)
    except ValueError as error:
        raise BadRequest(f"{value[:20]} is not a date: write it as 2026-05-03, year, month and day") from error


def room_of(document: Document, field: Field) -> Room:
    """The room that a field has on its page."""
    file = next(file for file in document.files if file.id == field.file_id)
    width, height = file.sizes[field.page - 1]
    return Room(field.w * width, field.h * height, field.font_size)


def check_fits(document: Document, field: Field, value: str, language: str) -> None:
    """BadRequest for a value that could not be printed in its field so that it can be read."""
    if field.type not in ("signature", "initials", "checkbox"):
        named = field.label or f"The {field.type} on page {field.page}"
        need_room(named, printed(field.type, value, language), room_of(document, field))


def check_by_hand(document: Document, field: Field, made: Signature) -> None:
    """BadRequest for a typed signature or initials that the field is too small for."""
    if made.text:
        need_room_by_hand(f"{_MINE[field.type]} on page {field.page}", made.text, room_of(document, field))
