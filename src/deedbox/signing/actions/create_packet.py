"""Create a packet: several documents for the same people, sent at once if that is asked for."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from msgspec.structs import replace

from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.signing import sessions, states
from deedbox.signing.action_context import ActionContext, SigningServices
from deedbox.signing.actions import convert, send
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.actions.create import lay_out, made_file, named_parties, new_packet
from deedbox.signing.actions.create_from_template import (
    ReadyTemplate,
    as_request,
    creation_details,
    joined_metadata,
    ready,
)
from deedbox.signing.model import Document, DocumentFile, Packet, Source
from deedbox.signing.new_document import TITLE, NewDocument, NewFile, end_of
from deedbox.signing.new_packet import FIELDS_OF_TEMPLATE, NewPacket
from deedbox.signing.preparation import OriginalFile, PreparedDocument
from deedbox.signing.preparation.placing import laid_out
from deedbox.signing.sessions import HashedCodes
from deedbox.signing.store import documents


class PacketPart(NamedTuple):
    """One document of the packet on its way into it: files with their paper, or a template."""

    new: NewDocument
    asks_all: bool
    """Whether everyone signs on it, because its fields were not given."""
    files: Sequence[NewFile] = ()
    paper: PreparedDocument | None = None
    """None until its files are converted."""
    template_id: str | None = None
    template: ReadyTemplate | None = None
    """What is read of it in the transaction that makes the packet."""


@asynccontextmanager
async def prepare(
    services: SigningServices, preparation: DocumentPreparation, new: NewPacket, files: Sequence[Sequence[NewFile]]
) -> AsyncIterator[Callable[[ActionContext], Packet]]:
    """Yield what creates the packet, once the sandboxes have taken in its files; `files` are each document's.

    Word and HTML are converted later, by jobs: until the last of them the packet is `processing`."""
    sheets = [_sheet(new, number, own) for number, own in enumerate(files)]
    # Before the files, which take longer to refuse.
    parties = named_parties(sheets[0].new)
    send.need_mail_for_codes(parties, services.notifier)
    end_of(new.expires_at, services.clock.now())
    codes = await sessions.hashed_codes(parties)
    async with AsyncExitStack() as held:
        made = [await _made(preparation, sheet, held) for sheet in sheets]
        yield lambda ctx: create_packet(ctx, new, made, codes)


def create_packet(
    ctx: ActionContext, new: NewPacket, sheets: Sequence[PacketPart], codes: HashedCodes, source: Source = "packet"
) -> Packet:
    """The packet, stored: a draft, sent if the request says so; what has no paper waits for its conversion."""
    sheets = [_with_template(ctx, sheet) for sheet in sheets]
    draft = _packet(ctx, new, sheets, codes, source)
    for document, sheet in zip(draft.documents, sheets, strict=True):
        draft = _laid(ctx, draft, document, sheet)
    sending = new.send and draft.status == "draft"
    after = send.as_sent(draft, ctx.now) if sending else draft
    together = list(zip(after.documents, sheets, strict=True))
    for document, sheet in together:
        _hold_files(ctx, document, sheet)
    asked = {
        one.id: as_request(after, one, sheet.template) if sheet.template else sheet.new.fields
        for one, sheet in together
    }
    after = ctx.add(after, asked)
    for document, sheet in together:
        _begin(ctx, document, sheet, send=new.send)
    if sending:
        send.announce(ctx, draft, after)
    return after


def _sheet(new: NewPacket, number: int, files: Sequence[NewFile]) -> PacketPart:
    one = new.documents[number]
    wanted = new.document(one)
    if one.template_id is None:
        TITLE.check(one, f"documents[{number}]")
        if not files:
            raise BadRequest(f"{one.title}: the document needs a file, or a template_id")
        return PacketPart(wanted, one.fields is None, files)
    if files or not FIELDS_OF_TEMPLATE.is_met(one):
        raise BadRequest(f"{one.template_id}: the template says which files and fields the document has")
    return PacketPart(wanted, asks_all=False, template_id=one.template_id)


def _with_template(ctx: ActionContext, sheet: PacketPart) -> PacketPart:
    """The sheet, with what its template says."""
    if sheet.template_id is None:
        return sheet
    found = ready(ctx.tx, ctx.workspace_id, sheet.template_id)
    content = found.template.content
    new = replace(
        sheet.new,
        title=sheet.new.title or found.template.name,
        metadata=joined_metadata(content.metadata, sheet.new.metadata),
        signed_input=content.signed_input,
    )
    return sheet._replace(new=new, template=found)


def _packet(
    ctx: ActionContext, new: NewPacket, sheets: Sequence[PacketPart], codes: HashedCodes, source: Source
) -> Packet:
    """The packet without papers: its documents are made as if each were alone, for the people of the first."""
    alone = [new_packet(ctx, sheet.new, _files(ctx, sheet), source, codes) for sheet in sheets]
    whole = alone[0]
    return replace(
        whole,
        lone=False,
        title=new.title,
        external_id=new.external_id,
        metadata=dict(new.metadata),
        documents=[_document(one.first, whole.id, sheet) for one, sheet in zip(alone, sheets, strict=True)],
    )


def _files(ctx: ActionContext, sheet: PacketPart) -> list[DocumentFile]:
    if sheet.template is None:
        return [made_file(file, ctx.now) for file in sheet.files]
    return [replace(file, id=new_id("fil", ctx.now)) for file in sheet.template.template.content.files]


def _document(alone: Document, packet_id: str, sheet: PacketPart) -> Document:
    template = sheet.template.template if sheet.template else None
    return replace(
        alone,
        packet_id=packet_id,
        asks_all=sheet.asks_all,
        template_id=template.id if template else None,
        template_version=template.version if template else None,
    )


def _laid(ctx: ActionContext, packet: Packet, document: Document, sheet: PacketPart) -> Packet:
    """The packet with the document on its paper, if there is one."""
    if sheet.template is not None:
        return packet.with_document(_by_roles(ctx, packet, document, sheet.template, sheet.new.values))
    return lay_out(packet, document, sheet.paper, sheet.new, ctx.now) if sheet.paper else packet


def _by_roles(
    ctx: ActionContext, packet: Packet, document: Document, template: ReadyTemplate, values: dict[str, str]
) -> Document:
    """The document on its template's paper: whose party is a role signs it, and the others read it."""
    roles = [role.name for role in template.template.content.roles]
    theirs = replace(packet, parties=[party for party in packet.parties if party.name in roles])
    named = {party.name for party in theirs.parties}
    for name in roles:
        if name not in named:
            raise BadRequest(
                f"{template.template.name}: its role {name} is no party of the packet. Give a party this name, with its"
                " people."
            )
    draft = states.move(document, "lay_out", ctx.at, asks_all=True)
    made = laid_out(theirs, draft, template.paper, template.asked(ctx.now), ctx.now, values)
    return replace(made, asks_all=False)


