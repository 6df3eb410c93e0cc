"""Runs in a sandbox: the certificate of completion as a PDF, the same bytes for the same facts."""

import io
import re
from collections.abc import Generator, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
import pikepdf
import segno
from PIL import Image

from deedbox import i18n
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake.take_in import pieces, written
from deedbox.pdf.marks.certificate_facts import (
    CertifiedDocument,
    CertifiedEvent,
    CertifiedSigner,
    CompletionCertificate,
)
from deedbox.pdf.marks.fonts import families
from deedbox.pdf.marks.typeset import Typesetter, by_hand, embed_image, load_fonts, script
from deedbox.pdf.render import draw_pages as render

_HASH_SHOWN = 12
_DARK = re.compile(b"\x01+")
_SUSPECTS = b"/Suspects false"
_FRAME_SHAPE = 0.7
"""Width by height of the frame around a page's picture."""
_LOGO_HIGH, _LOGO_WIDE = 9, 60
"""In millimetres, at most."""


def prepare() -> None:
    """Certifies once, so that a sandbox has loaded fonts and all else that it will need while it still may."""
    load_fonts()
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(200, 200))
        document = written(pdf)
    at = "2000-01-01T00:00:00Z"
    facts = CompletionCertificate(
        "a", "b", "c", "https://deedbox.example/verify/c", at, at, (), (CertifiedSigner("d", "e", "f"),), (), "h"
    )
    for _ in certify(document, msgspec.to_builtins(facts, builtin_types=(bytes,))):
        pass


def certify(document: bytes, facts: dict[str, Any]) -> Generator[bytes, None, int]:
    """Yields the certificate of the signed document, whose first pages it shows; what comes back is its size.

    That of a packet shows no pages: `document` is empty."""
    completion = msgspec.convert(facts, CompletionCertificate)
    if (
        len(completion.signers) > limits.CERTIFICATE_SIGNERS
        or len(completion.events) > shared_limits.CERTIFICATE_EVENTS
    ):
        bounds = f"{limits.CERTIFICATE_SIGNERS:,} signers and {shared_limits.CERTIFICATE_EVENTS:,} events"
        raise BadRequest(f"A certificate holds at most {bounds}")
    pages, count = render.thumbnails(document) if document else ([], 0)
    pictures = {
        f"page{number}.svg": embed_image(image, "image/jpeg", w, h) for number, (image, w, h) in enumerate(pages, 1)
    }
    pictures |= dict(_signatures(completion))
    if completion.logo:
        pictures["logo.svg"] = by_hand(completion.logo)
    if completion.verification_url:
        pictures["code.svg"] = _code(completion.verification_url)
    told = _facts(completion, [w / h for _, w, h in pages], count)
    made = _template().compile(told, pictures, _seconds(completion.made_at))
    # It says nothing when it is false, and poppler takes it for an error. Every byte stays at its place.
    made = made.replace(_SUSPECTS, b" " * len(_SUSPECTS))
    yield from pieces(made)
    return len(made)


def _code(address: str) -> str:
    """A QR code as SVG: each run of dark modules is a line of their height."""
    # Any mask can be read; to find the best of all takes four times as long as all the rest.
    rows = segno.make(address, error="m", mask=2).matrix
    lines = "".join(
        f"M{run.start()} {number}.5h{len(run[0])}" for number, row in enumerate(rows) for run in _DARK.finditer(row)
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(rows)} {len(rows)}">'
    return f'{head}<path stroke="#16243f" d="{lines}"/></svg>'


@cache
def _template() -> Typesetter:
    return Typesetter("certificate.typ")


def _facts(completion: CompletionCertificate, shapes: list[float], pages: int) -> dict[str, Any]:
    language = i18n.known(completion.language)
    table = i18n.of_use(language, "certificate")
    return {
        "words": table,
        "language": language,
        "title": _text(completion.title),
        "document": msgspec.to_builtins(completion, builtin_types=(bytes,))
        | {"signers": None, "events": None, "title": None, "documents": None, "logo": _logo_height(completion.logo)}
        | {"sender_name": _text(completion.sender_name), "workspace": _text(completion.workspace)},
        # Who approves, gets a copy or passed it on is among them, and is no signer.
        "people": table["people" if any(one.role for one in completion.signers) else "signers"],
        "signers": [_signer(number, signer, table) for number, signer in enumerate(completion.signers)],
        "events": [_event(event, table) for event in completion.events],
        "documents": [_document(document) for document in completion.documents],
        "thumbnails": [
            {"file": f"page{number}.svg", "wide": shape > _FRAME_SHAPE} for number, shape in enumerate(shapes, 1)
        ],
        "more_pages": pages - len(shapes),
    }


def _logo_height(logo: bytes) -> float:
    """In millimetres; 0 without one."""
    if not logo:
        return 0
    width, height = Image.open(io.BytesIO(logo), formats=("PNG",)).size
    return min(_LOGO_HIGH, _LOGO_WIDE * height / width)


def _signer(number: int, signer: CertifiedSigner, table: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": _text(signer.name),
        "email": signer.email,
        "party": _text(signer.party),
        "role": _text(signer.role),
        "id": signer.id,
        "status": table.get(signer.status, table["waiting"]),
        "identity": _text(signer.identity),
        "steps": signer.steps,
        "signed_at": signer.signed_at,
        "address": signer.address,
        "device": signer.user_agent,
        "consent": _text(signer.consent),
        "values": [[_text(label), _text(value)] for label, value in signer.values],
        "image": f"signer{number}.svg" if signer.signature_image else "",
        "typed": _text(signer.signature_text),
        "hands": families(signer.signature_hand),
    }


def _document(document: CertifiedDocument) -> dict[str, Any]:
    return {**msgspec.to_builtins(document), "title": _text(document.title)}


def _event(event: CertifiedEvent, table: Mapping[str, str]) -> dict[str, Any]:
    return {
        "at": event.at,
        "what": _text(table.get(event.kind, event.kind)),
        "actor": _text(event.actor),
        "detail": _text(event.detail),
        "address": event.address,
        "hash": event.hash[:_HASH_SHOWN],
    }


def _text(text: str) -> dict[str, Any]:
    return {"text": text, **script(text)}


def _signatures(completion: CompletionCertificate) -> Iterator[tuple[str, str]]:
    for number, signer in enumerate(completion.signers):
        if signer.signature_image:
            yield f"signer{number}.svg", by_hand(signer.signature_image)


def _seconds(moment: str) -> int:
    try:
        return int(datetime.fromisoformat(moment).timestamp())
    except ValueError as error:
        raise BadRequest(f"{moment!r} is no RFC 3339 time") from error
