"""What every page for people shares: templates, tight headers, the cookie, and the check against other sites."""

import functools
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from litestar import Response
from litestar.datastructures import Cookie

from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import Forbidden
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest

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


def session_cookie(request: AnyRequest, token: Secret | None) -> Cookie:
    """The login cookie, or, without a token, the one that removes it."""
    return Cookie(
        key=cookie_name(request),
        value=token.reveal() if token else "",
        max_age=limits.LOGIN_SESSION_DAYS * 86400 if token else 0,
        path="/",
        secure=is_https(request),
        httponly=True,
        samesite="lax",
    )


def cookie_name(request: AnyRequest) -> str:
    # Browsers take the __Host- prefix over TLS only.
    return "__Host-deedbox" if is_https(request) else "deedbox"


def refuse_other_sites(request: AnyRequest) -> None:
    """A form of another site must not act with this person's cookie."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        if site not in ("same-origin", "none"):
            raise Forbidden("This form was sent by another site")
        return
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Forbidden("This form was sent by another site")


def is_https(request: AnyRequest) -> bool:
    # What people reach by TLS stays so, whether or not the proxy that speaks it is believed.
    base_url = context.of(request).deedbox.settings.base_url or ""
    return request.scope["scheme"] == "https" or base_url.lower().startswith("https:")


@functools.cache
def _templates() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(loader=PackageLoader("deedbox.web"), autoescape=True, undefined=StrictUndefined)
