"""How much a workspace sends, signs, asks and stores."""

import msgspec
from litestar import get
from msgspec import UNSET, UnsetType

from deedbox.usage import By, WorkspaceUsage, usage
from deedbox.web.http import context
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY


class UsageQuery(msgspec.Struct, frozen=True):
    by: By | UnsetType = UNSET
    """`day` for the last 30 days, as by default, or `month` for the last 12 months."""


@get(
    "/api/v1/usage",
    opt={**requires("workspace:read"), QUERY: UsageQuery},
    summary="Documents, times, queries and storage, by day or by month",
    tags=["workspace"],
)
async def show_usage(request: AnyRequest) -> WorkspaceUsage:
    here, now = context.of(request), context.of(request).deedbox.clock.now()
    by: By = here.query.by or "day"
    return await here.deedbox.db.read_aside(lambda tx: usage(tx, here.caller.workspace_id, by, now))


ROUTES = [show_usage]
