"""The list of documents, by age, filtered and in pages."""

from typing import Annotated, Literal
from urllib.parse import parse_qsl, urlencode

import msgspec
from litestar import get
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.signing.model import Filter, Page, Status
from deedbox.signing.store import documents
from deedbox.web.api_v1.document_record import DocumentRecord, record
from deedbox.web.frame import context, moments, query
from deedbox.web.frame import cursor as cursors
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door


class DocumentPage(msgspec.Struct, frozen=True):
    documents: list[DocumentRecord]
    count: int
    has_more: bool
    next_cursor: str | None


Text = Annotated[str, Meta(min_length=1, max_length=limits.FILTER_CHARS, extra_json_schema=limits.NO_NUL)]
# As text: the framework's lax way would take a number for a time.
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class DocumentQuery(msgspec.Struct, frozen=True):
    status: Status | UnsetType = UNSET
    q: Text | UnsetType = UNSET
    packet_id: Text | UnsetType = UNSET
    bulk_send_id: Text | UnsetType = UNSET
    template_id: Text | UnsetType = UNSET
    external_id: Text | UnsetType = UNSET
    signer_email: Text | UnsetType = UNSET
    created_after: Moment | UnsetType = UNSET
    created_before: Moment | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT
    cursor: Annotated[str, cursors.meta("doc")] | UnsetType = UNSET
    order: Literal["asc", "desc"] = "desc"

    def filter(self) -> Filter:
        return Filter(
            status=self.status or None,
            q=self.q or None,
            packet_id=self.packet_id or None,
            bulk_send_id=self.bulk_send_id or None,
            template_id=self.template_id or None,
            external_id=self.external_id or None,
            signer_email=self.signer_email.lower() if self.signer_email else None,
            created_after=_instant("created_after", self.created_after),
            created_before=_instant("created_before", self.created_before),
        )


@get(
    "/api/v1/documents",
    opt={**door("documents:read"), query.QUERY: DocumentQuery},
    summary="List documents by age",
    tags=["documents"],
)
async def list_documents(request: AnyRequest) -> DocumentPage:
    here = context.of(request)
    asked: DocumentQuery = query.read(request)
    limit, newest_first = asked.limit, asked.order == "desc"
    cursor = None if asked.cursor is UNSET else asked.cursor
    cursors.check(cursor, "doc")
    workspace, wanted, part = here.caller.workspace_id, asked.filter(), Page(limit + 1, cursor, newest_first)
    found = await here.deedbox.db.read(lambda tx: documents.page(tx, workspace, wanted, part))
    archiving = here.deedbox.archive.is_on
    shown = [record(packet, document, archiving=archiving) for packet, document in found[:limit]]
    following = shown[-1].id if len(found) > limit else None
    if following:
        here.headers.append((b"link", _next_link(request, following).encode()))
    return DocumentPage(shown, len(shown), following is not None, following)


def _instant(name: str, text: str | UnsetType) -> str | None:
    moment = None if text is UNSET else moments.parsed(name, text)
    return instant(moment) if moment else None


def _next_link(request: AnyRequest, cursor: str) -> str:
    query = [(name, value) for name, value in parse_qsl(request.scope["query_string"].decode()) if name != "cursor"]
    return f'<{request.scope["path"]}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'


ROUTES = [list_documents]
