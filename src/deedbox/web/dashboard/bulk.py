"""Bulk sends for people who are signed in: the list, and one with its bar, its rows, and what can be done with it."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import Stream as StreamedResponse
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.signing.action_context import ActionContext
from deedbox.signing.bulk import moves, results, store
from deedbox.signing.bulk.model import BulkSend, Row, RowStatus
from deedbox.signing.store import templates
from deedbox.signing.template import Template
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.blob_response import patiently
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go
from deedbox.web.http.query import QUERY

Done = Annotated[str, Meta(max_length=shared_limits.CURSOR_CHARS)]
KINDS = {"queued": "wait", "sending": "wait", "paused": "todo", "completed": "good", "canceled": "plain"}
"""How the state of a bulk send looks."""


class BulkListQuery(msgspec.Struct, frozen=True):
    cursor: Annotated[str, cursors.of("blk")] | UnsetType = UNSET
    done: Done = ""


class BulkQuery(msgspec.Struct, frozen=True):
    status: RowStatus | UnsetType = UNSET
    cursor: Annotated[str, cursors.number()] | UnsetType = UNSET
    done: Done = ""


class RowsQuery(msgspec.Struct, frozen=True):
    status: RowStatus | UnsetType = UNSET


@get("/app/bulk", opt={**person("documents:read"), QUERY: BulkListQuery}, include_in_schema=False)
async def bulk_sends(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    workspace, before = here.caller.workspace_id, here.query.cursor or None
    found = await here.deedbox.db.read(lambda tx: store.page(tx, workspace, shared_limits.PAGE_DEFAULT + 1, before))
    shown, _, _, older = cursors.page(found, shared_limits.PAGE_DEFAULT, lambda one: one.id)
    return app_page(request, "dashboard/bulk/list.html", bulk_sends=shown, kinds=KINDS, older=older, begun=before)


@get("/app/bulk/{bulk_send_id:str}", opt={**person("documents:read"), QUERY: BulkQuery}, include_in_schema=False)
async def bulk_send(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[Any]:
    asked: BulkQuery = context.of(request).query
    return await _page(request, bulk_send_id, asked.status or None, int(asked.cursor or -1))


@get(
    "/app/bulk/{bulk_send_id:str}/rows.csv", opt={**person("documents:read"), QUERY: RowsQuery}, include_in_schema=False
)
async def rows_csv(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[Any]:
    """Every row, and what became of it."""
    here = context.of(request)
    workspace = here.caller.workspace_id
    await here.deedbox.db.read(lambda tx: moves.find(tx, workspace, bulk_send_id))
    pieces = results.written(here.deedbox.db, bulk_send_id, here.query.status or None)
    each, in_all = limits.DOWNLOAD_STALL_SECONDS, limits.DOWNLOAD_SECONDS
    headers = {"Content-Disposition": f'attachment; filename="{bulk_send_id}.csv"', "Content-Type": results.KIND}
    return StreamedResponse(patiently(here, pieces, each=each, in_all=in_all), headers=headers)


@post("/app/bulk/{bulk_send_id:str}/pause", opt=person("documents:send"), include_in_schema=False)
async def pause(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[Any]:
    return await _moved(request, bulk_send_id, moves.pause, "paused")


@post("/app/bulk/{bulk_send_id:str}/resume", opt=person("documents:send"), include_in_schema=False)
async def resume(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[Any]:
    return await _moved(request, bulk_send_id, moves.resume, "resumed")


@post("/app/bulk/{bulk_send_id:str}/cancel", opt=person("documents:send"), include_in_schema=False)
async def cancel(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[Any]:
    return await _moved(request, bulk_send_id, moves.cancel, "canceled")


@post("/app/bulk/{bulk_send_id:str}/retry", opt=person("documents:send"), include_in_schema=False)
async def retry(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[Any]:
    return await _moved(request, bulk_send_id, moves.retry, "retried")


async def _moved(
    request: AnyRequest, bulk_send_id: str, move: Callable[[ActionContext, BulkSend], BulkSend], done: str
) -> Response[Any]:
    here = context.of(request)

    def act(tx: Tx) -> None:
        with here.action(tx) as ctx:
            move(ctx, moves.find(tx, ctx.workspace_id, bulk_send_id))

    try:
        await here.deedbox.db.write(act)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, bulk_send_id, error=error)
    return go(f"/app/bulk/{bulk_send_id}?done={done}")


async def _page(
    request: AnyRequest,
    bulk_send_id: str,
    status: RowStatus | None = None,
    after: int = -1,
    error: ServiceError | None = None,
) -> Response[Any]:
    """The bulk send with some of its rows; ten thousand come a page at a time."""
    here = context.of(request)
    workspace = here.caller.workspace_id

    def look(tx: Tx) -> tuple[BulkSend, Template | None, list[Row]]:
        found = moves.find(tx, workspace, bulk_send_id)
        template = templates.find(tx, workspace, found.template_id, found.template_version)
        return found, template, store.rows(tx, found.id, status, after, shared_limits.PAGE_DEFAULT + 1)

    found, template, rows = await here.deedbox.db.read(look)
    shown, _, _, following = cursors.page(rows, shared_limits.PAGE_DEFAULT, lambda row: str(row.index))
    return app_page(
        request,
        "dashboard/bulk/one.html",
        error=error,
        address=f"/app/bulk/{bulk_send_id}",
        found=found,
        kinds=KINDS,
        made_from=template,
        rows=shown,
        only=status,
        following=following,
        begun=after >= 0,
    )


ROUTES: list[Any] = [bulk_sends, bulk_send, rows_csv, pause, resume, cancel, retry]
