"""The list of documents, by age, filtered and in pages."""

from typing import Annotated, Literal, cast, get_args
from urllib.parse import parse_qsl, urlencode

import msgspec
from litestar import get
from litestar.params import FromQuery, QueryParameter

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.signing.model import Filter, Page, Status
from deedbox.signing.store import documents
from deedbox.web.api_v1.document_record import DocumentRecord, record
from deedbox.web.frame import context, moments, openapi
from deedbox.web.frame import cursor as cursors
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.permission import scope


class DocumentPage(msgspec.Struct, frozen=True):
    documents: list[DocumentRecord]
    count: int
    has_more: bool
    next_cursor: str | None


Text = Annotated[
    str | None, QueryParameter(min_length=1, max_length=limits.FILTER_CHARS, schema_extra={"pattern": openapi.NO_NUL})
]
Moment = Annotated[str | None, QueryParameter(schema_extra={"format": "date-time"})]
# Text with a pattern, because the framework would take `null` for no value at all.
OneStatus = Annotated[
    str | None, QueryParameter(pattern=f"^({'|'.join(get_args(Status))})$", schema_extra={"enum": [*get_args(Status)]})
]


@get("/api/v1/documents", opt=scope("documents:read"), summary="List documents by age", tags=["documents"])
async def list_documents(
    request: AnyRequest,
    status: OneStatus = None,
    q: Text = None,
    packet_id: Text = None,
    bulk_send_id: Text = None,
    template_id: Text = None,
    external_id: Text = None,
    signer_email: Text = None,
    created_after: Moment = None,
    created_before: Moment = None,
    limit: Annotated[int, QueryParameter(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT,
    cursor: Annotated[str | None, cursors.parameter("doc")] = None,
    order: FromQuery[Literal["asc", "desc"]] = "desc",
) -> DocumentPage:
    here = context.of(request)
    cursors.check(cursor, "doc")
    wanted = Filter(
        status=cast(Status | None, status),
        q=q,
        packet_id=packet_id,
        bulk_send_id=bulk_send_id,
        template_id=template_id,
        external_id=external_id,
        signer_email=signer_email.lower() if signer_email else None,
        created_after=_instant("created_after", created_after),
        created_before=_instant("created_before", created_before),
    )
    workspace = here.caller.workspace_id
    part = Page(limit + 1, cursor, order == "desc")
    found = await here.deedbox.db.read(lambda tx: documents.page(tx, workspace, wanted, part))
    shown = [record(packet, document) for packet, document in found[:limit]]
    following = shown[-1].id if len(found) > limit else None
    if following:
        here.headers.append((b"link", _next_link(request, following).encode()))
    return DocumentPage(shown, len(shown), following is not None, following)


def _instant(name: str, text: str | None) -> str | None:
    moment = moments.parsed(name, text)
    return instant(moment) if moment else None


def _next_link(request: AnyRequest, cursor: str) -> str:
    query = [(name, value) for name, value in parse_qsl(request.scope["query_string"].decode()) if name != "cursor"]
    return f'<{request.scope["path"]}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'


ROUTES = [list_documents]
