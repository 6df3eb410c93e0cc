"""Begin: a draft from its files alone, whose people and fields are drawn on the pages."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from deedbox.kernel.errors import BadRequest
from deedbox.signing.action_context import Desk
from deedbox.signing.actions import create
from deedbox.signing.actions.convert import PaperMill
from deedbox.signing.actions.create_packet import Sheet, create_packet
from deedbox.signing.actions.draw import draw_brought
from deedbox.signing.model import Packet
from deedbox.signing.new_document import NewDocument, NewFile
from deedbox.signing.new_packet import NewPacket
from deedbox.signing.preparation import Original, Paper, PaperFile
from deedbox.signing.preparation.intake import RefusedFiles


class Bare(NamedTuple):
    """The paper of a document for nobody yet, and what its files bring along; no paper while they are converted."""

    paper: Paper | None = None
    brought: Sequence[PaperFile] = ()


@asynccontextmanager
async def prepared(
    mill: PaperMill, new: NewDocument, files: Sequence[NewFile]
) -> AsyncIterator[Callable[[Desk], Packet]]:
    """What makes the draft at a desk; RefusedFiles names every file that cannot be signed, also beside others that are
    converted later."""
    if not files:
        raise BadRequest("The document needs a file")
    async with AsyncExitStack() as held:
        made = await _bare(mill, files, held)

        def make(desk: Desk) -> Packet:
            return _begun(desk, create.create(desk, new, files, made.paper, "dashboard"), [made])

        yield make


@asynccontextmanager
async def prepared_packet(
    mill: PaperMill, new: NewPacket, files: Sequence[NewFile]
) -> AsyncIterator[Callable[[Desk], Packet]]:
    """As `prepared`, each file a document of its own that is sent with the others."""
    async with AsyncExitStack() as held:
        made, reasons = list[Bare](), dict[int, str]()
        for number, file in enumerate(files):
            try:
                made.append(await _bare(mill, [file], held))
            except RefusedFiles as error:
                reasons[number] = error.reasons[0]
            except BadRequest as error:
                reasons[number] = error.message
        if reasons:
            raise RefusedFiles([file.name for file in files], reasons)

        def make(desk: Desk) -> Packet:
            asked = zip(new.documents, files, made, strict=True)
            sheets = [Sheet(new.document(one), True, [file], bare.paper) for one, file, bare in asked]
            return _begun(desk, create_packet(desk, new, sheets, {}, "dashboard"), made)

        yield make


async def _bare(mill: PaperMill, files: Sequence[NewFile], held: AsyncExitStack) -> Bare:
    originals = [Original(one.name, one.original.blob, one.password, form=True) for one in files]
    if await mill.intake.takes_long(originals):
        await mill.intake.check_now(originals)
        return Bare()
    return Bare(*await held.enter_async_context(mill.bare(originals)))


def _begun(desk: Desk, packet: Packet, made: Sequence[Bare]) -> Packet:
    """The packet; what its files bring along stands in its sketch."""
    for document, bare in zip(packet.documents, made, strict=True):
        draw_brought(desk.tx, desk.workspace_id, document.id, bare.brought, desk.now)
    return packet
