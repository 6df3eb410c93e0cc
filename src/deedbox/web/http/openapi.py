"""The OpenAPI 3.1 document: routes from the code, envelopes, headers and security added to each of them."""

import copy
import functools
import threading
from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin

from deedbox import VERSION
from deedbox.kernel import limits as shared_limits
from deedbox.web import limits
from deedbox.web.http import auth, multipart, options, query, write_back
from deedbox.web.http.auth import Requirement, list_routes
from deedbox.web.http.body import OPTIONAL_BODY, READS
from deedbox.web.http.description import examples, links
from deedbox.web.http.description import fields as described
from deedbox.web.http.envelope import is_openai, is_v1
from deedbox.web.http.write_back import WRITES

ALSO = "also"
"""The `opt` that names the errors of a route that others of its kind do not have."""
ANSWERS = "answers"
"""The `opt` that describes the answers of a route that gives no JSON: OpenAPI's response objects, by status."""
GIVES = "gives"
"""The `opt` that names the structs that a route answers with in other cases than the usual one."""
MAKES = "makes"
"""The `opt` that says which ids an answer gives: JSON pointers into it, by the name that paths have for the id."""
_ERRORS = {
    400: "Missing or invalid parameters",
    401: "Invalid, revoked or expired API key",
    403: "The key lacks the scope that the message names",
    404: "The resource does not exist",
    408: "Request took too long",
    409: "State or idempotency conflict",
    413: "The body is too large",
    415: "The body is not JSON",
    416: "No byte of the file lies in the Range asked for",
    429: "Too many requests; wait until X-RateLimit-Reset",
    500: "Server error",
    502: "Another server that is needed for the answer gave none that can be used",
    503: "Busy, stopping, or out of storage; try again after Retry-After",
}
_HEADERS = {
    "X-Request-Id": ("The request's id, also in the server's log", {"type": "string"}),
    "X-RateLimit-Limit": ("Allowed requests in the window", {"type": "integer", "minimum": 1}),
    "X-RateLimit-Remaining": ("Requests left in the window", {"type": "integer", "minimum": 0}),
    "X-RateLimit-Reset": ("Unix seconds at which the oldest counted request leaves", {"type": "integer"}),
}
_SECURITY = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key"},
    "signer": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-deedbox_signer_{signer_id}",
        "description": "The session of the signer whom the address names; opening the signing link gives it."
        " Without TLS, on loopback, its name has no `__Host-`.",
    },
}
"""The ways to open a door, by its opener."""
_TAGS = {
    "documents": "Documents sent to be signed: made, sent, followed, and fetched when they are sealed",
    "packets": "Several documents for the same people: one link, one consent, one act of signing",
    "templates": "Files, roles and fields of which documents are made, in versions",
    "bulk sends": "One template, a document for each row of a table",
    "signer": "What the signing page asks and tells, for one signer",
    "verification": "Whether a file is what was sealed here",
    "hooks": "Webhooks, their deliveries, and the events that they tell of",
    "keys": "API keys, and who the caller is",
    "workspace": "What the workspace tells of itself to those who get its documents",
    "mails": "The log of mails to signers and senders, without what they say",
    "search": "Documents to be searched: uploaded, indexed and queried",
    "embeddings": "Vectors of texts",
    "authority": "Timestamps, certificates and revocation lists",
    "operations": "For those who run the server",
}
_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": f"Makes a retry harmless: kept {shared_limits.IDEMPOTENCY_HOURS} hours.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": limits.IDEMPOTENCY_KEY_CHARS,
        "pattern": "^[!-~]([ -~]*[!-~])?$",
    },
}


class Description:
    """The document as it is served. The thread that needs it first builds it, once; the others wait."""

    def __init__(self, routes: Sequence[HTTPRouteHandler], server: str = "/") -> None:
        self._build = functools.partial(document, routes, server)
        self._lock = threading.Lock()
        self._encoded = b""

    @property
    def is_built(self) -> bool:
        return bool(self._encoded)

    def encoded(self) -> bytes:
        with self._lock:
            if not self._encoded:
                self._encoded = msgspec.json.encode(self._build())
        return self._encoded


