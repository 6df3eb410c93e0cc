"""Whether a field is large enough for what is printed of its signer, and which size it needs."""

import math
from functools import cache
from typing import NamedTuple

from deedbox.i18n.refusals import wrong_values
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.marks.field_text import FieldSpace, least_by_hand, least_printed, letters_that_fit
from deedbox.signing.field_value import BY_HAND, fault_of, format_value, room_of
from deedbox.signing.initials import initials_of
from deedbox.signing.model import Document, Field, Packet, Party, Signer
from deedbox.signing.parties import own_fields

_ROUNDING = 0.5
"""Points by which a field may be smaller than the message asks for: places are rounded on their way."""


class NameTooLong(BadRequest):
    """A name, or its initials, for which a field is too small."""


class TooSmall(NamedTuple):
    """A field, the text that does not fit into it, and the size in points that the text needs."""

    field: Field
    text: str
    room: FieldSpace
    w: int
    h: int

    def for_sender(self) -> BadRequest:
        """The error that names the field and the size it needs, also as fractions of the page, as the API takes it."""
        page_w, page_h = self.room.w / self.field.w, self.room.h / self.field.h
        named = self.field.type not in ("email", "date_signed")
        kind, shorter = (NameTooLong, ", or give a shorter name") if named else (BadRequest, "")
        return kind(
            f"The {self.field.label or self.field.type} on page {self.field.page} is {self.room.w:.0f} ×"
            f" {self.room.h:.0f} points, too small for {self.text!r}. Make it at least {self.w} × {self.h} points:"
            f" w {round_up(self.w / page_w)} and h {round_up(self.h / page_h)} of the page{shorter}."
        )

    def for_signer(self) -> BadRequest:
        """The same for someone who passes a document on, in their language: they cannot change the field."""
        sizes = {"field_w": f"{self.room.w:.0f}", "field_h": f"{self.room.h:.0f}", "w": str(self.w), "h": str(self.h)}
        page = str(self.field.page)
        return wrong_values([fault_of(self.field, "delegate_no_room", text=self.text, page=page, **sizes)])


def too_small(document: Document, field: Field, signer: Signer | None, language: str) -> TooSmall | None:
    """What is wrong with the size of this signer's field; None if all that is known of them fits.

    Without a signer, who is not known yet, only a date of signing is known."""
    text, room = _text(field, signer, language), room_of(document, field)
    if text is None:
        return None
    if field.type in BY_HAND:
        w, h = least_by_hand(field.type, text)
        fits = room.w + _ROUNDING >= w and room.h + _ROUNDING >= h
    else:
        w, h = least_printed(text)
        fits = letters_that_fit(text, room) is None
    return None if fits else TooSmall(field, text, room, math.ceil(w), math.ceil(h))


def too_small_after(packet: Packet, party: Party, before: Signer, after: Signer) -> TooSmall | None:
    """The first field of `before` that is too small for `after`; what both have in common is not examined again."""
    for document in packet.documents:
        for field in own_fields(document, party, before):
            same = _text(field, after, packet.language) == _text(field, before, packet.language)
            if not same and (found := too_small(document, field, after, packet.language)):
                return found
    return None


def _text(field: Field, signer: Signer | None, language: str) -> str | None:
    """What is known of the signer and may come to stand in the field."""
    if field.type == "date_signed":
        return _longest_day(language)
    if signer is None:
        return None
    match field.type:
        case "signature" | "name":
            return signer.name
        case "initials":
            return initials_of(signer.name)
        case "email":
            return signer.email
    return None


@cache
def _longest_day(language: str) -> str:
    """The day of signing that takes the most space: of months with long names."""
    days = (format_value("date_signed", f"2028-{month:02}-28", language) for month in range(1, 13))
    return max(days, key=lambda day: least_printed(day)[0])


def round_up(fraction: float) -> float:
    return math.ceil(fraction * 1000) / 1000
