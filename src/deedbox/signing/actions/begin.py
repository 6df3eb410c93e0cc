"""Begin: a draft from its files alone, whose people and fields are drawn on the pages."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from deedbox.kernel.errors import BadRequest
from deedbox.signing.actions import create
from deedbox.signing.actions.convert import PaperMill
from deedbox.signing.actions.draw import draw_brought
from deedbox.signing.desk import Desk
from deedbox.signing.model import Packet
from deedbox.signing.new_document import NewDocument, NewFile
from deedbox.signing.paper import Original, Paper, PaperFile


@asynccontextmanager
async def prepared(
    mill: PaperMill, new: NewDocument, files: Sequence[NewFile]
) -> AsyncIterator[Callable[[Desk], Packet]]:
    """What makes the draft at a desk; RefusedFiles names every file that cannot be signed, also beside others that are
    converted later."""
    if not files:
        raise BadRequest("The document needs a file")
    originals = [Original(one.name, one.original.blob, one.password, new.signed_input, form=True) for one in files]
    if await mill.intake.takes_long(originals):
        await mill.intake.check_now(originals)
        yield lambda desk: create.create(desk, new, files, None, "dashboard")
        return
    async with mill.bare(originals) as (paper, brought):
        yield lambda desk: _begun(desk, new, files, paper, brought)


def _begun(
    desk: Desk, new: NewDocument, files: Sequence[NewFile], paper: Paper, brought: Sequence[PaperFile]
) -> Packet:
    packet = create.create(desk, new, files, paper, "dashboard")
    draw_brought(desk.tx, desk.workspace_id, packet.first.id, brought, desk.now)
    return packet
