"""Live parts of pages: one that is asked for anew is made only if something that it is made of is new.

Its ETag has two halves. The first stands for what the part is made of, and for the minute, since pages tell times as so
long ago: where it is the same, nothing is made. The second stands for the text: where only the minute is another, the
browser keeps what it has."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Response

from deedbox.kernel.clock import instant
from deedbox.web.http import context
from deedbox.web.http.context import AnyRequest

PART = "x-part"
_STANDING = "at:"
"""Before the state that a page shows, where a browser asks only whether that is still so."""
_NEW_EACH_TIME = ("once",)
"""Values that say nothing of what is shown: what keeps a form from being sent twice."""


def is_state_check(request: AnyRequest) -> bool:
    """Whether the browser asks only if the state that its page shows is still the state."""
    return request.headers.get(PART, "").startswith(_STANDING)


def still(request: AnyRequest, standing: str) -> Response[None]:
    """Not modified while the page's state lasts; then Gone, and the browser loads the page again."""
    same = request.headers[PART] == _STANDING + standing
    headers = {"Cache-Control": "no-store", "ETag": f'"{standing}"'}
    return Response(None, status_code=304 if same else 410, headers=headers, media_type="text/plain")


def has(request: AnyRequest, *facts: Any) -> bool:
    """Whether the browser has the part that it asks for, as these facts make it: the rest need not be read then."""
    here = context.of(request)
    here.version = _version(request, facts)
    return PART in request.headers and is_had(request, here.version or "")


def version(request: AnyRequest, values: Mapping[str, Any]) -> str:
    """What stands for the facts that the route has named, or else for all values of the page; empty if nothing can."""
    here = context.of(request)
    if here.version is None:
        told = {name: value for name, value in values.items() if name not in _NEW_EACH_TIME}
        here.version = _version(request, told)
    return here.version or ""


def is_had(request: AnyRequest, version: str) -> bool:
    """Whether the browser has the part of this version."""
    return version != "" and _had(request)[0] == version


def is_same(request: AnyRequest, text: str) -> bool:
    """Whether the browser has the part with this text."""
    return _had(request)[1] == _digest(text.encode())


def etag(version: str, text: str) -> str:
    return f'"{version}-{_digest(text.encode())}"'


def _had(request: AnyRequest) -> tuple[str, str]:
    facts, _, text = request.headers.get("if-none-match", "").strip('"').partition("-")
    return facts, text


def _version(request: AnyRequest, facts: Any) -> str | None:
    """None where something among the facts has no form of its own by which it could be known again."""
    here = context.of(request)
    scopes = sorted(here.caller.scopes) if here.knows_person else []
    place = (request.headers.get(PART), request.scope["path"], request.scope["query_string"], here.subject, scopes)
    try:
        return _digest(_encode((instant(here.deedbox.clock.now())[: len("2026-03-01T12:00")], place, facts)))
    except TypeError:
        return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if callable(value):
        return None  # the same code for every request; what it is given stands beside it
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be known again")


_encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode
