"""The query parameters of a route, as one struct: read before the route, which takes no others."""

import functools
from typing import Any, cast
from urllib.parse import parse_qsl

import msgspec
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler
from msgspec import inspect

from deedbox.kernel import limits, validation_errors
from deedbox.kernel.errors import BadRequest
from deedbox.web.http import context
from deedbox.web.http.description.fields import schemas

QUERY = "query"
"""The `opt` that names the struct; a route without it takes none. What is left out is UNSET: never null."""


class NoQuery(msgspec.Struct, frozen=True):
    """Of a route that takes no query parameters."""


def decode(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Runs before every route, once its door is open: keeps in the context what the address asks for."""
    kind = handler.opt.get(QUERY)
    # Most pages for people, which the API's description leaves out, take no notice of what hangs on their addresses.
    if kind is not None or cast(HTTPRouteHandler, handler).resolve_include_in_schema():
        context.of(connection).query = parse_query(kind or NoQuery, connection.scope["query_string"])


def parse_query(kind: type[msgspec.Struct], query_string: bytes) -> Any:
    """What the address asks for; BadRequest for a parameter that there is not, or that is given twice for once."""
    known, given = _repeatable(kind), _given(query_string)
    for name, values in given.items():
        if name not in known:
            takes = f"It takes {', '.join(known)}" if known else "It takes none"
            raise BadRequest(f"{name[: limits.MISTAKE_CHARS]}: this route has no such query parameter. {takes}")
        if len(values) > 1 and not known[name]:
            raise BadRequest(f"{name}: given {len(values)} times, but it takes one value")
    try:
        return msgspec.convert(
            {name: values if known[name] else values[0] for name, values in given.items()}, kind, strict=False
        )
    except msgspec.ValidationError as error:
        raise BadRequest(validation_errors.describe(kind, error)) from error


def describe(kind: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """The parameters as OpenAPI describes them."""
    schema = schemas([kind])[kind.__name__]
    needed = schema.get("required", [])
    return [{**_parameter(name, dict(each)), "required": name in needed} for name, each in schema["properties"].items()]


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    for each in (schema, schema.get("items", {})):
        if "enum" in each:
            each["type"] = "string"  # msgspec leaves it out
    if schema.get("type") == "array":
        del schema["default"]  # which is none
    text = {"description": schema.pop("description")} if "description" in schema else {}
    return {"name": name, "in": "query", **text, "schema": schema}


def _given(query_string: bytes) -> dict[str, list[str]]:
    if not query_string:
        return {}
    try:
        pairs = parse_qsl(query_string.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        raise BadRequest("The query parameters are not text in UTF-8") from error
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    return given


@functools.lru_cache(maxsize=128)
def _repeatable(kind: type[msgspec.Struct]) -> dict[str, bool]:
    """The names of all parameters, and whether each may be given several times."""
    told = cast(inspect.StructType, inspect.type_info(kind))
    return {one.encode_name: _holds_several(one.type) for one in told.fields}


def _holds_several(told: inspect.Type) -> bool:
    return _holds_several(told.type) if isinstance(told, inspect.Metadata) else isinstance(told, inspect.VarTupleType)
