"""Deliveries of events to webhooks: what was sent, what came back, and once more."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel.db import Tx
from deedbox.web import limits
from deedbox.web.http import context, openapi
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.once import once
from deedbox.web.http.query import QUERY
from deedbox.webhooks import deliveries
from deedbox.webhooks.hook import Delivery, DeliveryDetail, DeliveryPart, DeliveryStatus


class DeliveryPage(msgspec.Struct, frozen=True):
    deliveries: list[Delivery]
    """The deliveries of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


class DeliveryQuery(PageQuery, frozen=True, kw_only=True):
    status: Annotated[tuple[DeliveryStatus, ...], Meta(max_length=limits.FILTER_VALUES)] = ()
    """Deliveries of this status; of several, if repeated."""
    cursor: Annotated[str, cursors.of("dlv")] | UnsetType = UNSET


@get(
    "/api/v1/deliveries",
    opt={**requires("hooks:read"), QUERY: DeliveryQuery},
    summary="The deliveries to all webhooks, newest first",
    tags=["hooks"],
)
async def list_all_deliveries(request: AnyRequest) -> DeliveryPage:
    return await _page(request, None)


@get(
    "/api/v1/hooks/{hook_id:str}/deliveries",
    opt={**requires("hooks:read"), QUERY: DeliveryQuery},
    summary="A webhook's deliveries, newest first",
    tags=["hooks"],
)
async def list_deliveries(request: AnyRequest, hook_id: FromPath[str]) -> DeliveryPage:
    return await _page(request, hook_id)


async def _page(request: AnyRequest, hook_id: str | None) -> DeliveryPage:
    here = context.of(request)
    asked: DeliveryQuery = here.query
    part = DeliveryPart(asked.limit + 1, asked.start, hook_id, asked.status)
    read = here.deedbox.db.read_aside if part.statuses else here.deedbox.db.read
    found = await read(lambda tx: deliveries.page(tx, here.caller.workspace_id, part))
    return DeliveryPage(*cursors.page(found, asked.limit, lambda delivery: delivery.id))


@get(
    "/api/v1/deliveries/{delivery_id:str}",
    opt=requires("hooks:read"),
    summary="One delivery, with each attempt's request and response",
    tags=["hooks"],
)
async def get_delivery(request: AnyRequest, delivery_id: FromPath[str]) -> DeliveryDetail:
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: deliveries.get(tx, here.caller.workspace_id, delivery_id))


@post(
    "/api/v1/deliveries/{delivery_id:str}/redeliver",
    opt={**requires("hooks:write"), openapi.MAKES: {"delivery_id": "/id"}},
    summary="Send the same event and bytes once more",
    tags=["hooks"],
    status_code=202,
)
async def redeliver(request: AnyRequest, delivery_id: FromPath[str]) -> Response[Delivery]:
    here = context.of(request)
    now = here.deedbox.clock.now()

    def again(tx: Tx) -> Delivery:
        return deliveries.redeliver(tx, here.caller.workspace_id, delivery_id, now=now)

    answer: Response[Any] = await once(request, again, status=202)
    return answer


ROUTES = [list_all_deliveries, list_deliveries, get_delivery, redeliver]
