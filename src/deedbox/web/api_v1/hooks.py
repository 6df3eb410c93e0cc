"""Webhook subscriptions: made, shown, changed, deleted, and what can be done with them."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.web.http import context, openapi, timestamps, write_back
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.body import OPTIONAL_BODY
from deedbox.web.http.context import AnyRequest, Context
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.once import claim, claim_once, once
from deedbox.web.http.query import QUERY
from deedbox.web.http.write_back import WRITES
from deedbox.webhooks import hooks
from deedbox.webhooks.hook import Delivery, EventName, Hook, HookChange, NewHook, Recovery


class HookTest(msgspec.Struct, forbid_unknown_fields=True):
    type: EventName | None = None
    """Whose sample to send. Default: the hook's first."""


class HookRotation(msgspec.Struct, forbid_unknown_fields=True):
    at_once: bool = False
    """The new secret signs from now on, not in {WEBHOOK_ROTATION_HOURS} hours only."""


class HookRecovery(msgspec.Struct, forbid_unknown_fields=True):
    since: Annotated[datetime, Meta(tz=True)]
    """Events from then on; within the last {WEBHOOK_KEEP_DAYS} days."""


class MadeHook(Hook, frozen=True, kw_only=True):
    secret: str | None
    """Signs deliveries. Shown only here; null in the answer to a repeated Idempotency-Key."""


class RotatedHook(MadeHook, frozen=True, kw_only=True):
    effective_at: str
    """When the new secret takes over."""


class HookQuery(PageQuery, frozen=True, kw_only=True):
    cursor: Annotated[str, cursors.of("hook")] | UnsetType = UNSET


