"""Bulk sends: one template, a document for each row; made, followed, paused, resumed, canceled and tried again."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from msgspec import UNSET, UnsetType

from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.signing.action_context import ActionContext
from deedbox.signing.bulk import accept, moves, store
from deedbox.signing.bulk.model import BulkSend, Counts, Flaw, Status
from deedbox.signing.model import Message, Reminders
from deedbox.web import limits
from deedbox.web.api_v1 import bulk_upload
from deedbox.web.api_v1.bulk_upload import NewBulkSendBody
from deedbox.web.http import context, multipart, once, openapi
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.body import READS
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY


class BulkSendRecord(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """The bulk send's id."""
    object: Literal["bulk_send"] = "bulk_send"
    name: str
    """What it is called; with its template, it tells it from all others."""
    template_id: str
    """The template of which its documents are made."""
    template_version: int
    """The version of the template: that of the first upload."""
    status: Status
    """Where it stands."""
    counts: Counts
    """How many rows stand where."""
    dry_run: bool = False
    """Always false: a dry run keeps nothing."""
    rows_per_minute: int | None
    """How many rows are sent in a minute at most; null: as fast as it goes."""
    title: str | None
    """What each document is called; null: as the template."""
    message: Message | None
    """What the invitations say; null: the template's words."""
    language: str | None
    """The language of rows that name none; null: the template's."""
    expires_at: str | None
    """When the documents can no longer be signed; null: as the template says."""
    reminders: Reminders | None
    """When people are reminded; null: as the template says."""
    require_timestamp: bool
    """Whether the documents are completed only with a time-stamp of an authority."""
    created_at: str
    """When it was made."""
    updated_at: str
    """When it last changed."""
    completed_at: str | None
    """When the last row was sent or had failed; null until then."""
    canceled_at: str | None
    """When it was canceled; null if it was not."""


class DryRun(msgspec.Struct, frozen=True, kw_only=True):
    """What came of checking every row; nothing was kept."""

    dry_run: Literal[True] = True
    total: int
    """All rows."""
    valid: int
    """Rows that can be sent."""
    invalid: int
    """Rows that cannot be sent."""
    errors: list[Flaw]
    """What is wrong with them, in their order."""


