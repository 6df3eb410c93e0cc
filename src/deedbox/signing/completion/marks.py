"""The marks that a signed document gets on its pages."""

import unicodedata
from collections.abc import Iterator, Mapping

from deedbox import i18n
from deedbox.kernel.clock import moment
from deedbox.pdf.marks.marks import Mark, Marks, PageRect
from deedbox.signing import show_if
from deedbox.signing.completion.facts import Facts
from deedbox.signing.field_value import format_value, options_on_page
from deedbox.signing.initials import by_hand
from deedbox.signing.model import Document, Field, Signer, attached_pages, first_page
from deedbox.signing.parties import find_signer

_SHORT_ID = 8


def marks(facts: Facts, images: Mapping[str, bytes]) -> Marks:
    """What is to be put on the pages; images are those of the signers, by their hash."""
    fields = facts.document.fields
    shown = show_if.shown(fields)
    found = [mark for field in fields if (mark := _mark(facts, field)) is not None]
    choices = [field for field in fields if field.type == "radio" and field.is_choice and field.id in shown]
    return Marks((*found, *(mark for field in choices for mark in _options(facts, field))), dict(images))


def _options(facts: Facts, field: Field) -> Iterator[Mark]:
    """A circle and a label for each option of a radio field; the circle of the chosen one is filled."""
    page = first_page(facts.document, field.file_id) + field.page
    size, options = options_on_page(facts.document, field)
    for one in options:
        yield Mark("radio", PageRect(page, *one.circle), text="✓" if one.text == field.value else "")
        yield Mark("text", PageRect(page, *one.label), text=one.text, font_size=size)


def _mark(facts: Facts, field: Field) -> Mark | None:
    if field.value is None or (field.type == "radio" and field.is_choice):
        return None
    language = facts.packet.language
    place = PageRect(first_page(facts.document, field.file_id) + field.page, field.x, field.y, field.w, field.h)
    if field.type not in ("signature", "initials"):
        ticked = field.type not in ("checkbox", "radio") or field.value == "true"
        text = format_value(field.type, field.value, language)
        if field.type == "attachment":
            text = describe_pages(facts.document, field.id, language)
        return Mark(field.type, place, text=text, font_size=field.font_size) if ticked else None
    # Of a signature, the value is who signed.
    _, signer = find_signer(facts.packet, field.value)
    made = by_hand(signer, field.type)
    if made is None:
        raise LookupError(f"{signer.id} has signed without a signature")
    caption = _caption(signer, language) if field.type == "signature" else ()
    return Mark(
        field.type,
        place,
        text=made.text or "",
        image=made.file_sha256 or "",
        caption=caption,
        hand=made.hand or "dancing",
    )


def describe_pages(document: Document, field_id: str, language: str) -> str:
    """Where the file of the field lies behind the paper."""
    pages = attached_pages(document)[field_id]
    name = "mark.attachment" if len(pages) > 1 else "mark.attachment_page"
    return i18n.table(language)[name].format(first=pages[0], last=pages[-1])


def _caption(signer: Signer, language: str) -> tuple[str, ...]:
    """Who signed and when, in the language of the document, and the end of the signer's id."""
    name = signer.name
    if any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in name):
        name = f"\u2068{name}\u2069"  # set apart, or the name, which runs from the right, takes the day with it
    told = i18n.table(language)["mark.signed"].format(name=name)
    return told, i18n.moment(language, moment(signer.signed_at or "")), signer.id[-_SHORT_ID:]
