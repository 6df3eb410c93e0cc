"""A signer of a document or packet, corrected as long as they have not acted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from litestar import patch
from litestar.params import FromPath, JSONBody
from msgspec import UNSET

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.signing import parties, sessions
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions.correct import correct
from deedbox.signing.model import Packet
from deedbox.signing.new_document import SignerChange
from deedbox.web.api_v1.document_record import SignerRecord, signer_record
from deedbox.web.http import context, openapi, write_back
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.write_back import WRITES

_OPT: dict[str, Any] = {**requires("documents:send"), WRITES: (SignerChange, SignerRecord), openapi.ALSO: (409,)}


@patch(
    "/api/v1/documents/{document_id:str}/signers/{signer_id:str}",
    opt=_OPT,
    summary="Correct someone who has not acted",
    tags=["documents"],
)
async def correct_signer(
    request: AnyRequest, document_id: FromPath[str], signer_id: FromPath[str], data: JSONBody[dict[str, Any]]
) -> SignerRecord:
    """With another address, or another check of identity, links that were sent before die, and a new one is mailed.

    Tries at a code stay counted. The people of a packet are corrected at the packet."""
    write_back.check(data, SignerChange, SignerRecord)
    with _refused_first(data):
        seen = await context.of(request).packet_of(document_id)
    return await _corrected(request, seen, signer_id, data, lambda ctx: ctx.lone_packet_of(document_id))


@patch(
    "/api/v1/packets/{packet_id:str}/signers/{signer_id:str}",
    opt=_OPT,
    summary="Correct someone who has not acted",
    tags=["packets"],
)
async def correct_packet_signer(
    request: AnyRequest, packet_id: FromPath[str], signer_id: FromPath[str], data: JSONBody[dict[str, Any]]
) -> SignerRecord:
    """With another address, or another check of identity, links that were sent before die, and a new one is mailed.

    Tries at a code stay counted."""
    write_back.check(data, SignerChange, SignerRecord)
    with _refused_first(data):
        seen = await context.of(request).packet(packet_id)
    return await _corrected(request, seen, signer_id, data, lambda ctx: ctx.packet(packet_id))


@contextmanager
def _refused_first(data: dict[str, Any]) -> Iterator[None]:
    """What could be a correction of nobody is refused before it is said that there is nobody to correct."""
    try:
        yield
    except NotFound:
        write_back.as_new(data, SignerChange, SignerRecord).check()
        raise


async def _corrected(
    request: AnyRequest, seen: Packet, signer_id: str, data: dict[str, Any], found: Callable[[ActionContext], Packet]
) -> SignerRecord:
    here = context.of(request)
    with _refused_first(data):
        _, signer = parties.find_signer(seen, signer_id)
    shown = signer_record(signer)
    wanted = write_back.changes(data, shown, SignerChange)
    if wanted is None:
        return shown
    code_hash = await sessions.hashed_code(wanted.access_code) if wanted.access_code is not UNSET else None

    def act(tx: Tx) -> Packet:
        with here.action(tx) as ctx:
            return correct(ctx, found(ctx), signer_id, wanted, code_hash)

    _, right = parties.find_signer(await here.deedbox.db.write(act), signer_id)
    return signer_record(right)


ROUTES = [correct_signer, correct_packet_signer]
