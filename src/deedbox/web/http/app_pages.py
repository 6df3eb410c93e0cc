"""What every page of those who are signed in has: who they are, what they may do, and where they can go."""

import functools
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from litestar import Response

from deedbox import i18n
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel.clock import moment
from deedbox.kernel.errors import ServiceError
from deedbox.web.http import context
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.head import Scope
from deedbox.web.http.navigation import bar, bar_beside_refusal
from deedbox.web.http.pages import long_page, names_html, page

_NOW_SECONDS = 5
"""What is told as now: to count such seconds says nothing more."""


def app_page(
    request: AnyRequest,
    template: str,
    *,
    error: ServiceError | None = None,
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


def _told(request: AnyRequest, error: ServiceError | None, headers: Mapping[str, str] | None) -> dict[str, Any]:
    here = context.of(request)
    now = here.deedbox.clock.now()
    return {
        "status": error.status if error else 200,
        "headers": {**(error.headers if error else {}), **(headers or {})},
        "request": request,
        **bar(here),
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
    return i18n.ago(i18n.DEFAULT, moment(at), now)


def asks_for_page(request: AnyRequest) -> bool:
    """Whether a page is asked for; a script of a page, which says otherwise, gets the error alone."""
    return names_html(cast(Scope, request.scope))


def refusal_page(request: AnyRequest, error: ServiceError) -> Response[Any]:
    """The page that tells someone who is signed in what cannot be shown, and where to go on."""
    here = context.of(request)
    return page(
        "dashboard/refused.html",
        status=error.status,
        said=error.message,
        request_id=here.request_id,
        **bar_beside_refusal(here, request.scope["path"]),
    )
