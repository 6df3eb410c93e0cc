"""Where people come in: the first run, else their documents."""

from typing import Any

from litestar import Response, get

from deedbox.web.dashboard.entry import has_login
from deedbox.web.http import context
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import PUBLIC, person, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go


@get("/", opt=requires(PUBLIC), include_in_schema=False)
async def front() -> Response[None]:
    return go("/app")


@get("/app", opt=person("documents:read"), include_in_schema=False)
async def inside(request: AnyRequest) -> Response[None]:
    """Whoever has no way to sign in again chooses one first."""
    return go("/app/documents" if has_login(context.of(request).person) else "/account")


@get("/app/welcome", opt=person("documents:read"), include_in_schema=False)
async def welcome(request: AnyRequest) -> Response[Any]:
    """What one can do here, as far as the role allows."""
    return app_page(request, "dashboard/welcome.html")


ROUTES: list[Any] = [front, inside, welcome]
