"""What every page for people shares: templates, tight headers, and where people go who are not signed in."""

import functools
from collections.abc import Mapping
from typing import Any

from litestar import Response
from litestar.datastructures import Cookie

from deedbox.web.frame.envelope import ErrorBody

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def page(template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any) -> Response[str]:
    """An HTML page from a template, everything in it escaped."""
    return Response(
        _templates().get_template(template).render(**values),
        status_code=status,
        headers={**HEADERS, **(headers or {})},
        media_type="text/html",
    )


def go(path: str, cookie: Cookie | None = None) -> Response[None]:
    """See other: the browser gets `path` next."""
    cookies = [cookie] if cookie else []
    return Response(
        None, status_code=303, headers={"Location": path, **HEADERS}, cookies=cookies, media_type="text/plain"
    )


def to_login() -> ErrorBody:
    """What the guard answers where nobody is signed in."""
    headers = {"Location": "/login", **HEADERS, "Content-Length": "0"}
    return ErrorBody(303, [(name.lower().encode(), value.encode()) for name, value in headers.items()], b"")


@functools.cache
def _templates() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(loader=PackageLoader("deedbox.web"), autoescape=True, undefined=StrictUndefined)