def document(routes: Sequence[HTTPRouteHandler], server: str = "/") -> dict[str, Any]:
    """The description of every public route; `/` as the server means the one that gives the description."""
    config = OpenAPIConfig(title="Deedbox", version=VERSION, render_plugins=[JsonRenderPlugin()])
    # Without logging_config=None it would set up the whole process's log anew, in its own format and unredacted.
    app = Litestar(route_handlers=list(routes), openapi_config=config, logging_config=None)
    schema: dict[str, Any] = app.openapi_schema.to_schema()
    handlers = {
        (path, method.lower()): handler
        for path, handler in list_routes(_routed(routes))
        for method in handler.http_methods
        if handler.resolve_include_in_schema()
    }
    schemas = described.schemas(kind for handler in handlers.values() for kind in bodies(handler))
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            _add_written(operation, handlers[path, method], schemas)
            _describe(operation, path, method, handlers[path, method])
    samples = _show(schema["paths"], schemas)
    links.connect(
        schema["paths"], {handler.fn.__name__: handler.opt.get(MAKES, {}) for handler in handlers.values()}, samples
    )
    schema["servers"] = [{"url": server, "description": "This server"}]
    schema["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()]
    schema["components"] = {
        "schemas": {**schemas, **_envelopes()},
        "examples": {name: {"value": value} for name, value in samples.items()},
        "securitySchemes": _SECURITY,
        "headers": {
            name: {"description": text, "required": True, "schema": kind} for name, (text, kind) in _HEADERS.items()
        },
        "responses": _error_responses(),
    }
    return schema


def _describe(operation: dict[str, Any], path: str, method: str, handler: HTTPRouteHandler) -> None:
    """Adds what the framework does not know of a route."""
    operation["operationId"] = handler.fn.__name__
    operation["description"] = " ".join(filter(None, [_prose(handler.fn.__doc__), _need(auth.of(handler))]))
    _add_optional_body(operation, handler)
    _add_form(operation, handler)
    _add_query(operation, handler)
    operation["responses"].update(copy.deepcopy(handler.opt.get(ANSWERS, {})))
    _complete(operation, path, method, auth.of(handler))
    for status in handler.opt.get(ALSO, ()):
        operation["responses"][str(status)] = {"$ref": f"#/components/responses/{_name(path)}{status}"}


def _prose(docstring: str | None) -> str:
    return " ".join((docstring or "").split())


def _need(door: Requirement) -> str:
    if door.opener == "key":
        return f"Needs the scope `{door.scope}`." if door.scope else "Needs a key, with any scope."
    return "Needs the signer's cookie, which opening the signing link gives." if door.opener == "signer" else ""


def _routed(routes: Sequence[HTTPRouteHandler]) -> Litestar:
    served = [*options.routes(routes), *routes]
    return Litestar(route_handlers=served, openapi_config=None, logging_config=None)


def _complete(operation: dict[str, Any], path: str, method: str, door: Requirement) -> None:
    keyed = door.opener == "key"
    operation["security"] = [{door.opener: []}] if door.opener in _SECURITY else []
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _without_null(parameter["schema"])
        if parameter["in"] == "path":
            parameter["description"], parameter["example"] = examples.PATHS[parameter["name"]]
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}
    responses = operation["responses"]
    responses.pop("400", None)  # the framework's own shape
    for response in responses.values():
        response.setdefault("headers", {}).update(headers)
    for status in _possible(path, method, door, has_body="requestBody" in operation):
        responses[str(status)] = {"$ref": f"#/components/responses/{_name(path)}{status}"}
    if method == "post" and keyed and not door.repeats:
        operation.setdefault("parameters", []).append(_IDEMPOTENCY_KEY)


def _add_optional_body(operation: dict[str, Any], handler: HTTPRouteHandler) -> None:
    if kind := handler.opt.get(OPTIONAL_BODY):
        schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
        operation["requestBody"] = {"required": False, "content": {"application/json": {"schema": schema}}}


def _add_form(operation: dict[str, Any], handler: HTTPRouteHandler) -> None:
    if made := handler.opt.get(multipart.FORM):
        operation["requestBody"] = {"required": True, "content": {"multipart/form-data": made}}
    if kind := handler.opt.get(READS):
        schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
        operation.setdefault("requestBody", {"required": True, "content": {}})
        operation["requestBody"]["content"]["application/json"] = {"schema": schema}


def _add_query(operation: dict[str, Any], handler: HTTPRouteHandler) -> None:
    if kind := handler.opt.get(query.QUERY):
        operation.setdefault("parameters", []).extend(query.describe(kind))


