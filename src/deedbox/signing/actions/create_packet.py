"""Create a packet: several documents for the same people, sent at once if that is asked for."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import msgspec

from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.errors import BadRequest
from deedbox.signing import sessions
from deedbox.signing.actions import convert, send
from deedbox.signing.actions.convert import PaperMill
from deedbox.signing.actions.create import laid, named_parties, new_packet
from deedbox.signing.desk import Desk, Office
from deedbox.signing.model import Packet
from deedbox.signing.new_document import NewDocument, NewFile, end_of
from deedbox.signing.new_packet import NewPacket
from deedbox.signing.paper import Original, Paper
from deedbox.signing.sessions import HashedCodes
from deedbox.signing.store import documents


class Sheet(NamedTuple):
    """One document of the packet on its way into it."""

    new: NewDocument
    asks_all: bool
    """Whether everyone signs on it, because its fields were not given."""
    files: Sequence[NewFile]
    paper: Paper | None = None
    """None until its files are converted."""


@asynccontextmanager
async def prepared(
    office: Office, mill: PaperMill, new: NewPacket, files: Sequence[Sequence[NewFile]]
) -> AsyncIterator[Callable[[Desk], Packet]]:
    """What creates the packet at a desk, once its files have been through the sandboxes; `files` are each document's.

    Word and HTML are converted later, by jobs: until the last of them the packet is `processing`."""
    sheets = [Sheet(new.document(one), one.fields is None, own) for one, own in zip(new.documents, files, strict=True)]
    # Before the files, which take longer to refuse.
    parties = named_parties(sheets[0].new)
    send.need_mail_for_codes(parties, office.notifier)
    end_of(new.expires_at, office.clock.now())
    codes = await sessions.hashed_codes(parties)
    async with AsyncExitStack() as held:
        made = [await _made(mill, sheet, held) for sheet in sheets]
        yield lambda desk: create_packet(desk, new, made, codes)


def create_packet(desk: Desk, new: NewPacket, sheets: Sequence[Sheet], codes: HashedCodes) -> Packet:
    """The packet, stored: a draft, sent if the request says so; what has no paper waits for its conversion."""
    draft = _packet(desk, new, sheets, codes)
    for document, sheet in zip(draft.documents, sheets, strict=True):
        if sheet.paper is not None:
            draft = laid(draft, document, sheet.paper, sheet.new, desk.now)
    sending = new.send and draft.status == "draft"
    after = send.as_sent(draft, desk.now) if sending else draft
    together = list(zip(after.documents, sheets, strict=True))
    for document, sheet in together:
        received = [file.original for file in sheet.files] + ([sheet.paper.pdf] if sheet.paper else [])
        blobs.adopt_all(desk.tx, received, document.id, desk.now)
    after = desk.add(after, {document.id: sheet.new.fields for document, sheet in together})
    for document, sheet in together:
        if sheet.new.values:
            documents.ask_values(desk.tx, document.id, sheet.new.values)
        detail = {"title": document.title, "files": [file.sha256 for file in document.files], "packet": after.id}
        desk.record(document, "document.created", detail)
        if sheet.paper is None:
            convert.plan(desk, document, send=new.send)
    if sending:
        send.announce(desk, draft, after)
    return after


def _packet(desk: Desk, new: NewPacket, sheets: Sequence[Sheet], codes: HashedCodes) -> Packet:
    """The packet without papers: its documents are made as if each were alone, for the people of the first."""
    alone = [new_packet(desk, sheet.new, sheet.files, "packet", codes) for sheet in sheets]
    whole = alone[0]
    return msgspec.structs.replace(
        whole,
        lone=False,
        title=new.title,
        external_id=new.external_id,
        metadata=dict(new.metadata),
        documents=[
            msgspec.structs.replace(one.first, packet_id=whole.id, asks_all=sheet.asks_all)
            for one, sheet in zip(alone, sheets, strict=True)
        ],
    )


async def _made(mill: PaperMill, sheet: Sheet, held: AsyncExitStack) -> Sheet:
    """The document with its paper, unless that takes long."""
    new = sheet.new
    originals = [Original(file.name, file.original.blob, file.password, new.signed_input) for file in sheet.files]
    if not originals:
        raise BadRequest(f"{new.title}: the document needs a file")
    if await mill.intake.takes_long(originals):
        return sheet
    signing = named_parties(new) if sheet.asks_all else []
    return sheet._replace(paper=await held.enter_async_context(mill.paper(originals, signing, new.fields)))
