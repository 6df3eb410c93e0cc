"""Documents sent to be signed."""

from datetime import UTC, datetime
from typing import Annotated, Literal
from urllib.parse import urlencode

import msgspec
from litestar import Response, get
from litestar.params import Parameter
from msgspec import Meta

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import is_id
from deedbox.signing import documents
from deedbox.signing.document import Document, Status
from deedbox.web import context
from deedbox.web.context import AnyRequest
from deedbox.web.permission import scope


class DocumentPage(msgspec.Struct, frozen=True):
    documents: list[Document]
    count: int
    has_more: bool
    next_cursor: str | None


Text = Annotated[str | None, Parameter(min_length=1, max_length=limits.FILTER_CHARS)]
Moment = Annotated[datetime, Meta(tz=True)] | None


@get("/api/v1/documents", opt=scope("documents:read"), summary="List documents by age", tags=["documents"])
async def list_documents(
    request: AnyRequest,
    status: Status | None = None,
    q: Text = None,
    packet_id: Text = None,
    bulk_send_id: Text = None,
    template_id: Text = None,
    external_id: Text = None,
    created_after: Moment = None,
    created_before: Moment = None,
    limit: Annotated[int, Parameter(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT,
    cursor: Annotated[str | None, Parameter(max_length=limits.CURSOR_CHARS)] = None,
    order: Literal["asc", "desc"] = "desc",
) -> Response[DocumentPage]:
    here = context.of(request)
    if cursor is not None and not is_id(cursor, "doc"):
        raise BadRequest("cursor is not one that this list has given")
    wanted = documents.Filter(
        status=status,
        q=q,
        packet_id=packet_id,
        bulk_send_id=bulk_send_id,
        template_id=template_id,
        external_id=external_id,
        created_after=_instant(created_after),
        created_before=_instant(created_before),
    )
    workspace = here.caller.workspace_id
    found = await here.deedbox.db.read(
        lambda tx: documents.page(tx, workspace, wanted, limit=limit + 1, cursor=cursor, newest_first=order == "desc")
    )
    shown = found[:limit]
    following = shown[-1].id if len(found) > limit else None
    headers = {"Link": _next_link(request, following)} if following else {}
    return Response(DocumentPage(shown, len(shown), following is not None, following), headers=headers)


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else instant(moment.astimezone(UTC))


def _next_link(request: AnyRequest, cursor: str) -> str:
    query = [(name, value) for name, value in request.query_params.multi_items() if name != "cursor"]
    return f'<{request.url.path}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'


ROUTES = [list_documents]
