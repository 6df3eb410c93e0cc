"""Webhooks, by people: signed over the body alone, their secret shown once; how each does, and what was sent to it."""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import UNSET, UnsetType

from deedbox.i18n import dashboard
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, ServiceError
from deedbox.web import limits
from deedbox.web.dashboard.settings.form_actions import made_once
from deedbox.web.http import context, page_forms
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import beside, form_of, text
from deedbox.web.http.pages import go
from deedbox.web.http.query import QUERY
from deedbox.webhooks import catalogue, deliveries, hooks
from deedbox.webhooks.hook import (
    CreatedHook,
    Delivery,
    DeliveryPart,
    DeliveryStatus,
    Description,
    EventNames,
    Hook,
    HookChange,
    NewHook,
    TargetUrl,
)

PLACE = "/app/settings/hooks"
PRESETS = {
    "ends": ("document.completed", "document.declined", "document.voided", "document.expired", "document.failed"),
    "all": tuple(catalogue.KINDS),
}
"""What is ticked by one press."""
HOURS = ("1", "24", "168", "720")
"""How far back missed events are sent again; the last is as long as they are kept."""
SHOWN: dict[str, tuple[DeliveryStatus, ...]] = {
    "": (),
    "pending": ("pending", "sending"),
    "failed": ("failed",),
    "delivered": ("delivered",),
}
"""Which deliveries can be shown alone."""

CHECKS = {
    "body": """import hashlib, hmac, os

def is_from_deedbox(body: bytes, signature: str) -> bool:
    secret = os.environ["WEBHOOK_SECRET"].encode()
    expected = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, signature)""",
    "timestamped": """import hashlib, hmac, os

def is_from_deedbox(body: bytes, signature: str, timestamp: str) -> bool:
    secret = os.environ["WEBHOOK_SECRET"].encode()
    signed = timestamp.encode() + b"." + body
    expected = "sha256=" + hmac.new(secret, signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, signature)""",
}
"""How a receiver knows our deliveries, by the scheme of their signature."""


class HooksQuery(msgspec.Struct, frozen=True):
    cursor: Annotated[str, cursors.of("hook")] | UnsetType = UNSET
    done: str | UnsetType = UNSET


class HookPageQuery(msgspec.Struct, frozen=True):
    cursor: Annotated[str, cursors.of("dlv")] | UnsetType = UNSET
    status: Literal["", "pending", "failed", "delivered"] = ""
    done: str | UnsetType = UNSET


class HookForm(msgspec.Struct, frozen=True):
    """What a person fills in for a webhook."""

    target_url: TargetUrl
    events: EventNames
    description: Description | None = None