def _hold_files(ctx: ActionContext, document: Document, sheet: PacketPart) -> None:
    if sheet.template is not None:
        blobs.share(ctx.tx, sheet.template.hashes, [document.id])
        return
    received = [file.original for file in sheet.files] + ([sheet.paper.pdf] if sheet.paper else [])
    blobs.adopt_all(ctx.tx, received, document.id, ctx.now)


def _begin(ctx: ActionContext, document: Document, sheet: PacketPart, *, send: bool) -> None:
    """The document's trail begins, and its conversion if it needs one."""
    if sheet.template is not None:
        ctx.record(document, "document.created", {**creation_details(document), "packet": document.packet_id})
        return
    if sheet.new.values:
        documents.ask_values(ctx.tx, document.id, sheet.new.values)
    hashes = [file.sha256 for file in document.files]
    detail = {"title": document.title, "files": hashes, "packet": document.packet_id}
    ctx.record(document, "document.created", detail)
    if sheet.paper is None:
        convert.plan(ctx, document, send=send)


async def _made(preparation: DocumentPreparation, sheet: PacketPart, held: AsyncExitStack) -> PacketPart:
    """The document with its paper, unless that takes long or is there."""
    new = sheet.new
    originals = [OriginalFile(file.name, file.original.blob, file.password, new.signed_input) for file in sheet.files]
    if not originals or await preparation.intake.takes_long(originals):
        return sheet
    signing = named_parties(new) if sheet.asks_all else []
    return sheet._replace(paper=await held.enter_async_context(preparation.paper(originals, signing, new.fields)))
