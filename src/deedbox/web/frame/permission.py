"""What each route demands of its caller. A route that declares nothing cannot be built into the app."""

import functools
import re
from typing import Any, TypeVar

import msgspec
from litestar import Litestar
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from litestar.routes import HTTPRoute

from deedbox.accounts.scopes import SCOPES
from deedbox.kernel.errors import BadRequest, UnsupportedMediaType
from deedbox.web.frame import context
from deedbox.web.frame.guard import Doors

T = TypeVar("T")
_ESCAPED_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""A NUL in JSON: `\\\\u0000`, with its backslash escaped, is six harmless characters."""

PUBLIC = "public"
"""Opens without a key; callers are counted by address."""
OPTIONAL_BODY = "optional_body"
"""The `opt` that names the kind of body that a route reads if one is sent."""
READS = "reads"
"""The `opt` that names the kind of JSON that a route reads by itself, beside a form."""
PROBE = "probe"
"""Opens without a key and is never counted: health and metrics."""


def scope(name: str) -> dict[str, Any]:
    """The `opt` of a route that needs this scope, or is PUBLIC or a PROBE."""
    if name not in SCOPES and name not in (PUBLIC, PROBE):
        raise ValueError(f"unknown scope {name}")
    return {"scope": name}


async def check(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Runs before a route reads its parameters: scope first, then what no route accepts."""
    needed = handler.opt.get("scope")
    if needed is not None and needed not in (PUBLIC, PROBE):
        context.of(connection).caller.need(needed)
    if b"%00" in connection.scope["query_string"] or "\0" in connection.scope["path"]:
        raise BadRequest("The address contains a NUL character")
    if isinstance(handler, HTTPRouteHandler) and "data" in handler.parsed_fn_signature.parameters:
        await _check_json(connection, handler.parsed_fn_signature.parameters["data"].annotation)
    if OPTIONAL_BODY in handler.opt and await connection.body():  # type: ignore[attr-defined]
        await _check_json(connection, handler.opt[OPTIONAL_BODY])


async def _check_json(connection: ASGIConnection[Any, Any, Any, Any], kind: Any) -> None:
    media_type = connection.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json":
        raise UnsupportedMediaType("Send the body as JSON with Content-Type: application/json")
    check_body(kind, await connection.body())  # type: ignore[attr-defined]


def check_body(kind: type[T], body: bytes) -> T:
    """What the body says; BadRequest unless it is JSON of this kind."""
    if not body:
        raise BadRequest("The body is missing: a JSON object is expected")
    if b"\\u0000" in body and _ESCAPED_NUL.search(body):
        raise BadRequest("The body contains a NUL character")
    return _fields(kind, body)


def _fields(kind: type[T], body: bytes) -> T:
    """Strictly, before the framework does it laxly: it takes "5" for a number and "null" for nothing."""
    try:
        try:
            found: T = _decoder(kind).decode(body)  # type: ignore[arg-type]
        except msgspec.ValidationError:
            found = msgspec.convert(_with_whole_numbers(msgspec.json.decode(body)), kind)
        return found
    except msgspec.ValidationError as error:
        raise BadRequest(_refusal(kind, body, error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("The body is not JSON in UTF-8, is cut short, or is nested too deeply") from error


def _refusal(kind: Any, body: bytes, error: msgspec.ValidationError) -> str:
    """What the kind of body says of such a mistake, if it has a word for it; else what and where the mistake is."""
    named: str | None = kind.refusal(msgspec.json.decode(body)) if hasattr(kind, "refusal") else None
    reason, _, place = str(error).partition(" - at `$")
    where = f"{place.strip('.`')}: " if place else ""
    return f"Invalid request. {named or where + reason}"


def _with_whole_numbers(value: Any) -> Any:
    """The value with 5 for 5.0, which is the same number in JSON."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _with_whole_numbers(inner) for name, inner in value.items()}
    return [_with_whole_numbers(inner) for inner in value] if isinstance(value, list) else value


@functools.lru_cache(maxsize=512)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def doors(app: Litestar) -> Doors:
    """The paths that open without a key, from the routes' own declarations."""
    paths, prefixes, probes = set(), set(), set()
    for path, handler in declared(app):
        need = handler.opt["scope"]
        if need == PROBE:
            probes.add(path)
        elif need == PUBLIC and "{" in path:
            prefixes.add(path.split("{")[0])
        elif need == PUBLIC:
            paths.add(path)
    return Doors(frozenset(paths), tuple(sorted(prefixes)), frozenset(probes))


def declared(app: Litestar) -> list[tuple[str, HTTPRouteHandler]]:
    """Every path with its handlers; raises for one without a declared scope."""
    found = []
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            raise TypeError(f"{route.path} is not an HTTP route")
        for handler in route.route_handlers:
            if handler.http_methods == {"OPTIONS"}:
                continue
            if "scope" not in handler.opt:
                raise TypeError(f"{handler.http_methods} {route.path} declares no scope")
            found.append((route.path_format, handler))
    return found
