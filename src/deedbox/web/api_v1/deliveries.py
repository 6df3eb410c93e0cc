"""Deliveries of events to webhooks: what was sent, what came back, and once more."""

from typing import Annotated, Any, cast, get_args

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, QueryParameter

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.web.frame import context, openapi
from deedbox.web.frame import cursor as cursors
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door
from deedbox.web.frame.once import once
from deedbox.webhooks import deliveries
from deedbox.webhooks.hook import Delivery, DeliveryDetail, DeliveryStatus


class DeliveryPage(msgspec.Struct, frozen=True):
    deliveries: list[Delivery]
    """The deliveries of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


_STATUSES = list(get_args(DeliveryStatus))
# Text with a pattern, because the framework would take `null` for no value at all.
OneStatus = Annotated[
    str | None,
    QueryParameter(
        pattern=f"^({'|'.join(_STATUSES)})$", schema_extra={"enum": _STATUSES}, description="Only those of this status."
    ),
]


@get(
    "/api/v1/hooks/{hook_id:str}/deliveries",
    opt=door("hooks:read"),
    summary="A webhook's deliveries, newest first",
    tags=["hooks"],
)
async def list_deliveries(
    request: AnyRequest,
    hook_id: FromPath[str],
    status: OneStatus = None,
    limit: Annotated[
        int, QueryParameter(ge=1, le=limits.PAGE_MAX, description="How many on a page.")
    ] = limits.PAGE_DEFAULT,
    cursor: Annotated[str | None, cursors.parameter("dlv")] = None,
) -> DeliveryPage:
    here = context.of(request)
    cursors.check(cursor, "dlv")
    workspace, wanted = here.caller.workspace_id, cast(DeliveryStatus | None, status)
    found = await here.deedbox.db.read(
        lambda tx: deliveries.page(tx, workspace, hook_id, limit=limit + 1, cursor=cursor, status=wanted)
    )
    shown, more = found[:limit], len(found) > limit
    return DeliveryPage(shown, len(shown), more, shown[-1].id if more else None)


@get(
    "/api/v1/deliveries/{delivery_id:str}",
    opt=door("hooks:read"),
    summary="One delivery, with each attempt's request and response",
    tags=["hooks"],
)
async def get_delivery(request: AnyRequest, delivery_id: FromPath[str]) -> DeliveryDetail:
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: deliveries.get(tx, here.caller.workspace_id, delivery_id))


@post(
    "/api/v1/deliveries/{delivery_id:str}/redeliver",
    opt={**door("hooks:write"), openapi.MAKES: {"delivery_id": "/id"}},
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


ROUTES = [list_deliveries, get_delivery, redeliver]
