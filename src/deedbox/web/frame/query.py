"""The query parameters of a route, as one struct."""

from typing import Any

import msgspec

from deedbox.kernel.errors import BadRequest
from deedbox.web.frame import mistakes
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.described import schemas

QUERY = "query"
"""The `opt` that names the struct. What is left out is UNSET there: a parameter is never null."""


def read(request: AnyRequest) -> Any:
    """What the address asks for, as the struct that the route names; of one that is repeated, the last counts."""
    kind = request.route_handler.opt[QUERY]
    try:
        return msgspec.convert(dict(request.query_params.multi_items()), kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(mistakes.named(kind, error)) from error


def described(kind: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """The parameters as OpenAPI describes them."""
    schema = schemas([kind])[kind.__name__]
    return [_parameter(name, dict(each)) for name, each in schema["properties"].items()]


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    if "enum" in schema:
        schema["type"] = "string"  # msgspec leaves it out
    text = {"description": schema.pop("description")} if "description" in schema else {}
    return {"name": name, "in": "query", "required": False, **text, "schema": schema}
