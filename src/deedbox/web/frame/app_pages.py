"""What every page of those who are signed in has: who they are, what they may do, and where they can go."""

import functools
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, cast

from litestar import Response

from deedbox import words
from deedbox.kernel.clock import moment
from deedbox.kernel.errors import DeedboxError
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.head import Scope
from deedbox.web.frame.pages import long_page, names_html, page
from deedbox.words.dashboard import WORDS

_NOW_SECONDS = 5
"""What is told as now: to count such seconds says nothing more."""


class Part(NamedTuple):
    """A part of Deedbox, as the bar beside every page names it."""

    name: str
    """Its word, and what a template says it is `at`."""
    path: str
    icon: str
    scope: str


PARTS = (
    Part("documents", "/app/documents", "file", "documents:read"),
    Part("templates", "/app/templates", "copy", "documents:read"),
    Part("packets", "/app/packets", "packet", "documents:read"),
    Part("bulk", "/app/bulk", "people", "documents:read"),
    Part("search", "/app/search", "search", "search:query"),
    Part("library", "/app/library", "book", "search:read"),
    Part("mail", "/app/mail", "mail", "documents:send"),
    Part("usage", "/app/usage", "chart", "workspace:read"),
    Part("settings", "/app/settings", "gear", "workspace:write"),
)


SETTINGS = (
    Part("keys", "/app/settings/keys", "key", "keys:write"),
    Part("hooks", "/app/settings/hooks", "hook", "hooks:write"),
    Part("members", "/app/settings/members", "people", "workspace:write"),
    Part("branding", "/app/settings/branding", "pen", "workspace:write"),
    Part("sending", "/app/settings/mail", "mail", "workspace:write"),
    Part("archive", "/app/settings/archive", "packet", "workspace:write"),
    Part("certificates", "/app/settings/certificates", "seal", "workspace:write"),
    Part("limits", "/app/settings/limits", "chart", "workspace:write"),
    Part("audit", "/app/settings/audit", "clock", "workspace:write"),
)


def app_page(
    request: AnyRequest,
    template: str,
    *,
    error: DeedboxError | None = None,
    headers: Mapping[str, str] | None = None,
    address: str = "",
    **values: Any,
) -> Response[Any]:
    """A page for whoever is signed in; with an error it says so, and has its status.

    Where it can be shown in answer to a form that is sent elsewhere, it names its own address."""
    own = address if request.method == "POST" else ""
    return page(template, address=own, **_told(request, error, headers), **values)


async def long_app_page(request: AnyRequest, parts: int, template: str, **values: Any) -> Response[Any]:
    """The same for one of so many parts, made beside the requests of others where they are many."""
    return await long_page(parts, template, address="", **_told(request, None, None), **values)


def _told(request: AnyRequest, error: DeedboxError | None, headers: Mapping[str, str] | None) -> dict[str, Any]:
    here = context.of(request)
    caller, now = here.caller, here.deedbox.clock.now()
    return {
        "status": error.status if error else 200,
        "headers": {**(error.headers if error else {}), **(headers or {})},
        "request": request,
        "person": here.person,
        "may": caller.may,
        "parts": [part for part in PARTS if caller.may(part.scope)],
        "settings": [part for part in SETTINGS if caller.may(part.scope)],
        "base": base_address(request),
        "done": request.query_params.get("done", ""),
        "error": error.message if error and not getattr(error, "wrong", None) else "",
        "wrong": getattr(error, "wrong", {}),
        "ago": functools.partial(_ago, now),
    }


def base_address(request: AnyRequest) -> str:
    """Where programs reach this server, for the samples on the pages."""
    return context.of(request).deedbox.settings.base_url or str(request.base_url).rstrip("/")


def _ago(now: datetime, at: str) -> str:
    if abs((moment(at) - now).total_seconds()) < _NOW_SECONDS:
        return WORDS["just_now"]
    return words.ago(words.DEFAULT, moment(at), now)


def asks_for_page(request: AnyRequest) -> bool:
    """Whether a page is asked for; a script of a page, which says otherwise, gets the error alone."""
    return names_html(cast(Scope, request.scope))


def refused(request: AnyRequest, error: DeedboxError) -> Response[Any]:
    """The page that tells someone who is signed in what cannot be shown, and where to go on."""
    here = context.of(request)
    return page("dashboard/refused.html", status=error.status, said=error.message, request_id=here.request_id)
