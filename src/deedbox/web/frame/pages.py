"""What every page for people shares: templates, tight headers, and where people go who are not signed in."""

import functools
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from litestar import Response
from litestar.datastructures import Cookie

from deedbox import words
from deedbox.kernel.clock import moment
from deedbox.kernel.errors import DeedboxError
from deedbox.web.frame.envelope import ErrorBody, envelope
from deedbox.web.frame.head import Scope
from deedbox.words import refusals

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
        render(template, **values),
        status_code=status,
        headers={**HEADERS, **(headers or {})},
        media_type="text/html",
    )


def go(path: str, *cookies: Cookie) -> Response[None]:
    """See other: the browser gets `path` next."""
    return Response(
        None, status_code=303, headers={"Location": path, **HEADERS}, cookies=[*cookies], media_type="text/plain"
    )


def to_login() -> ErrorBody:
    """What the guard answers where nobody is signed in."""
    headers = {"Location": "/login", **HEADERS, "Content-Length": "0"}
    return ErrorBody(303, [(name.lower().encode(), value.encode()) for name, value in headers.items()], b"")


def refusal(scope: Scope, path: str, error: DeedboxError) -> ErrorBody:
    """The error as a page where a signer's browser asked for one, else in the envelope of the API.

    In the signer's language, once it is known who signs."""
    language = scope["deedbox"].language
    if language is not None:
        error.message = refusals.said(error, language)
    answer = envelope(path, error)
    if not path.startswith(("/s/", "/sign/")) or not names_html(scope):
        return answer
    language = language or _preferred_language(scope)
    said = error.message
    # Within a session each conflict has its own sentence.
    if answer.status != HTTPStatus.CONFLICT or path.startswith("/s/"):
        said = words.of_use(language, "page").get(f"refused_{answer.status}", said)
    body = render("signer/refused.html", language=language, said=said, request_id=scope["deedbox"].request_id).encode()
    own = {**HEADERS, "Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    ours = {name.lower().encode(): value.encode() for name, value in own.items()}
    return ErrorBody(answer.status, [*(one for one in answer.headers if one[0] not in ours), *ours.items()], body)


def names_html(scope: Scope) -> bool:
    """Whether the request asks for a page by name, as browsers do; `*/*` does not."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept").lower()
    for kind, *parameters in (one.split(b";") for one in accepted.split(b",")):
        if kind.strip() == b"text/html":
            return not any(re.fullmatch(rb"\s*q\s*=\s*0(\.0*)?\s*", one) for one in parameters)
    return False


def _preferred_language(scope: Scope) -> str:
    """The language that the browser asks for, if there are words in it."""
    wanted = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept-language"), "")
    return words.preferred(wanted)


def render(template: str, **values: Any) -> str:
    """The text of a page; in its template `t` has the words of its language, and `written` tells a time in it."""
    language = words.known(str(values.get("language", words.DEFAULT)))
    known = {
        "language": language,
        "direction": words.direction(language),
        "t": words.of_use(language, "page"),
        "written": lambda at: words.moment(language, moment(at)),
    }
    return str(_templates().get_template(template).render(**{**values, **known}))


@functools.cache
def _templates() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(loader=PackageLoader("deedbox.web"), autoescape=True, undefined=StrictUndefined)
