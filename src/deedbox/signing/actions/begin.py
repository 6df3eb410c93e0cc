"""Begin: a draft from its files alone, whose people and fields are drawn on the pages."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from deedbox.kernel.errors import BadRequest
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import create
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.actions.create_packet import PacketPart, create_packet
from deedbox.signing.actions.draw import draw_brought
from deedbox.signing.model import Packet
from deedbox.signing.new_document import NewDocument, NewFile
from deedbox.signing.new_packet import NewPacket
from deedbox.signing.preparation import OriginalFile, PreparedDocument, PreparedDocumentFile
from deedbox.signing.preparation.intake import RefusedFiles


class Bare(NamedTuple):
    """The paper of a document for nobody yet, and what its files bring along; no paper while they are converted."""

    paper: PreparedDocument | None = None
    brought: Sequence[PreparedDocumentFile] = ()


@asynccontextmanager
async def prepare(
    preparation: DocumentPreparation, new: NewDocument, files: Sequence[NewFile]
) -> AsyncIterator[Callable[[ActionContext], Packet]]:
    """Yield what creates the draft; RefusedFiles names every file that cannot be signed, also next to others that are
    converted later."""
    if not files:
        raise BadRequest("The document needs a file")
    async with AsyncExitStack() as held:
        made = await _bare(preparation, files, held)

        def make(ctx: ActionContext) -> Packet:
            return _begun(ctx, create.create(ctx, new, files, made.paper, "dashboard"), [made])

        yield make


@asynccontextmanager
async def prepared_packet(
    preparation: DocumentPreparation, new: NewPacket, files: Sequence[NewFile]
) -> AsyncIterator[Callable[[ActionContext], Packet]]:
    """As `prepared`, each file a document of its own that is sent with the others."""
    async with AsyncExitStack() as held:
        made, reasons = list[Bare](), dict[int, str]()
        for number, file in enumerate(files):
            try:
                made.append(await _bare(preparation, [file], held))
            except RefusedFiles as error:
                reasons[number] = error.reasons[0]
            except BadRequest as error:
                reasons[number] = error.message
        if reasons:
            raise RefusedFiles([file.name for file in files], reasons)

        def make(ctx: ActionContext) -> Packet:
            asked = zip(new.documents, files, made, strict=True)
            sheets = [PacketPart(new.document(one), True, [file], bare.paper) for one, file, bare in asked]
            return _begun(ctx, create_packet(ctx, new, sheets, {}, "dashboard"), made)

        yield make


async def _bare(preparation: DocumentPreparation, files: Sequence[NewFile], held: AsyncExitStack) -> Bare:
    originals = [OriginalFile(one.name, one.original.blob, one.password, form=True) for one in files]
    if await preparation.intake.takes_long(originals):
        await preparation.intake.check_now(originals)
        return Bare()
    return Bare(*await held.enter_async_context(preparation.bare(originals)))


def _begun(ctx: ActionContext, packet: Packet, made: Sequence[Bare]) -> Packet:
    """The packet; what its files bring along stands in its sketch."""
    for document, bare in zip(packet.documents, made, strict=True):
        draw_brought(ctx.tx, ctx.workspace_id, document.id, bare.brought, ctx.now)
    return packet
