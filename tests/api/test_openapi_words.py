"""The OpenAPI document tells everything: fields and parameters in words, operations by examples, ids by links."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import jsonschema_rs
import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from deedbox.kernel import limits
from deedbox.web.app import ROUTES
from deedbox.web.http import openapi
from deedbox.web.http.description import examples
from deedbox.web.http.description import fields as described
from tests.api.conftest import Api
from tests.api.description import description
from tests.api.test_openapi import operations, resolved


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return description()


def test_a_validator_finds_no_fault_in_the_document(document: dict[str, Any]) -> None:
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []


def undescribed(schema: Any, where: str) -> Iterator[str]:
    """The properties in a schema that say nothing of themselves."""
    if isinstance(schema, list):
        for each in schema:
            yield from undescribed(each, where)
    if not isinstance(schema, dict):
        return
    schema = without_constraints(schema)
    for name, each in schema.get("properties", {}).items():
        if not str(each.get("description", "")).strip():
            yield f"{where}.{name}"
    for name, each in schema.items():
        yield from undescribed(each, f"{where}/{name}")


def without_constraints(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without its constraints between fields, which repeat properties that are described already."""
    combined = ("allOf", "anyOf", "oneOf") if "properties" in schema else ()
    return {name: each for name, each in schema.items() if name not in combined}


def test_every_property_is_described(document: dict[str, Any]) -> None:
    """Beside its field in the code: a docstring under it."""
    missing = [place for name, each in document["components"]["schemas"].items() for place in undescribed(each, name)]
    for _, _, operation in operations(document):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            missing += undescribed(content["schema"], operation["operationId"])
    assert missing == []


def test_every_parameter_and_header_is_described(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), (method, path, parameter["name"])
    assert all(header["description"] for header in document["components"]["headers"].values())


def test_every_tag_is_described_and_used(document: dict[str, Any]) -> None:
    used = {tag for _, _, operation in operations(document) for tag in operation["tags"]}
    assert {tag["name"] for tag in document["tags"] if tag["description"]} == used


def test_the_document_names_the_server_that_gives_it(document: dict[str, Any]) -> None:
    assert [server["url"] for server in document["servers"]] == ["/"]
    named = openapi.document(ROUTES, "https://sign.example.com")
    assert [server["url"] for server in named["servers"]] == ["https://sign.example.com"]


def test_no_name_is_a_path_of_modules(document: dict[str, Any]) -> None:
    names = [*document["components"]["schemas"], *(each["operationId"] for _, _, each in operations(document))]
    assert [name for name in names if not re.fullmatch("[A-Z][A-Za-z]+|[a-z][a-z_]+", name)] == []


