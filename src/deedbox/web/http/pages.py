"""What every page for people shares: templates, tight headers, and where people go who are not signed in."""

import asyncio
import functools
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from litestar import Response
from litestar.datastructures import Cookie

from deedbox import i18n
from deedbox.i18n import dashboard, refusals
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import moment
from deedbox.kernel.errors import Conflict, ErrorCode, NotFound, ServiceError
from deedbox.web import limits
from deedbox.web.http import live
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.envelope import ErrorBody, envelope
from deedbox.web.http.head import Scope
from deedbox.web.http.navigation import bar_beside_refusal
from deedbox.web.http.static import script, static

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors {frames}; require-trusted-types-for 'script';"
    " trusted-types deedbox"
)
HEADERS = {
    "Content-Security-Policy": _POLICY.format(frames="'none'"),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_UNSAID = {"brand": None, "frames": (), "told": "", "standing": ""}
"""What every template may ask for."""


_SIGNER_HEADINGS = {401: "closed_over", 404: "closed_unknown", 409: "closed_used"}
"""What became of a signer's link, by the status of the refusal."""


def page(
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    request: AnyRequest | None = None,
    frames: Sequence[str] = (),
    **values: Any,
) -> Response[Any]:
    """An HTML page from a template, everything in it escaped; the sites in `frames` may show it within theirs.

    With the request, the header X-Part names the one block of the template that is asked for anew."""
    own = {**_headers(frames), **(headers or {})}
    if not template.startswith("signer/"):
        # Without a referrer a form says that it comes from nowhere (`Origin: null`), and over plain HTTP browsers tell
        # nothing else by which this site's own forms are known. A signer's page gives no referrer all the same.
        own["Referrer-Policy"] = "same-origin"
    if request is not None and live.PART in request.headers:
        return _part(request, template, status, own, {"frames": frames, **values})
    text = render(template, frames=frames, **values)
    return Response(text, status_code=status, headers=own, media_type="text/html")


def no_content(request: AnyRequest) -> Response[Any]:
    """Tells the browser that it has the part already, where `live.has` says so."""
    headers = {**HEADERS, "ETag": request.headers["if-none-match"]}
    return Response(None, status_code=304, headers=headers, media_type="text/html")


def _part(
    request: AnyRequest, template: str, status: int, headers: Mapping[str, str], values: Mapping[str, Any]
) -> Response[Any]:
    """The one block of the template that is asked for anew, unless the browser has it."""
    version = live.version(request, values)
    if live.is_had(request, version):
        return no_content(request)
    text = render(template, request.headers[live.PART], **values)
    told = {**headers, "ETag": live.etag(version, text)}
    if live.is_same(request, text):
        return Response(None, status_code=304, headers=told, media_type="text/html")
    return Response(text, status_code=status, headers=told, media_type="text/html")


async def long_page(parts: int, template: str, /, **values: Any) -> Response[Any]:
    """A page of so many parts; made beside the requests of others where they are many."""
    if parts <= limits.PAGE_PARTS_AT_ONCE:
        return page(template, **values)
    return await asyncio.to_thread(page, template, **values)


def _headers(frames: Sequence[str]) -> dict[str, str]:
    return HEADERS | ({"Content-Security-Policy": _POLICY.format(frames=" ".join(frames))} if frames else {})


def go(path: str, *cookies: Cookie) -> Response[None]:
    """See other: the browser gets `path` next."""
    return Response(
        None, status_code=303, headers={"Location": path, **HEADERS}, cookies=[*cookies], media_type="text/plain"
    )


def to_login() -> ErrorBody:
    """What the guard answers where nobody is signed in."""
    headers = {"Location": "/login", **HEADERS, "Content-Length": "0"}
    return ErrorBody(303, [(name.lower().encode(), value.encode()) for name, value in headers.items()], b"")


def refusal(scope: Scope, path: str, error: ServiceError) -> ErrorBody:
    """The error as a page where a browser asked for one, else in the envelope of the API.

    In the signer's language, once it is known who signs; else in the browser's."""
    here = scope["deedbox"]
    if here.language is not None:
        error.message = refusals.said(error, here.language)
    unknown = not scope["path_template"] and error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND)
    if here.door.opener == "key" and unknown and names_html(scope):
        error = NotFound("There is no such page")  # a browser has no key to show
    elif here.door.opener == "key" or not names_html(scope):
        return envelope(path, error)
    answer = envelope(path, error)
    body = _refusal_page(scope, path, error, answer.status).encode()
    own = {**_headers(here.frames), "Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
    if here.knows_person:
        own["Referrer-Policy"] = "same-origin"  # the bar holds a form
    ours = {name.lower().encode(): value.encode() for name, value in own.items()}
    return ErrorBody(answer.status, [*(one for one in answer.headers if one[0] not in ours), *ours.items()], body)


def _refusal_page(scope: Scope, path: str, error: ServiceError, status: int) -> str:
    here, said = scope["deedbox"], error.message
    if here.door.opener == "person" or path.startswith(("/login", "/logout", "/account", "/app", "/join")):
        if error.code is not ErrorCode.MISSING_SCOPE:  # which says itself what the role does not allow
            said = dashboard.WORDS.get(f"refused_{status}", said)
        return render("dashboard/refused.html", said=said, request_id=here.request_id, **bar_beside_refusal(here, path))
    language = here.language or _preferred_language(scope)
    t = i18n.of_use(language, "page")
    if path.startswith(("/s/", "/sign/")):
        # What has a sentence of its own in every language says more than its status.
        said = refusals.said(error, language) if error.sayings else t.get(f"refused_{status}", said)
        link = path.startswith("/s/") or status == HTTPStatus.UNAUTHORIZED
        heading = t[_SIGNER_HEADINGS.get(status, "refused") if link else "refused"]
        return render(
            "signer/refused.html",
            language=language,
            status=status,
            heading=heading,
            said=said,
            request_id=here.request_id,
            frames=here.frames,
            told="over",
        )
    said = t.get(f"refused_public_{status}", t.get(f"refused_{status}", said))
    return render("public/refused.html", language=language, said=said, request_id=here.request_id)


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
    return i18n.choose_language(wanted)


def render(template: str, part: str | None = None, /, **values: Any) -> str:
    """The text of a page, or of one block of it; Conflict if it has none of that name: it is another page by now.

    In its template `t` has the words of its language, and `written` tells a time in it."""
    language = i18n.known(str(values.get("language", i18n.DEFAULT)))
    known = {
        "language": language,
        "direction": i18n.direction(language),
        "t": dashboard.WORDS if template.startswith("dashboard/") else i18n.of_use(language, "page"),
        "written": lambda at: i18n.moment(language, moment(at)),
    }
    found, values = _templates().get_template(template), {**_UNSAID, **values, **known}
    if part is None:
        return str(found.render(**values))
    if part not in found.blocks:
        raise Conflict("This page has no such part. Load it again.")
    return "".join(found.blocks[part](found.new_context(values)))


@functools.cache
def _templates() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    class Words(Environment):
        """What stands in a table under a name goes before what Python's dict has of the same: `t.copy` is a word."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            if type(obj) is dict and attribute in obj:
                return obj[attribute]
            return super().getattr(obj, attribute)

    made = Words(loader=PackageLoader("deedbox.web"), autoescape=True, undefined=StrictUndefined)
    made.globals.update(static=static, script=script, limits=shared_limits)
    # A block that is rendered alone has no imports of its template's: the macros are at hand everywhere.
    made.globals["ui"] = made.get_template("macros.html").module
    return made