class BulkSendPage(msgspec.Struct, frozen=True):
    bulk_sends: list[BulkSendRecord]
    """The bulk sends of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


class BulkSendQuery(PageQuery, frozen=True, kw_only=True):
    cursor: Annotated[str, cursors.of("blk")] | UnsetType = UNSET


class _Made(BulkSendRecord, frozen=True, kw_only=True):
    """One that was not there before."""


_OTHERS = {
    "200": {
        "description": "The report of a dry run; or the bulk send that had this name and template before, with the rows"
        " that are new to it",
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [
                        {"$ref": "#/components/schemas/DryRun"},
                        {"$ref": "#/components/schemas/BulkSendRecord"},
                    ]
                },
                "example": {"dry_run": True, "total": 1, "valid": 1, "invalid": 0, "errors": []},
            }
        },
    }
}


@post(
    "/api/v1/bulk-sends",
    opt={
        **requires("documents:send"),
        READS: NewBulkSendBody,
        multipart.FORM: bulk_upload.WITH_FILE,
        openapi.ALSO: (404,),
        openapi.MAKES: {"bulk_send_id": "/id"},
        openapi.ANSWERS: _OTHERS,
        openapi.GIVES: [DryRun],
    },
    summary="Send a document to each of many people",
    tags=["bulk sends"],
    status_code=201,
    request_max_body_size=None,
)
async def create_bulk_send(request: AnyRequest) -> Response[BulkSendRecord]:
    """Every row is checked first: if one cannot be sent, none is. Rows that were sent before under the same name,
    template and key are not sent again."""
    here = context.of(request)
    with once.claim(request):
        async with bulk_upload.asked_for(request) as asked:
            if before := await once.given_before(request, asked.content):
                given: Response[Any] = before
                return given
            here.take_time(limits.BULK_CHECK_SECONDS)  # ten thousand rows take longer to check
            deedbox, workspace_id = here.deedbox, here.caller.workspace_id
            begun = await deedbox.db.read(lambda tx: accept.start(tx, deedbox.services, workspace_id, asked.new))
            report = await accept.check_rows(deedbox.services, deedbox.box, begun, asked.rows(begun.template))

            def act(tx: Tx) -> msgspec.Struct:
                if asked.new.dry_run:
                    return _dry_run(accept.compare(tx, begun, report))
                with here.action(tx) as ctx:
                    made = accept.accept(ctx, begun, report)
                return record(made, BulkSendRecord if begun.known else _Made)

            answer: Response[Any] = await once.claim_once(
                request, act, status=_status, content=asked.content, repeatable=asked.new.dry_run
            )
            return answer


@get(
    "/api/v1/bulk-sends",
    opt={**requires("documents:read"), QUERY: BulkSendQuery},
    summary="List bulk sends, newest first",
    tags=["bulk sends"],
)
async def list_bulk_sends(request: AnyRequest) -> BulkSendPage:
    here = context.of(request)
    workspace, asked = here.caller.workspace_id, here.query
    found = await here.deedbox.db.read(lambda tx: store.page(tx, workspace, asked.limit + 1, asked.start))
    shown, count, has_more, following = cursors.page(found, asked.limit, lambda one: one.id)
    return BulkSendPage([record(one) for one in shown], count, has_more, following)


@get(
    "/api/v1/bulk-sends/{bulk_send_id:str}",
    opt=requires("documents:read"),
    summary="One bulk send",
    tags=["bulk sends"],
)
async def show_bulk_send(request: AnyRequest, bulk_send_id: FromPath[str]) -> BulkSendRecord:
    here = context.of(request)
    workspace = here.caller.workspace_id
    return record(await here.deedbox.db.read(lambda tx: moves.find(tx, workspace, bulk_send_id)))


@post(
    "/api/v1/bulk-sends/{bulk_send_id:str}/pause",
    opt=requires("documents:send"),
    summary="Send no more rows until it is resumed",
    tags=["bulk sends"],
    status_code=200,
)
async def pause_bulk_send(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[BulkSendRecord]:
    return await _moved(request, bulk_send_id, moves.pause)


@post(
    "/api/v1/bulk-sends/{bulk_send_id:str}/resume",
    opt=requires("documents:send"),
    summary="Resume a paused bulk send",
    tags=["bulk sends"],
    status_code=200,
)
async def resume_bulk_send(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[BulkSendRecord]:
    return await _moved(request, bulk_send_id, moves.resume)


@post(
    "/api/v1/bulk-sends/{bulk_send_id:str}/cancel",
    opt=requires("documents:send"),
    summary="Never send the rows that wait",
    tags=["bulk sends"],
    status_code=200,
)
async def cancel_bulk_send(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[BulkSendRecord]:
    """What was sent stays sent: void those documents to take them back."""
    return await _moved(request, bulk_send_id, moves.cancel)


@post(
    "/api/v1/bulk-sends/{bulk_send_id:str}/retry",
    opt=requires("documents:send"),
    summary="Try the rows again that failed",
    tags=["bulk sends"],
    status_code=200,
)
async def retry_bulk_send(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[BulkSendRecord]:
    return await _moved(request, bulk_send_id, moves.retry)


async def _moved(
    request: AnyRequest, bulk_send_id: str, move: Callable[[ActionContext, BulkSend], BulkSend]
) -> Response[BulkSendRecord]:
    here = context.of(request)

    def act(tx: Tx) -> BulkSendRecord:
        with here.action(tx) as ctx:
            return record(move(ctx, moves.find(tx, ctx.workspace_id, bulk_send_id)))

    answer: Response[Any] = await once.once(request, act, status=200)
    return answer


def record(bulk_send: BulkSend, kind: type[BulkSendRecord] = BulkSendRecord) -> BulkSendRecord:
    """The bulk send as callers see it."""
    common = msgspec.structs.asdict(bulk_send.common)
    shown = {name: value for name, value in common.items() if name in kind.__struct_fields__}
    if bulk_send.common.expires_at is not None:
        shown["expires_at"] = instant(bulk_send.common.expires_at)
    own = [name for name in kind.__struct_fields__ if hasattr(bulk_send, name)]
    return kind(**shown, **{name: getattr(bulk_send, name) for name in own})


def _dry_run(report: accept.RowsReport) -> DryRun:
    valid = report.total - report.invalid
    return DryRun(total=report.total, valid=valid, invalid=report.invalid, errors=list(report.flaws))


def _status(made: msgspec.Struct) -> int:
    return 201 if isinstance(made, _Made) else 200


ROUTES = [
    create_bulk_send,
    list_bulk_sends,
    show_bulk_send,
    pause_bulk_send,
    resume_bulk_send,
    cancel_bulk_send,
    retry_bulk_send,
]
