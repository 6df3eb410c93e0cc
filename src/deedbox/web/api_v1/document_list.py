"""The list of documents, by age, filtered and in pages."""

from typing import Annotated, Literal
from urllib.parse import parse_qsl, urlencode

import msgspec
from litestar import get
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.signing.model import Filter, PageRequest, Status
from deedbox.signing.store import document_list
from deedbox.web import limits
from deedbox.web.api_v1.document_record import DocumentRecord, record
from deedbox.web.http import context, timestamps
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY


class DocumentPage(msgspec.Struct, frozen=True):
    documents: list[DocumentRecord]
    """The documents of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


Text = Annotated[str, Meta(min_length=1, max_length=shared_limits.FILTER_CHARS, extra_json_schema=shared_limits.NO_NUL)]
# As text: the framework's lax way would take a number for a time.
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class DocumentQuery(PageQuery, frozen=True, kw_only=True):
    status: Annotated[tuple[Status, ...], Meta(max_length=limits.FILTER_VALUES)] = ()
    """Documents of this status; of several, if repeated."""
    q: Text | UnsetType = UNSET
    """Only documents whose title contains this."""
    packet_id: Text | UnsetType = UNSET
    """Only documents of this packet."""
    bulk_send_id: Text | UnsetType = UNSET
    """Only documents of this bulk send."""
    template_id: Text | UnsetType = UNSET
    """Only documents made from this template."""
    external_id: Text | UnsetType = UNSET
    """Only documents with this id of yours."""
    signer_email: Text | UnsetType = UNSET
    """Only documents with a signer of this address."""
    created_after: Moment | UnsetType = UNSET
    """Only documents made then or later."""
    created_before: Moment | UnsetType = UNSET
    """Only documents made earlier."""
    cursor: Annotated[str, cursors.of("doc")] | UnsetType = UNSET
    order: Literal["asc", "desc"] = "desc"
    """The newest first, or the oldest."""

    def filter(self) -> Filter:
        return Filter(
            statuses=self.status,
            q=self.q or None,
            packet_id=self.packet_id or None,
            bulk_send_id=self.bulk_send_id or None,
            template_id=self.template_id or None,
            external_id=self.external_id or None,
            signer_email=self.signer_email.lower() if self.signer_email else None,
            created_after=instant_of("created_after", self.created_after),
            created_before=instant_of("created_before", self.created_before),
        )


@get(
    "/api/v1/documents",
    opt={**requires("documents:read"), QUERY: DocumentQuery},
    summary="List documents by age",
    tags=["documents"],
)
async def list_documents(request: AnyRequest) -> DocumentPage:
    here = context.of(request)
    asked: DocumentQuery = here.query
    workspace, wanted = here.caller.workspace_id, asked.filter()
    part = PageRequest(asked.limit + 1, asked.start, newest_first=asked.order == "desc")
    read = here.deedbox.db.read_aside if wanted.q else here.deedbox.db.read
    found = await read(lambda tx: document_list.page(tx, workspace, wanted, part))
    shown, count, has_more, following = cursors.page(found, asked.limit, lambda one: one[1].id)
    archiving = here.deedbox.archive.is_on
    if following:
        here.headers.append((b"link", next_link(request, following).encode()))
    records = [record(packet, document, archiving=archiving) for packet, document in shown]
    return DocumentPage(records, count, has_more, following)


def instant_of(name: str, text: str | UnsetType) -> str | None:
    """The moment that a parameter gives, as records keep it; None if it gives none."""
    moment = None if text is UNSET else timestamps.parse(name, text)
    return instant(moment) if moment else None


def next_link(request: AnyRequest, following: str) -> str:
    """The header that leads to the following page."""
    query = [(name, value) for name, value in parse_qsl(request.scope["query_string"].decode()) if name != "cursor"]
    return f'<{request.scope["path"]}?{urlencode([*query, ("cursor", following)])}>; rel="next"'


ROUTES = [list_documents]