@get(PLACE, opt={**person("hooks:write"), QUERY: HooksQuery}, include_in_schema=False)
async def list_hooks(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    before, most = here.query.cursor or None, shared_limits.PAGE_DEFAULT
    found = await here.deedbox.db.read(
        lambda tx: hooks.page(tx, here.caller.workspace_id, limit=most + 1, cursor=before)
    )
    shown, _, _, older = cursors.page(found, most, lambda hook: hook.id)
    return app_page(
        request, "dashboard/settings/hooks.html", hooks=shown, older=older, paged=before, health=health, word_of=word_of
    )


@get(f"{PLACE}/new", opt=person("hooks:write"), include_in_schema=False)
async def new_hook(request: AnyRequest) -> Response[Any]:
    return _form(request)


@post(PLACE, opt=person("hooks:write"), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def make_hook(request: AnyRequest) -> Response[Any]:
    """The new webhook with its secret, in the answer to the form alone."""
    here, form = context.of(request), await form_of(request)
    now, box = here.deedbox.clock.now(), here.deedbox.box
    try:
        with page_forms.send_once(request, form) as sent:
            if before := await sent.before():
                return go(before)
            wanted = await _judged(request, form)
            new = NewHook(wanted.target_url, events=wanted.events, description=wanted.description)

            def make(tx: Tx) -> CreatedHook:
                return hooks.create(tx, box, here.caller, new, managed_by="dashboard", now=now)

            made, path = await made_once(sent, make, _page_of)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _form(request, error, form)
    secret = made[0].secret if made else None
    return secret_page(request, made[0].hook, secret) if secret else go(path)


@get(f"{PLACE}/{{hook_id:str}}", opt={**person("hooks:write"), QUERY: HookPageQuery}, include_in_schema=False)
async def show_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    asked: HookPageQuery = here.query
    most, now = shared_limits.PAGE_DEFAULT, here.deedbox.clock.now()
    part = DeliveryPart(most + 1, asked.cursor or None, hook_id, SHOWN[asked.status])

    def look(tx: Tx) -> tuple[Hook, list[Delivery], dict[str, int]]:
        found = deliveries.page(tx, here.caller.workspace_id, part)
        return hooks.get(tx, here.caller.workspace_id, hook_id), found, deliveries.durations(tx, found)

    hook, found, durations = await (here.deedbox.db.read_aside if asked.status else here.deedbox.db.read)(look)
    shown, _, _, older = cursors.page(found, most, lambda delivery: delivery.id)
    return app_page(
        request,
        "dashboard/settings/hook.html",
        hook=hook,
        host=host_of(hook),
        health=health,
        word_of=word_of,
        deliveries=shown,
        durations=durations,
        state_of=state_of,
        busy=any(deliveries.under_way(one, now) for one in shown),
        older=older,
        asked=asked,
        shown=SHOWN,
        hours=HOURS,
        once=page_forms.new_once(),
        overlap=shared_limits.WEBHOOK_ROTATION_HOURS,
        check=CHECKS[hook.signature_scheme],
    )


@get(f"{PLACE}/{{hook_id:str}}/change", opt=person("hooks:write"), include_in_schema=False)
async def changed_form(request: AnyRequest, hook_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    return _form(request, hook=await here.deedbox.db.read(lambda tx: hooks.get(tx, here.caller.workspace_id, hook_id)))


@post(
    f"{PLACE}/{{hook_id:str}}/change",
    opt=person("hooks:write"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def change_hook(request: AnyRequest, hook_id: FromPath[str]) -> Response[Any]:
    here, form = context.of(request), await form_of(request)
    now = here.deedbox.clock.now()
    hook = await here.deedbox.db.read(lambda tx: hooks.get(tx, here.caller.workspace_id, hook_id))
    try:
        wanted = await _judged(request, form)
        change = HookChange(wanted.target_url, wanted.events, wanted.description)
        await here.deedbox.db.write(lambda tx: hooks.change(tx, here.caller, hook_id, change, now=now))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _form(request, error, form, hook)
    return go(f"{PLACE}/{hook_id}?done=saved")


def secret_page(request: AnyRequest, hook: Hook, secret: Secret, effective_at: str | None = None) -> Response[Any]:
    """The page that shows a secret, once; `effective_at` where it follows another."""
    return app_page(
        request,
        "dashboard/settings/hook_secret.html",
        hook=hook,
        secret=secret.reveal(),
        effective_at=effective_at,
        overlap=shared_limits.WEBHOOK_ROTATION_HOURS,
        check=CHECKS[hook.signature_scheme],
    )


def health(hook: Hook) -> tuple[str, str]:
    """How the webhook does: the kind of its pill, and the name of its word."""
    if hook.status == "disabled":
        return "bad", "disabled"
    if hook.status == "paused":
        return "todo", "paused"
    if hook.consecutive_failures:
        return "bad", "failing"
    return ("good", "works") if hook.last_success_at else ("plain", "new")


def state_of(delivery: Delivery) -> tuple[str, str]:
    """How far the delivery is: the kind of its pill, and the name of its word."""
    if delivery.status == "pending":
        return ("bad", "retry") if delivery.attempts else ("wait", "pending")
    return {"sending": "wait", "delivered": "good", "failed": "bad"}[delivery.status], delivery.status


def word_of(event: str) -> str:
    """The event as the names of words have it."""
    return event.replace(".", "_")


def host_of(hook: Hook) -> str:
    return urlsplit(hook.target_url).hostname or hook.target_url


def _page_of(made: CreatedHook) -> str:
    return f"{PLACE}/{made.hook.id}" + ("" if made.secret else "?done=same")


async def _judged(request: AnyRequest, form: FormMultiDict) -> HookForm:
    """What was filled in, with an address that may be called."""
    try:
        wanted = page_forms.read_struct(form, HookForm)
    except page_forms.WrongForm as error:
        if "events" in error.wrong:
            error.wrong["events"] = dashboard.WORDS["hook_events_none"]
        raise
    with beside("target_url", BadRequest):
        await context.of(request).deedbox.egress.judge(wanted.target_url)
    return wanted


def _form(
    request: AnyRequest,
    error: ServiceError | None = None,
    form: FormMultiDict | None = None,
    hook: Hook | None = None,
) -> Response[Any]:
    typed: dict[str, Any] = {"target_url": "", "description": "", "events": []}
    if form is not None:
        ticked = [str(value) for name, value in form.multi_items() if name.startswith("events.")]
        typed = {name: text(form, name) for name in ("target_url", "description")} | {"events": ticked}
    elif hook is not None:
        typed = {"target_url": hook.target_url, "description": hook.description or "", "events": hook.events}
    return app_page(
        request,
        "dashboard/settings/hook_form.html",
        error=error,
        hook=hook,
        typed=typed,
        once=page_forms.new_once(),
        kinds=list(catalogue.KINDS),
        presets=PRESETS,
        word_of=word_of,
    )


ROUTES = [list_hooks, new_hook, make_hook, show_hook, changed_form, change_hook]
