"""What people do with a webhook: test, pause, resume, rotate, recover, delete; each by a press, once."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from litestar import Response, post
from litestar.params import FromPath

from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.web import limits
from deedbox.web.dashboard.settings.form_actions import made_once, run_action
from deedbox.web.dashboard.settings.hooks import PLACE, secret_page
from deedbox.web.http import context, page_forms
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest, Context
from deedbox.web.http.page_forms import form_of
from deedbox.web.http.pages import go
from deedbox.webhooks import hooks
from deedbox.webhooks.hook import EventName, Rotated


class TestForm(msgspec.Struct, frozen=True):
    type: EventName | None = None


class RotateForm(msgspec.Struct, frozen=True):
    when: Literal["later", "now"] = "later"


class RecoverForm(msgspec.Struct, frozen=True):
    hours: Literal["1", "24", "168", "720"]


_FORM: dict[str, Any] = {
    "opt": person("hooks:write"),
    "include_in_schema": False,
    "request_max_body_size": limits.FORM_BYTES,
}


@post(f"{PLACE}/{{hook_id:str}}/test", **_FORM)
async def test_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Any]:
    kind = page_forms.read_struct(await form_of(request), TestForm).type

    def test(here: Context, tx: Tx, now: datetime) -> str:
        hooks.test(tx, here.caller.workspace_id, hook_id, kind, now=now)
        return "tested"

    return await _done(request, hook_id, test)


@post(f"{PLACE}/{{hook_id:str}}/pause", **_FORM)
async def pause_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Any]:
    def pause(here: Context, tx: Tx, now: datetime) -> str:
        hooks.pause(tx, here.caller, hook_id, now=now)
        return "paused"

    return await _done(request, hook_id, pause)


@post(f"{PLACE}/{{hook_id:str}}/resume", **_FORM)
async def resume_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Any]:
    def resume(here: Context, tx: Tx, now: datetime) -> str:
        hooks.resume(tx, here.caller, hook_id, now=now)
        return "resumed"

    return await _done(request, hook_id, resume)


@post(f"{PLACE}/{{hook_id:str}}/recover", **_FORM)
async def recover_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Any]:
    """Sends again what was missed: a part at a time, of which the page tells whether it was the last."""
    hours = int(page_forms.read_struct(await form_of(request), RecoverForm).hours)

    def recover(here: Context, tx: Tx, now: datetime) -> str:
        done = hooks.recover(tx, here.caller.workspace_id, hook_id, now - timedelta(hours=hours), now=now)
        return "more" if done.has_more else "recovered" if done.planned else "nothing"

    return await _done(request, hook_id, recover)


@post(f"{PLACE}/{{hook_id:str}}/delete", **_FORM)
async def delete_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    now = here.deedbox.clock.now()

    def delete(tx: Tx) -> str:
        hooks.delete(tx, here.caller, hook_id, now=now)
        return f"{PLACE}?done=deleted"

    return await run_action(request, delete)


@post(f"{PLACE}/{{hook_id:str}}/rotate", **_FORM)
async def rotate_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Any]:
    """The new secret, in the answer to the form alone."""
    here, form = context.of(request), await form_of(request)
    now, box, at_once = (
        here.deedbox.clock.now(),
        here.deedbox.box,
        page_forms.read_struct(form, RotateForm).when == "now",
    )

    def rotate(tx: Tx) -> Rotated:
        return hooks.rotate(tx, box, here.caller, hook_id, at_once=at_once, now=now)

    with page_forms.send_once(request, form) as sent:
        if before := await sent.before():
            return go(before)
        made, path = await made_once(sent, rotate, lambda _: f"{PLACE}/{hook_id}")
    if not made:
        return go(path)
    return secret_page(request, made[0].hook, made[0].secret, "" if at_once else instant(made[0].effective_at))


async def _done(request: AnyRequest, hook_id: str, act: Callable[[Context, Tx, datetime], str]) -> Response[Any]:
    """Does it once, and leads back to the webhook, which tells what was done."""
    here = context.of(request)
    now = here.deedbox.clock.now()
    return await run_action(request, lambda tx: f"{PLACE}/{hook_id}?done={act(here, tx, now)}")


ROUTES = [test_hook, pause_hook, resume_hook, recover_hook, delete_hook, rotate_hook]
