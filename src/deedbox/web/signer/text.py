"""Read as text: what there is to sign, reflowed, with links to the signer's fields at their places."""

import asyncio
import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from litestar import Response, get
from litestar.params import FromPath

from deedbox.kernel import limits
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import instant
from deedbox.pdf.render.lines import TextLine, kept_pages
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions.view import view_text
from deedbox.signing.model import Document, DocumentFile, Field
from deedbox.signing.store import people
from deedbox.web.http import brand, context
from deedbox.web.http.auth import SIGNER, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go, page
from deedbox.web.signer import embedding, screens
from deedbox.web.signer.inside import Inside, circumstances, in_context, load_viewer, outcome
from deedbox.web.signer.sheet import SheetRow, others, sheet


class TextPiece(NamedTuple):
    """Words, or a field: one that is to be filled in here, unless something stands in it that is only read."""

    text: str
    field: Field | None = None


_Places: TypeAlias = Mapping[tuple[str, int], Sequence[TextPiece]]
"""The fields by their file and page."""


class ReadablePage(NamedTuple):
    file: DocumentFile
    number: int
    paragraphs: list[list[TextPiece]]
    is_picture: bool
    """There are no words on it."""


class DocumentText(NamedTuple):
    document: Document
    pages: list[ReadablePage]
    ends: tuple[DocumentFile, int] | None
    """The first page that is not read."""


@get("/sign/{signer_id:str}/text", opt=requires(SIGNER), include_in_schema=False)
async def read_as_text(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:
    """Every page's text; the signing page where there is nothing to show, which says why."""
    who = await load_viewer(request)
    if not who.is_shown:
        return go(f"/sign/{signer_id}")
    texts = [await _text(request, document) for document in who.packet.documents]
    places = await _places(request, who)
    known = {
        "language": who.signer.language,
        "brand": await brand.of(request, who.packet.workspace_id),
        "packet": who.packet,
        "signer": who.signer,
        "only_reads": who.only_reads,
        **embedding.shown(who),
        **screens.watch_context(request, who),
    }
    shown, hashes = await asyncio.to_thread(_shown, who, texts, places, known)
    await _noted(request, who, hashes)
    return shown


async def _text(request: AnyRequest, document: Document) -> bytes:
    deedbox = context.of(request).deedbox
    blob = await deedbox.db.read(lambda tx: blobs_store.demand(tx, document.paper_sha256 or ""))
    return await deedbox.pictures.text(blob)


def _shown(
    who: Inside, texts: Sequence[bytes], places: _Places, known: Mapping[str, Any]
) -> tuple[Response[Any], list[str]]:
    """The page, and the hash of each document's text; of long ones this takes its time."""
    pairs = zip(who.packet.documents, texts, strict=True)
    read = [_read(document, kept_pages(text), places) for document, text in pairs]
    return page("signer/text.html", texts=read, **known), [hashlib.sha256(text).hexdigest() for text in texts]


async def _noted(request: AnyRequest, who: Inside, hashes: Sequence[str]) -> None:
    """Notes that the text of each document was shown, once all of it can be."""
    token, seen = context.of(request).token, circumstances(request, who)

    def note(ctx: ActionContext) -> None:
        for document, shown in zip(who.packet.documents, hashes, strict=True):
            view_text(ctx, document, who.signer.id, token, shown, seen.address)

    await in_context(request, who, note)


async def _places(request: AnyRequest, who: Inside) -> _Places:
    """What the signer has to fill in, and what stands in all other fields, by file and page."""
    deedbox = context.of(request).deedbox
    now, places = deedbox.clock.now(), dict[tuple[str, int], list[TextPiece]]()
    open_yet = outcome(who.packet, who.signer, now) is None
    pieces = [TextPiece(one.said, one.field) for one in others(who, who.packet.documents, and_own=not open_yet)]
    if open_yet:
        kept = await deedbox.db.read(lambda tx: people.values_of(tx, who.signer.id))
        asked = sheet(who, kept, [], None, instant(now))
        pieces += [TextPiece("", field) for fields in asked.by_hand.values() for field in fields]
        pieces += [one for row in asked.rows if row.shown for one in _own(row)]
    for piece in pieces:
        if piece.field is not None:
            places.setdefault((piece.field.file_id, piece.field.page), []).append(piece)
    return places


def _own(row: SheetRow) -> Iterator[TextPiece]:
    """The field of the row, or each of its radio buttons; of one that is only read, what stands in it."""
    for one in row.choices or [row]:
        if not one.field.read_only:
            yield TextPiece("", one.field)
        elif one.field.type == "checkbox" or one.field.is_button:
            yield from [TextPiece("✓", one.field)] if one.value == "true" else []
        elif one.value:
            yield TextPiece(one.value, one.field)


def _read(document: Document, lines: Sequence[Sequence[TextLine]], places: _Places) -> DocumentText:
    """The pages that are read, each with the fields on it."""
    pages, before = list[ReadablePage](), 0
    for file in document.files:
        for number in range(1, file.pages + 1):
            at = before + number - 1
            if at >= min(len(lines), limits.READ_PAGES):
                return DocumentText(document, pages, (file, number))
            paragraphs = list(_paragraphs(lines[at], places.get((file.id, number), [])))
            pages.append(ReadablePage(file, number, paragraphs, not lines[at]))
        before += file.pages
    return DocumentText(document, pages, None)


def _paragraphs(lines: Sequence[TextLine], fields: Sequence[TextPiece]) -> Iterator[list[TextPiece]]:
    """Lines joined to paragraphs; a field stands in the line beside which it is, else between those around it."""
    waiting = sorted(fields, key=_place)
    middles, at = [_place(piece)[0] for piece in waiting], 0
    paragraph: list[TextPiece] = []
    for line in lines:
        above = bisect_left(middles, line.top, at)
        beside = bisect_right(middles, line.bottom, above)
        if line.begins or above > at:
            yield from _ended(paragraph)
            yield from ([piece] for piece in waiting[at:above])
            paragraph = []
        paragraph += [TextPiece(line.text), *waiting[above:beside]]
        at = beside
    yield from _ended(paragraph)
    yield from ([piece] for piece in waiting[at:])


def _ended(paragraph: list[TextPiece]) -> Iterator[list[TextPiece]]:
    if paragraph:
        yield paragraph


def _place(piece: TextPiece) -> tuple[float, float]:
    """The middle of its height, and where it begins."""
    field = piece.field
    return (field.y + field.h / 2, field.x) if field else (0.0, 0.0)


ROUTES: list[Any] = [read_as_text]
