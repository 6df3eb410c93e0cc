"""What was changed in the workspace itself, and by whom."""

from typing import Annotated

import msgspec
from litestar import get
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import admin_log, validation_errors
from deedbox.kernel.admin_log import Act, ActPart
from deedbox.web import limits
from deedbox.web.api_v1.document_list import Moment, instant_of
from deedbox.web.http import context
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY

ActName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z_]+(\.[a-z_]+)?$",
        max_length=limits.ACT_CHARS,
        extra={validation_errors.WORDS: "must be the name of a change, such as key.created, or of a kind, such as key"},
    ),
]


class ChangeQuery(PageQuery, frozen=True, kw_only=True):
    act: ActName | UnsetType = UNSET
    """Only changes of this name, such as `key.created`, or of all names of a kind, such as `key`."""
    since: Moment | UnsetType = UNSET
    """Only changes made then or later."""
    cursor: Annotated[str, cursors.of("act")] | UnsetType = UNSET


class ChangePage(msgspec.Struct, frozen=True):
    changes: list[Act]
    """The changes of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


@get(
    "/api/v1/changes",
    opt={**requires("workspace:read"), QUERY: ChangeQuery},
    summary="Who made or changed which key, webhook or member, newest first",
    tags=["workspace"],
)
async def list_changes(request: AnyRequest) -> ChangePage:
    here = context.of(request)
    asked: ChangeQuery = here.query
    part = ActPart(
        limit=asked.limit + 1, before=asked.start, act=asked.act or None, since=instant_of("since", asked.since)
    )
    read = here.deedbox.db.read_aside if part.act or part.since else here.deedbox.db.read
    found = await read(lambda tx: admin_log.page(tx, here.caller.workspace_id, part))
    return ChangePage(*cursors.page(found, asked.limit, lambda act: act.id))


ROUTES = [list_changes]
