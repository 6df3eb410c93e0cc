"""A signer of a document, corrected as long as they have not acted."""

from typing import Any

from litestar import patch
from litestar.params import FromPath, JSONBody
from msgspec import UNSET

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.signing import parties, sessions
from deedbox.signing.actions.correct import correct
from deedbox.signing.model import Packet
from deedbox.signing.new_document import SignerChange
from deedbox.web.api_v1.document_record import SignerRecord, signer_record
from deedbox.web.frame import context, openapi, write_back
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door
from deedbox.web.frame.write_back import WRITES


@patch(
    "/api/v1/documents/{document_id:str}/signers/{signer_id:str}",
    opt={**door("documents:send"), WRITES: (SignerChange, SignerRecord), openapi.ALSO: (409,)},
    summary="Correct someone who has not acted",
    tags=["documents"],
)
async def correct_signer(
    request: AnyRequest, document_id: FromPath[str], signer_id: FromPath[str], data: JSONBody[dict[str, Any]]
) -> SignerRecord:
    """With another address, or another check of identity, links that were sent before die, and a new one is mailed.

    Tries at a code stay counted."""
    here = context.of(request)
    write_back.check(data, SignerChange, SignerRecord)
    try:
        _, signer = parties.find_signer(await here.packet_of(document_id), signer_id)
    except NotFound:
        write_back.as_new(data, SignerChange, SignerRecord).check()
        raise
    shown = signer_record(signer)
    wanted = write_back.changes(data, shown, SignerChange)
    if wanted is None:
        return shown
    code_hash = await sessions.hashed_code(wanted.access_code) if wanted.access_code is not UNSET else None

    def act(tx: Tx) -> Packet:
        with here.desk(tx) as desk:
            return correct(desk, desk.packet_of(document_id), signer_id, wanted, code_hash)

    _, right = parties.find_signer(await here.deedbox.db.write(act), signer_id)
    return signer_record(right)


ROUTES = [correct_signer]