def _add_written(operation: dict[str, Any], handler: HTTPRouteHandler, schemas: dict[str, Any]) -> None:
    if kinds := handler.opt.get(WRITES):
        write_back.describe(schemas, *kinds)
        schemas[kinds[0].__name__]["minProperties"] = 1
        schema = {"$ref": f"#/components/schemas/{kinds[0].__name__}"}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}


def bodies(handler: HTTPRouteHandler) -> list[type[msgspec.Struct]]:
    """The structs that a route takes and gives."""
    signature = handler.parsed_fn_signature
    fields = [signature.return_type]
    if "data" in signature.parameters:
        fields.append(signature.parameters["data"])
    kinds = [inner.annotation for field in fields for inner in (field, *field.inner_types)]
    kinds += [handler.opt.get(OPTIONAL_BODY), handler.opt.get(READS), *handler.opt.get(WRITES, ())]
    kinds += handler.opt.get(GIVES, [])
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]


def _show(paths: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Gives every body its example; returns those of the answers, by the names under which they are shown."""
    made: dict[str, Any] = {}
    for operation in (operation for operations in paths.values() for operation in operations.values()):
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            content["example"] = examples.request(operation["operationId"], kind, content["schema"])
        for response in operation["responses"].values():
            for kind, content in response.get("content", {}).items():
                _show_answer(kind, content, schemas, made)
    return made


def _show_answer(kind: str, content: dict[str, Any], schemas: dict[str, Any], made: dict[str, Any]) -> None:
    reference = content["schema"].get("$ref")
    if reference is None:
        content.setdefault("example", examples.CONTENTS.get(kind, examples.BYTES))
        return
    name = reference.rpartition("/")[2]
    made.setdefault(name, examples.answer(content["schema"], schemas))
    content["examples"] = {"usual": {"$ref": f"#/components/examples/{name}"}}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or it is not: `null` in an address is a word like any other."""
    outer = {name: value for name, value in schema.items() if name != "oneOf"}
    for choice in schema.get("oneOf", []):
        if choice != {"type": "null"}:
            outer = {**choice, **outer}
    if isinstance(outer.get("type"), list):
        outer["type"] = next(kind for kind in outer["type"] if kind != "null")
    return outer


def _possible(path: str, method: str, door: Requirement, *, has_body: bool) -> list[int]:
    possible = [400, 408, 500, 503]
    if door.opener != "nobody":
        possible += [401, 403]
    if door.counted:
        possible.append(429)
    if "{" in path:
        possible.append(404)
    if method in ("post", "put", "patch", "delete"):
        possible.append(409)
    if has_body and is_v1(path):
        possible += [413, 415]
    return sorted(possible)


def _name(path: str) -> str:
    return "Signing" if is_v1(path) else "OpenAI" if is_openai(path) else "Search"


def _sample_error(api: str, status: int, text: str) -> dict[str, Any]:
    if api == "OpenAI":
        return {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": "invalid_request"}}
    return {"error": text, "status": status} if api == "Signing" else {"error": text}


def _error_responses() -> dict[str, Any]:
    headers: dict[str, Any] = {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}
    headers["X-Service-Error-Code"] = {"description": "A machine-readable reason", "schema": {"type": "string"}}
    return {
        f"{api}{status}": {
            "description": text,
            "headers": headers,
            "content": {
                "application/json": {
                    "schema": {"$ref": f"#/components/schemas/{api}Error"},
                    "example": _sample_error(api, status, text),
                }
            },
        }
        for api in ("Signing", "Search", "OpenAI")
        for status, text in _ERRORS.items()
    }


def _envelopes() -> dict[str, Any]:
    message = {"type": "string", "description": "What happened, why, and what to do"}
    status = {"type": "integer", "description": "The HTTP status"}
    supported = {
        "type": "array",
        "items": {"type": "string"},
        "description": "Only where a file type is unsupported: every type that is accepted",
    }
    openai = {
        "message": message,
        "type": {"type": "string", "description": "The kind of error, as OpenAI names it"},
        "param": {"type": "null", "description": "Always null: the message names the field"},
        "code": {"type": "string", "description": "The machine-readable reason of `X-Service-Error-Code`"},
    }
    return {
        "SigningError": _closed({"error": message, "status": status}),
        "SearchError": _closed({"error": message}, optional={"supported": supported}),
        "OpenAIError": _closed({"error": {**_closed(openai), "description": "The error, as OpenAI's clients read it"}}),
    }


def _closed(required: dict[str, Any], *, optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
