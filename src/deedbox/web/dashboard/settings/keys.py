"""API keys, by people: made with scopes as sentences and shown once, renamed, revoked."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.accounts import keys, scopes, tiers
from deedbox.accounts.keys import CreatedKey, KeyChange, KeyRecord, NewKey
from deedbox.i18n import dashboard
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.web import limits
from deedbox.web.dashboard.settings.form_actions import made_once, run_action
from deedbox.web.http import context, page_forms
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import form_of, text
from deedbox.web.http.pages import go
from deedbox.web.http.query import QUERY

PLACE = "/app/settings/keys"

GROUPS = {
    "documents": tuple(one for one in scopes.SCOPES if one.startswith(("documents:", "verify:", "archive:"))),
    "search": scopes.SEARCH_SCOPES,
    "workspace": tuple(one for one in scopes.SCOPES if one.startswith(("workspace:", "hooks:", "keys:"))),
}
"""The scopes as the form shows them."""
PRESETS = {
    "read": ("documents:read", "verify:read", "archive:read", "search:read", "search:query", "workspace:read"),
    "send": ("documents:read", "documents:write", "documents:send", "documents:void", "verify:read"),
    "search": scopes.SEARCH_SCOPES,
    "all": ("*",),
}
"""What is ticked by one press."""
DAYS = ("", "7", "30", "90", "365")
"""How long a key may be made to work; empty: until it is revoked."""


class KeysQuery(msgspec.Struct, frozen=True):
    cursor: Annotated[str, cursors.of("key")] | UnsetType = UNSET
    done: str | UnsetType = UNSET


class KeyForm(msgspec.Struct, frozen=True):
    """What a person fills in for a new key."""

    name: keys.KeyName
    scopes: Annotated[list[keys.ScopeName], Meta(min_length=1, max_length=shared_limits.KEY_SCOPES)]
    tier: tiers.Tier = tiers.DEFAULT_TIER
    days: Literal["7", "30", "90", "365"] | None = None

    def new(self, now: datetime) -> NewKey:
        ends = now + timedelta(days=int(self.days)) if self.days else None
        return NewKey(self.name, self.scopes, self.tier, ends)


class KeyNameForm(msgspec.Struct, frozen=True):
    name: keys.KeyName


@get(PLACE, opt={**person("keys:write"), QUERY: KeysQuery}, include_in_schema=False)
async def list_keys(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    now, after = here.deedbox.clock.now(), here.query.cursor or None
    found = await here.deedbox.db.read(
        lambda tx: keys.page(tx, here.caller, limit=shared_limits.PAGE_DEFAULT + 1, after=after, now=now)
    )
    shown, _, _, older = cursors.page(found, shared_limits.PAGE_DEFAULT, lambda key: key.id)
    return app_page(request, "dashboard/settings/keys.html", keys=shown, older=older, paged=after, may_do=may_do)


@get(f"{PLACE}/new", opt=person("keys:write"), include_in_schema=False)
async def new_key(request: AnyRequest) -> Response[Any]:
    return _form(request)


@post(PLACE, opt=person("keys:write"), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def make_key(request: AnyRequest) -> Response[Any]:
    """The new key, in the answer to the form alone."""
    here, form = context.of(request), await form_of(request)
    now = here.deedbox.clock.now()
    try:
        with page_forms.send_once(request, form) as sent:
            if before := await sent.before():
                return go(before)
            new = _filled(form).new(now)

            def make(tx: Tx) -> CreatedKey:
                return keys.create(tx, here.caller, new, now=now)

            made, path = await made_once(sent, make, _page_of)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _form(request, error, form)
    return _made(request, made[0]) if made else go(path)


@get(f"{PLACE}/{{key_id:str}}", opt=person("keys:write"), include_in_schema=False)
async def show_key(request: AnyRequest, key_id: FromPath[str]) -> Response[Any]:
    return await _shown(request, key_id)


@post(
    f"{PLACE}/{{key_id:str}}",
    opt=person("keys:write"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def rename_key(request: AnyRequest, key_id: FromPath[str]) -> Response[Any]:
    here, form = context.of(request), await form_of(request)
    now = here.deedbox.clock.now()
    try:
        wanted = KeyChange(name=page_forms.read_struct(form, KeyNameForm).name)
        await here.deedbox.db.write(lambda tx: keys.change(tx, here.caller, key_id, wanted, now=now))
    except page_forms.WrongForm as error:
        return await _shown(request, key_id, error, text(form, "name"))
    return go(f"{PLACE}/{key_id}?done=renamed")


@post(f"{PLACE}/{{key_id:str}}/revoke", opt=person("keys:write"), include_in_schema=False)
async def revoke_key(request: AnyRequest, key_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    now = here.deedbox.clock.now()

    def end(tx: Tx) -> str:
        keys.revoke(tx, here.caller, key_id, now=now)
        return f"{PLACE}/{key_id}?done=revoked"

    return await run_action(request, end)


def _page_of(made: CreatedKey) -> str:
    return f"{PLACE}/{made.record.id}"


def may_do(key: KeyRecord) -> str:
    """What the key may do, in few words."""
    words = [dashboard.WORDS[f"scope_{word_of(scope)}"] for scope in key.scopes]
    if len(words) <= 3:
        return ", ".join(words)
    return dashboard.WORDS["key_more"].format(scopes=", ".join(words[:2]), count=len(words) - 2)


def word_of(scope: str) -> str:
    """The scope as the names of words have it."""
    return scope.replace(":", "_").replace("*", "all")


def _filled(form: FormMultiDict) -> KeyForm:
    try:
        return page_forms.read_struct(form, KeyForm)
    except page_forms.WrongForm as error:
        if "scopes" in error.wrong:
            error.wrong["scopes"] = dashboard.WORDS["key_scopes_none"]
        raise


def _form(request: AnyRequest, error: ServiceError | None = None, form: FormMultiDict | None = None) -> Response[Any]:
    ticked = [str(value) for name, value in form.multi_items() if name.startswith("scopes.")] if form else []
    typed = {"name": text(form, "name"), "tier": text(form, "tier"), "days": text(form, "days")} if form else {}
    return app_page(
        request,
        "dashboard/settings/new_key.html",
        error=error,
        once=page_forms.new_once(),
        typed={"name": "", "tier": tiers.DEFAULT_TIER, "days": "", "scopes": ticked, **typed},
        groups=GROUPS,
        presets=PRESETS,
        tiers=tiers.TIERS,
        days=DAYS,
        word_of=word_of,
    )


def _made(request: AnyRequest, made: CreatedKey) -> Response[Any]:
    return app_page(request, "dashboard/settings/made_key.html", key=made.record, plain=made.plain.reveal())


async def _shown(
    request: AnyRequest, key_id: str, error: ServiceError | None = None, name: str | None = None
) -> Response[Any]:
    here = context.of(request)
    now = here.deedbox.clock.now()
    key = await here.deedbox.db.read(lambda tx: keys.get(tx, here.caller, key_id, now=now))
    rate = key.rate_limit or tiers.TIERS[key.tier]
    return app_page(
        request,
        "dashboard/settings/key.html",
        error=error,
        key=key,
        rate=rate,
        typed=key.name if name is None else name,
        word_of=word_of,
        once=page_forms.new_once(),
    )


ROUTES = [list_keys, new_key, make_key, show_key, rename_key, revoke_key]
