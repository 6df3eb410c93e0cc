"""Read as text: what there is to sign, reflowed, with links to the signer's fields at their places."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from litestar import Response, get
from litestar.params import FromPath

from deedbox.kernel import limits
from deedbox.kernel.blobs import store as blobs_store
from deedbox.pdf.lines import Line
from deedbox.signing.actions.view import view_text
from deedbox.signing.model import Document, Field, File, first_page
from deedbox.web.frame import brand, context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import SIGNER, door
from deedbox.web.frame.pages import go, page
from deedbox.web.signer import embedding
from deedbox.web.signer.inside import Inside, at_desk, circumstances, looked, outcome

_PAGES = msgspec.json.Decoder(list[list[Line]])


class Piece(NamedTuple):
    """Words, or a field that is to be filled in here."""

    text: str
    field: Field | None = None


class PageText(NamedTuple):
    file: File
    number: int
    paragraphs: list[list[Piece]]
    is_picture: bool
    """There are no words on it."""


class DocumentText(NamedTuple):
    document: Document
    pages: list[PageText]
    ends: PageText | None
    """The first page that is not read."""


@get("/sign/{signer_id:str}/text", opt=door(SIGNER), include_in_schema=False)
async def read_as_text(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:
    """Every page's text; the signing page where there is nothing to show, which says why."""
    deedbox, who = context.of(request).deedbox, await looked(request)
    if not who.is_shown:
        return go(f"/sign/{signer_id}")
    can_sign = outcome(who.packet, who.signer, deedbox.clock.now()) is None
    fields = who.possible_fields if can_sign else []
    return page(
        "signer/text.html",
        language=who.signer.language,
        brand=await brand.of(request, who.packet.workspace_id),
        packet=who.packet,
        signer=who.signer,
        texts=[await _read(request, who, document, fields) for document in who.packet.documents],
        only_reads=who.only_reads,
        **embedding.shown(who),
    )


async def _read(request: AnyRequest, who: Inside, document: Document, fields: Sequence[Field]) -> DocumentText:
    """The text of a document; that it was shown is noted, with its hash."""
    deedbox, token = context.of(request).deedbox, context.of(request).token
    blob = await deedbox.db.read(lambda tx: blobs_store.demand(tx, document.paper_sha256 or ""))
    text = await deedbox.pictures.text(blob)
    seen, shown = circumstances(request, who), hashlib.sha256(text).hexdigest()
    await at_desk(request, who, lambda desk: view_text(desk, document, who.signer.id, token, shown, seen.address))
    lines = _PAGES.decode(text)
    pages = [
        _page(file, number, lines[at : at + 1], [one for one in fields if (one.file_id, one.page) == (file.id, number)])
        for file in document.files
        for number in range(1, file.pages + 1)
        for at in [first_page(document, file.id) + number - 1]
    ]
    return DocumentText(document, pages[: limits.READ_PAGES], next(iter(pages[limits.READ_PAGES :]), None))


def _page(file: File, number: int, found: Sequence[list[Line]], fields: Sequence[Field]) -> PageText:
    lines = found[0] if found else []
    return PageText(file, number, list(_paragraphs(lines, fields)), not lines)


def _paragraphs(lines: Sequence[Line], fields: Sequence[Field]) -> Iterator[list[Piece]]:
    """Lines joined to paragraphs; a field stands in the line beside which it is, else between those around it."""
    waiting = sorted(fields, key=lambda field: (field.y + field.h / 2, field.x))
    paragraph: list[Piece] = []
    for line in lines:
        above = [field for field in waiting if _middle(field) < line.top]
        beside = [field for field in waiting if line.top <= _middle(field) <= line.bottom]
        if line.begins or above:
            yield from _ended(paragraph)
            yield from ([Piece("", field)] for field in above)
            paragraph = []
        paragraph.append(Piece(line.text))
        paragraph += [Piece("", field) for field in beside]
        waiting = [field for field in waiting if field not in above and field not in beside]
    yield from _ended(paragraph)
    yield from ([Piece("", field)] for field in waiting)


def _ended(paragraph: list[Piece]) -> Iterator[list[Piece]]:
    if paragraph:
        yield paragraph


def _middle(field: Field) -> float:
    return field.y + field.h / 2


ROUTES: list[Any] = [read_as_text]
