"""The list of packets, by age, filtered and in pages."""

from typing import Annotated, Literal

import msgspec
from litestar import get
from msgspec import UNSET, Meta, UnsetType

from deedbox.signing.model import Filter, PageRequest, Status
from deedbox.signing.store import packet_list
from deedbox.web import limits
from deedbox.web.api_v1.document_list import Moment, Text, instant_of, next_link
from deedbox.web.api_v1.packet_record import PacketRecord, packet_record
from deedbox.web.http import context
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY


class PacketPage(msgspec.Struct, frozen=True):
    packets: list[PacketRecord]
    """The packets of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


class PacketQuery(PageQuery, frozen=True, kw_only=True):
    status: Annotated[tuple[Status, ...], Meta(max_length=limits.FILTER_VALUES)] = ()
    """Packets of this status; of several, if repeated."""
    q: Text | UnsetType = UNSET
    """Only packets whose title contains this."""
    external_id: Text | UnsetType = UNSET
    """Only packets with this id of yours."""
    created_after: Moment | UnsetType = UNSET
    """Only packets made then or later."""
    created_before: Moment | UnsetType = UNSET
    """Only packets made earlier."""
    cursor: Annotated[str, cursors.of("pkt")] | UnsetType = UNSET
    order: Literal["asc", "desc"] = "desc"
    """The newest first, or the oldest."""

    def filter(self) -> Filter:
        return Filter(
            statuses=self.status,
            q=self.q or None,
            external_id=self.external_id or None,
            created_after=instant_of("created_after", self.created_after),
            created_before=instant_of("created_before", self.created_before),
        )


@get(
    "/api/v1/packets",
    opt={**requires("documents:read"), QUERY: PacketQuery},
    summary="List packets by age",
    tags=["packets"],
)
async def list_packets(request: AnyRequest) -> PacketPage:
    here = context.of(request)
    asked: PacketQuery = here.query
    workspace, wanted = here.caller.workspace_id, asked.filter()
    part = PageRequest(asked.limit + 1, asked.start, newest_first=asked.order == "desc")
    read = here.deedbox.db.read_aside if wanted.q else here.deedbox.db.read
    found = await read(lambda tx: packet_list.page(tx, workspace, wanted, part))
    shown, count, has_more, following = cursors.page(found, asked.limit, lambda one: one.id)
    if following:
        here.headers.append((b"link", next_link(request, following).encode()))
    archiving = here.deedbox.archive.is_on
    return PacketPage([packet_record(one, archiving=archiving) for one in shown], count, has_more, following)


ROUTES = [list_packets]
