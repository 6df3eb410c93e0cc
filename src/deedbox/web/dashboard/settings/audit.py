"""The changes of the workspace itself, and the way into its settings."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get
from msgspec import UNSET, UnsetType

from deedbox.kernel import admin_log, limits
from deedbox.kernel.admin_log import ActPart
from deedbox.web.http import context
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.navigation import SETTINGS
from deedbox.web.http.pages import go
from deedbox.web.http.query import QUERY

PLACE = "/app/settings/audit"
KINDS = ("", "key", "hook", "member", "workspace")
"""Of what changes can be shown alone; empty: of all."""


class ChangesQuery(msgspec.Struct, frozen=True):
    cursor: Annotated[str, cursors.of("act")] | UnsetType = UNSET
    kind: Literal["", "key", "hook", "member", "workspace"] = ""


@get("/app/settings", opt=person("workspace:write"), include_in_schema=False)
async def open_first_page(request: AnyRequest) -> Response[Any]:
    """The first page of settings that the role opens."""
    caller = context.of(request).caller
    return go(next(part.path for part in SETTINGS if caller.may(part.scope)))


@get(PLACE, opt={**person("workspace:write"), QUERY: ChangesQuery}, include_in_schema=False)
async def changes(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    asked: ChangesQuery = here.query
    before = asked.cursor or None
    part = ActPart(limit=limits.PAGE_DEFAULT + 1, before=before, act=asked.kind or None)
    read = here.deedbox.db.read_aside if part.act else here.deedbox.db.read
    found = await read(lambda tx: admin_log.page(tx, here.caller.workspace_id, part))
    shown, _, _, older = cursors.page(found, limits.PAGE_DEFAULT, lambda act: act.id)
    return app_page(
        request,
        "dashboard/settings/audit.html",
        changes=shown,
        older=older,
        paged=before,
        kind=asked.kind,
        kinds=KINDS,
    )


ROUTES = [open_first_page, changes]
