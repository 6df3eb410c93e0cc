"""What there is to sign, as a file to be read or printed elsewhere; nothing of the signers stands on it."""

from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from deedbox.i18n.refusals import refusal
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.web.http import context
from deedbox.web.http.auth import SIGNER, requires
from deedbox.web.http.blob_response import file_response
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY
from deedbox.web.signer.inside import inside
from deedbox.web.signer.session import DownloadQuery


@get("/sign/{signer_id:str}/paper.pdf", opt={**requires(SIGNER), QUERY: DownloadQuery}, include_in_schema=False)
async def paper(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:  # noqa: ARG001
    """The document, or with `document` another one of the packet."""
    deedbox, who = context.of(request).deedbox, await inside(request)
    if not who.is_shown:
        raise refusal(Conflict, "pages_over")
    wanted = context.of(request).query.document or who.packet.first.id
    found = [one for one in who.packet.documents if one.id == wanted]
    if not found:
        raise NotFound("There is no such document")
    blob = await deedbox.db.read(lambda tx: blobs_store.demand(tx, found[0].paper_sha256 or ""))
    return await file_response(request, deedbox.blobs, blob, "application/pdf", f"{found[0].title}.pdf")


ROUTES: list[Any] = [paper]
