"""The marks that a signed document gets on its pages."""

from collections.abc import Mapping

import msgspec

from deedbox.pdf.marks import Mark, Marks, Place
from deedbox.signing.completion.facts import Facts
from deedbox.signing.model import Field, first_page
from deedbox.signing.parties import find_signer

_SHORT_ID = 8


def marks(facts: Facts, images: Mapping[str, bytes]) -> Marks:
    """What is to be put on the pages."""
    found = [mark for field in facts.document.fields if (mark := _mark(facts, field)) is not None]
    covers = [
        msgspec.structs.replace(cover, page=first_page(facts.document, file.id) + cover.page)
        for file in facts.document.files
        for cover in file.covers
    ]
    return Marks(tuple(found), tuple(covers), dict(images))


def _mark(facts: Facts, field: Field) -> Mark | None:
    if field.value is None:
        return None
    place = Place(first_page(facts.document, field.file_id) + field.page, field.x, field.y, field.w, field.h)
    if field.type not in ("signature", "initials"):
        ticked = field.type != "checkbox" or field.value == "true"
        return Mark(field.type, place, text=field.value) if ticked else None
    # Of a signature, the value is who signed.
    _, signer = find_signer(facts.packet, field.value)
    signature = signer.signature
    if signature is None:
        raise LookupError(f"{signer.id} has signed without a signature")
    text = signature.text or ""
    if field.type == "initials":
        text = "".join(word[0] for word in signer.name.split())
    image = signer.id if signature.image_sha256 is not None and field.type == "signature" else ""
    caption = (signer.name, signer.signed_at or "", signer.id[-_SHORT_ID:]) if field.type == "signature" else ()
    return Mark(field.type, place, text="" if image else text, image=image, caption=caption)