class HookPage(msgspec.Struct, frozen=True):
    hooks: list[Hook]
    """The webhooks of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


async def _refusal(here: Context, url: str) -> BadRequest | None:
    """Why the URL may not be called; to be raised only if the request was not answered before."""
    try:
        await here.deedbox.egress.judge(url)
    except BadRequest as refused:
        return refused
    return None


@post(
    "/api/v1/hooks",
    opt={
        **requires("hooks:write"),
        openapi.MAKES: {"hook_id": "/id"},
        openapi.ANSWERS: {
            "200": {
                "description": "There was one with this target and these events; its secret is not shown again",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Hook"}}},
            }
        },
    },
    summary="Subscribe a webhook; its deliveries are timestamped",
    tags=["hooks"],
    status_code=201,
)
async def create_hook(request: AnyRequest, data: JSONBody[NewHook]) -> Response[MadeHook]:
    here = context.of(request)
    now = here.deedbox.clock.now()

    def make(tx: Tx) -> Hook:
        if refusal is not None:
            raise refusal
        made = hooks.create(tx, here.deedbox.box, here.caller, data, managed_by="api", now=now)
        if made.secret is None:
            return made.hook
        return MadeHook(**msgspec.structs.asdict(made.hook), secret=made.secret.reveal())

    with claim(request):
        refusal = await _refusal(here, data.target_url)
        content = await request.body()
        answer: Response[Any] = await claim_once(
            request, make, status=_made_status, content=content, shown_once="secret"
        )
    return answer


def _made_status(made: msgspec.Struct) -> int:
    return 201 if isinstance(made, MadeHook) else 200


@get(
    "/api/v1/hooks",
    opt={**requires("hooks:read"), QUERY: HookQuery},
    summary="List webhooks, newest first",
    tags=["hooks"],
)
async def list_hooks(request: AnyRequest) -> HookPage:
    here = context.of(request)
    workspace, asked = here.caller.workspace_id, here.query
    found = await here.deedbox.db.read(lambda tx: hooks.page(tx, workspace, limit=asked.limit + 1, cursor=asked.start))
    return HookPage(*cursors.page(found, asked.limit, lambda hook: hook.id))


@get("/api/v1/hooks/{hook_id:str}", opt=requires("hooks:read"), summary="One webhook", tags=["hooks"])
async def get_hook(request: AnyRequest, hook_id: FromPath[str]) -> Hook:
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: hooks.get(tx, here.caller.workspace_id, hook_id))


@patch(
    "/api/v1/hooks/{hook_id:str}",
    opt={**requires("hooks:write"), WRITES: (HookChange, Hook)},
    summary="Change a webhook's target, events or description",
    tags=["hooks"],
)
async def change_hook(request: AnyRequest, hook_id: FromPath[str], data: JSONBody[dict[str, Any]]) -> Hook:
    here = context.of(request)
    write_back.check(data, HookChange, Hook)
    try:
        shown = await here.deedbox.db.read(lambda tx: hooks.get(tx, here.caller.workspace_id, hook_id))
    except NotFound:
        hooks.check(write_back.as_new(data, HookChange, Hook))
        raise
    wanted = write_back.changes(data, shown, HookChange)
    if wanted is None:
        return shown
    if wanted.target_url is not UNSET:
        await here.deedbox.egress.judge(wanted.target_url)
    now = here.deedbox.clock.now()
    return await here.deedbox.db.write(lambda tx: hooks.change(tx, here.caller, hook_id, wanted, now=now))


@delete("/api/v1/hooks/{hook_id:str}", opt=requires("hooks:write"), summary="Unsubscribe a webhook", tags=["hooks"])
async def delete_hook(request: AnyRequest, hook_id: FromPath[str]) -> None:
    here, now = context.of(request), context.of(request).deedbox.clock.now()
    await here.deedbox.db.write(lambda tx: hooks.delete(tx, here.caller, hook_id, now=now))


@post(
    "/api/v1/hooks/{hook_id:str}/test",
    opt={**requires("hooks:write"), OPTIONAL_BODY: HookTest, openapi.MAKES: {"delivery_id": "/id"}},
    summary="Send a webhook the sample of an event",
    tags=["hooks"],
    status_code=202,
)
async def test_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Delivery]:
    given: HookTest = context.of(request).body

    def send(here: Context, tx: Tx, now: datetime) -> Delivery:
        return hooks.test(tx, here.caller.workspace_id, hook_id, given.type, now=now)

    return await _done(request, send, status=202)


@post(
    "/api/v1/hooks/{hook_id:str}/rotate",
    opt={**requires("hooks:write"), OPTIONAL_BODY: HookRotation},
    summary="Give a webhook a new secret",
    tags=["hooks"],
    status_code=200,
)
async def rotate_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[RotatedHook]:
    given: HookRotation = context.of(request).body

    def rotate(here: Context, tx: Tx, now: datetime) -> RotatedHook:
        made = hooks.rotate(tx, here.deedbox.box, here.caller, hook_id, at_once=given.at_once, now=now)
        shown = msgspec.structs.asdict(made.hook)
        return RotatedHook(**shown, secret=made.secret.reveal(), effective_at=instant(made.effective_at))

    return await _done(request, rotate)


@post(
    "/api/v1/hooks/{hook_id:str}/pause",
    opt=requires("hooks:write"),
    summary="Hold a webhook's deliveries back",
    tags=["hooks"],
    status_code=200,
)
async def pause_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Hook]:
    def pause(here: Context, tx: Tx, now: datetime) -> Hook:
        return hooks.pause(tx, here.caller, hook_id, now=now)

    return await _done(request, pause)


@post(
    "/api/v1/hooks/{hook_id:str}/resume",
    opt=requires("hooks:write"),
    summary="Send to a webhook again that was paused or disabled",
    tags=["hooks"],
    status_code=200,
)
async def resume_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Hook]:
    def resume(here: Context, tx: Tx, now: datetime) -> Hook:
        return hooks.resume(tx, here.caller, hook_id, now=now)

    return await _done(request, resume)


@post(
    "/api/v1/hooks/{hook_id:str}/recover",
    opt=requires("hooks:write"),
    summary="Send a webhook again what never reached it since a time",
    tags=["hooks"],
    status_code=202,
)
async def recover_hook(request: AnyRequest, hook_id: FromPath[str], data: JSONBody[HookRecovery]) -> Response[Recovery]:
    since = timestamps.in_utc("since", data.since) or data.since

    def recover(here: Context, tx: Tx, now: datetime) -> Recovery:
        return hooks.recover(tx, here.caller.workspace_id, hook_id, since, now=now)

    return await _done(request, recover, status=202)


async def _done(
    request: AnyRequest, act: Callable[[Context, Tx, datetime], msgspec.Struct], *, status: int = 200
) -> Response[Any]:
    here = context.of(request)
    now = here.deedbox.clock.now()
    return await once(request, lambda tx: act(here, tx, now), status=status, shown_once="secret")


ROUTES = [
    create_hook,
    list_hooks,
    get_hook,
    change_hook,
    delete_hook,
    test_hook,
    rotate_hook,
    pause_hook,
    resume_hook,
    recover_hook,
]
