"""The OpenAPI document: valid, complete, and of the envelopes that the server really gives."""

import asyncio
import json
import logging
import re
from typing import Any, cast

import pytest
from litestar import Litestar
from schemathesis import openapi as schemathesis_openapi

from deedbox.web import app as web_app
from deedbox.web.app import ROUTES
from deedbox.web.http import auth, openapi
from tests.api.answers import routes
from tests.api.conftest import Api, served
from tests.api.description import description

HEADERS = {"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}

PROBES = {"/livez", "/readyz", "/metrics", "/openapi.json"}
NAMES_RECORDS = {"build_index", "ask", "create_document", "create_packet", "create_template", "create_bulk_send"}
NAMES_RECORDS |= {"remove_logo", "answer"}
"""Operations that name records that may not exist, in their body or by what they are."""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return description()


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    found = [(path, method, each) for path, item in document["paths"].items() for method, each in item.items()]
    assert len(found) > 5
    return found


def resolved(document: dict[str, Any], thing: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in thing:
        target: Any = document
        for word in thing["$ref"].removeprefix("#/").split("/"):
            target = target[word]
        thing = target
    return thing


def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert re.fullmatch(r"3\.1\.\d", document["openapi"])
    schemathesis_openapi.from_dict(document).validate()


def test_describing_the_api_leaves_the_log_as_it_is() -> None:
    root, ours = logging.getLogger(), logging.getLogger("litestar")
    before = [*root.handlers], root.level, [*ours.handlers]
    openapi.document(ROUTES)
    assert ([*root.handlers], root.level, [*ours.handlers]) == before


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    references = set(re.findall(r'"\$ref": ?"([^"]+)"', json.dumps(document)))
    assert references
    for reference in references:
        assert resolved(document, {"$ref": reference})


@pytest.mark.anyio
@pytest.mark.one_database
async def test_the_document_is_served_as_it_is_made(api: Api, document: dict[str, Any]) -> None:
    served = await api.get("/openapi.json", key=None)
    assert served.headers["content-type"].startswith("application/json")
    assert served.json() == document


@pytest.mark.anyio
@pytest.mark.one_database
async def test_a_server_builds_the_document_before_it_is_requested(api: Api) -> None:
    api.guard = web_app.build(api.deedbox)
    description = cast(Litestar, api.guard.app).state.description
    async with served(api), asyncio.timeout(60):
        while not description.is_built:
            await asyncio.sleep(0.05)


@pytest.mark.anyio
@pytest.mark.one_database
async def test_every_route_but_the_pages_is_described(api: Api, document: dict[str, Any]) -> None:
    described = {(path, method.upper()) for path, method, _ in operations(document)}
    app = api.guard.app
    served = {
        (path, str(method)): handler
        for path, handler in auth.list_routes(app)  # type: ignore[arg-type]
        for method in handler.http_methods
    }
    heads = {(path, method) for path, method in served if method == "HEAD"}
    assert {(path, "GET") for path, _ in heads} <= set(served)
    tools = ("/mcp", "POST")  # a protocol that describes itself
    pages = {route for route in served.keys() - heads if route not in described} - {tools}
    assert {auth.of(served[page]).opener for page in pages} == {"nobody", "person", "signer", "link"}
    own = ("dashboard", "signer", "public.verify", "public.embed", "public.reference", "http.static", "http.brand")
    folders = tuple(f"deedbox.web.{folder}" for folder in own)
    assert all(served[page].fn.__module__.startswith(folders) for page in pages)
    assert described <= set(served)
    assert len(routes(api.guard)) == len(served)


def test_every_operation_says_how_it_is_secured_and_which_scope_it_needs(document: dict[str, Any]) -> None:
    needs = {
        (path, str(method).lower()): auth.of(handler)
        for handler in ROUTES
        for path in handler.paths
        for method in handler.http_methods
    }
    for path, method, operation in operations(document):
        need = needs[re.sub(r"\{(\w+)\}", r"{\1:str}", path), method]
        assert operation["security"] == ([{need.opener: []}] if need.opener in ("key", "signer") else []), path
        asked_for = f"`{need.scope}`" if need.scope else "any scope"
        assert need.opener != "key" or asked_for in operation["description"]
    assert (
        document["components"]["securitySchemes"]["key"] | {"type": "http", "scheme": "bearer"}
        == document["components"]["securitySchemes"]["key"]
    )


def test_every_operation_has_a_summary_a_tag_and_an_id_of_its_own(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))
    assert all(operation["summary"] and operation["tags"] for _, _, operation in operations(document))


def test_every_answer_has_the_headers_of_every_answer(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        for status, response in operation["responses"].items():
            headers = resolved(document, response).get("headers", {})
            assert set(headers) >= HEADERS, (method, path, status)


def test_every_error_has_the_envelope_of_its_api(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        errors = {status: response for status, response in operation["responses"].items() if int(status) >= 400}
        keyed = operation["security"] == [{"key": []}]
        assert {"400", "408", "500", "503"} <= set(errors), path
        assert ({"401", "403"} <= set(errors)) is (keyed or path.startswith("/sign/")), path
        assert ("429" in errors) is (keyed or path not in PROBES), path
        assert ("404" in errors) is ("{" in path or operation["operationId"] in NAMES_RECORDS), path
        assert method != "post" or "409" in errors
        signing = path.startswith(("/api/v1/", "/sign/"))
        for response in errors.values():
            schema = resolved(document, response)["content"]["application/json"]["schema"]
            expected = ["error", "status"] if signing else ["error"]
            optional = [] if signing or path.startswith("/v1/") else ["supported"]
            envelope = resolved(document, schema)
            assert (list(envelope["properties"]), envelope["required"]) == (expected + optional, expected)
            assert envelope["additionalProperties"] is False


def test_every_post_takes_an_idempotency_key(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        named = {parameter["name"] for parameter in operation.get("parameters", [])}
        keyed = operation["security"] == [{"key": []}]
        kept = method == "post" and keyed and path not in ("/tsa", "/answer")  # each asking gets its own
        assert ("Idempotency-Key" in named) is kept, path


def test_no_bound_of_a_body_is_missing(document: dict[str, Any]) -> None:
    """Every text, list and number that a caller sends is bounded, and no body takes unknown fields."""
    seen = 0
    for _, _, operation in operations(document):
        if "requestBody" in operation:
            seen += 1
            for content in operation["requestBody"]["content"].values():
                assert list(unbounded(document, content["schema"], "body")) == []
    assert seen


def test_no_bound_of_a_parameter_is_missing(document: dict[str, Any]) -> None:
    for path, _, operation in operations(document):
        for parameter in operation.get("parameters", []):
            if parameter["in"] != "path":
                assert list(unbounded(document, parameter["schema"], f"{path} {parameter['name']}")) == []
                assert "null" not in repr(parameter["schema"]), "no parameter can be null"


def unbounded(document: dict[str, Any], schema: dict[str, Any], where: str, above: tuple[str, ...] = ()) -> list[str]:
    """The places in a schema that take values of any size; one that holds itself is looked at once."""
    if schema.get("$ref") in above:
        return []
    above += (schema["$ref"],) if "$ref" in schema else ()
    schema = resolved(document, schema)
    found = [place for inner in schema.get("anyOf", []) for place in unbounded(document, inner, where, above)]
    kind = schema.get("type")
    if kind == "string" and not {"maxLength", "enum", "format"} & set(schema):
        found.append(f"{where}: text")
    if kind == "integer" and not {"minimum", "maximum"} <= set(schema):
        found.append(f"{where}: number")
    if kind == "array":
        found += [] if "maxItems" in schema else [f"{where}: list"]
        each = schema.get("prefixItems") or [schema["items"]]
        found += [place for inner in each for place in unbounded(document, inner, f"{where}[]", above)]
    if kind == "object":
        others = schema.get("additionalProperties")
        if isinstance(others, dict) and "maxProperties" in schema:
            found += unbounded(document, others, f"{where}.*", above)
        elif others is not False:
            found.append(f"{where}: any field")
        for name, inner in schema.get("properties", {}).items():
            found += unbounded(document, inner, f"{where}.{name}", above)
    return found


def test_the_check_for_bounds_sees_a_missing_one(document: dict[str, Any]) -> None:
    """The seeded bug."""
    assert unbounded(document, {"type": "object", "properties": {"a": {"type": "string"}}}, "x") == [
        "x: any field",
        "x.a: text",
    ]
    assert unbounded(document, {"anyOf": [{"type": "array", "items": {"type": "integer"}}]}, "x") == [
        "x: list",
        "x[]: number",
    ]


def test_no_change_may_be_empty(document: dict[str, Any]) -> None:
    """A PATCH without a field is refused, so the schema says so."""
    for path, operations in document["paths"].items():
        if content := operations.get("patch", {}).get("requestBody", {}).get("content"):
            name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert document["components"]["schemas"][name].get("minProperties") == 1, path