def bodies(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything that an operation takes or gives, each with where it stands."""
    for _, _, operation in operations(document):
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{operation['operationId']} takes {kind}", content
        for status, response in operation["responses"].items():
            for kind, content in resolved(document, response).get("content", {}).items():
                yield f"{operation['operationId']} answers {status} {kind}", content


def shown(document: dict[str, Any], content: dict[str, Any]) -> Any:
    if "examples" in content:
        return resolved(document, content["examples"]["usual"])["value"]
    return content["example"]


def reached(document: dict[str, Any], schema: Any) -> dict[str, Any]:
    """The schemas that this one leads to, which are few: a validator reads all that it is given."""
    found: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        for name in re.findall(r"#/components/schemas/([^'\"]+)", repr(waiting.pop())):
            if name not in found:
                found[name] = document["components"]["schemas"][name]
                waiting.append(found[name])
    return found


def test_everything_taken_or_given_has_an_example_that_its_schema_allows(document: dict[str, Any]) -> None:
    seen = 0
    for where, content in bodies(document):
        example = shown(document, content)
        assert example is not None, f"{where} has no example: give it one in web/frame/examples.py"
        schema = {**content["schema"], "components": {"schemas": reached(document, content["schema"])}}
        errors = list(jsonschema_rs.Draft202012Validator(schema, validate_formats=True).iter_errors(example))
        assert errors == [], where
        if "application/json" in where and content["schema"].get("format") != "binary":
            assert examples.UNTOLD not in repr(example), f"{where}: a text has no value in web/frame/examples.py"
            seen += 1
    assert seen > 100


def test_the_check_of_examples_sees_a_wrong_one(document: dict[str, Any]) -> None:
    """The seeded bug."""
    schema = {"$ref": "#/components/schemas/NewKey", "components": document["components"]}
    assert not jsonschema_rs.Draft202012Validator(schema).is_valid({**examples.REQUESTS["create_key"], "tier": "best"})
    assert list(undescribed({"properties": {"a": {"anyOf": [{"properties": {"b": {}}}]}}}, "x")) == [
        "x.a",
        "x/properties/a/anyOf.b",
    ]


def test_no_example_is_of_an_operation_that_is_gone(document: dict[str, Any]) -> None:
    known = {operation["operationId"] for _, _, operation in operations(document)}
    assert examples.REQUESTS.keys() - known == set()
    taken = {name for path in document["paths"] for name in re.findall(r"\{(\w+)\}", path)}
    assert examples.PATHS.keys() - taken == set()


def properties(schema: Any, owner: str) -> Iterator[str]:
    """The names under which examples look for the properties in a schema: with the owner's, and alone."""
    for each in schema if isinstance(schema, list) else ():
        yield from properties(each, owner)
    if isinstance(schema, dict):
        for name in schema.get("properties", {}):
            yield from (name, f"{owner}.{name}")
        for each in schema.values():
            yield from properties(each, owner)


def test_no_sample_is_of_a_property_that_is_gone(document: dict[str, Any]) -> None:
    known = {one for name, each in document["components"]["schemas"].items() for one in properties(each, name)}
    assert examples.SAMPLES.keys() - known == set()


@pytest.mark.anyio
@pytest.mark.one_database
async def test_the_example_of_a_document_can_be_sent_as_it_is(api: Api) -> None:
    made = await api.post("/api/v1/documents", examples.REQUESTS["create_document"])
    assert (made.status_code, made.json()["status"]) == (201, "sent")


def at(value: Any, pointer: str) -> Any:
    for word in pointer.removeprefix("/").split("/"):
        value = value[int(word)] if isinstance(value, list) else value[word]
    return value


def all_links(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    for _, _, operation in operations(document):
        for response in operation["responses"].values():
            for link in response.get("links", {}).values():
                yield operation, response, link


def test_every_link_leads_from_an_id_to_what_takes_it(document: dict[str, Any]) -> None:
    known = {operation["operationId"]: operation for _, _, operation in operations(document)}
    seen = 0
    for source, response, link in all_links(document):
        target = known[link["operationId"]]
        taken = {parameter["name"] for parameter in target["parameters"] if parameter["in"] == "path"}
        assert set(link["parameters"]) == taken
        own = {f"$request.path.{parameter['name']}" for parameter in source.get("parameters", [])}
        for name, expression in link["parameters"].items():
            if expression.startswith("$response.body#"):
                example = shown(document, response["content"]["application/json"])
                assert at(example, expression.removeprefix("$response.body#")) == examples.PATHS[name][1]
            else:
                assert expression in {*own, examples.PATHS["page"][1]}
            seen += 1
    assert seen > 30


def test_every_id_that_is_taken_is_linked_to(document: dict[str, Any]) -> None:
    linked = {link["operationId"] for _, _, link in all_links(document)}
    taking = {
        operation["operationId"] for path, _, operation in operations(document) if re.search(r"\{(\w+_id|code)\}", path)
    }
    assert taking - linked == set()


class Base(msgspec.Struct):
    first: int
    """Holds {PAGE_MAX} at
    most."""
    bare: int


class Derived(Base):
    second: Annotated[int, msgspec.Meta(description="Not this.")]
    """A number."""


def test_a_field_is_described_by_the_docstring_under_it_or_under_the_one_it_inherits() -> None:
    [_, properties] = [each["properties"] for each in described.schemas([Base, Derived]).values()]
    assert properties["first"]["description"] == f"Holds {limits.PAGE_MAX} at most."
    assert properties["second"]["description"] == "A number."
    assert list(undescribed({"properties": properties}, "Derived")) == ["Derived.bare"]


def test_there_is_one_way_to_describe_a_field() -> None:
    """A docstring under it; what a type says of itself is for types that several fields share."""
    kinds = [kind for handler in ROUTES if not isinstance(handler, type) for kind in openapi.bodies(handler)]
    modules = {kind.__module__ for kind in described.held(kinds)}
    assert len(modules) > 10
    assert [place for module in sorted(modules) for place in worded_in_meta(module)] == []


def worded_in_meta(module: str) -> list[str]:
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return [
        f"{module}:{keyword.value.lineno}"
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.AnnAssign)
        for keyword in ast.walk(field.annotation)
        if isinstance(keyword, ast.keyword) and keyword.arg == "description"
    ]
