"""Constraints between the fields of a request: the published schema accepts exactly what the server accepts."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from deedbox.kernel.constraints import Constraint, Is, IsNot, constraints_of
from deedbox.kernel.errors import BadRequest
from deedbox.web.app import ROUTES
from deedbox.web.http import openapi
from deedbox.web.http.body import decoded_now
from deedbox.web.http.description import fields
from tests.api.description import description

LEFT_OUT = object()
FILE = {"name": "a.pdf", "content_base64": "JVBERg=="}
ANN = {"name": "Ann", "email": "ann@example.com"}
FIELD = {"type": "text", "page": 1, "x": 0.1, "y": 0.1, "w": 0.1, "h": 0.1, "party": "Tenant"}
PARTY = {"name": "Tenant", "signers": [ANN]}
VALID: dict[str, dict[str, Any]] = {
    "Drawn": {"kind": "drawn", "image": "data:image/png;base64,AAAA"},
    "KnownField": FIELD,
    "KnownParty": PARTY,
    "KnownSigner": ANN,
    "ListedSigner": ANN,
    "LoneSigner": ANN,
    "NewBulkSendBody": {"name": "Leases", "template_id": "tpl_1", "rows": [{}]},
    "NewDocumentBody": {"title": "Lease", "file": FILE},
    "NewField": FIELD,
    "NewHook": {"target_url": "https://example.com/", "event": "document.sent"},
    "NewPacketBody": {"title": "Lease", "documents": [{"title": "Lease", "file": FILE}]},
    "NewPacketDocumentBody": {"title": "Lease", "file": FILE},
    "NewParty": PARTY,
    "NewQuery": {"query": "rent"},
    "NewSigner": ANN,
    "NewTemplateBody": {"name": "Lease", "file": FILE},
    "QueryFilter": {},
    "Role": {"name": "Tenant"},
    "TemplateField": FIELD,
}
"""A valid value of each struct that declares constraints."""
WITH_CODE = {**ANN, "auth": "access_code", "access_code": "1234-5678"}
OTHERS: dict[str, list[dict[str, Any]]] = {
    "KnownSigner": [WITH_CODE],
    "ListedSigner": [{"id": "sgn_1", "email": "ann@example.com"}, WITH_CODE],
    "LoneSigner": [WITH_CODE],
    "NewDocumentBody": [{"template_id": "tpl_1"}],
    "NewPacketDocumentBody": [{"template_id": "tpl_1"}],
    "NewSigner": [WITH_CODE],
    "NewTemplateBody": [{"name": "Lease", "document_id": "doc_1"}],
    "QueryFilter": [{"field": "metadata.year", "op": "exists"}],
    "TemplateField": [{name: value for name, value in FIELD.items() if name != "party"}],
}
"""Other values to start from, where from the valid one a constraint cannot be broken alone."""
SENT: dict[str, Any] = {
    "access_code": "1234-5678",
    "columns": {"E-mail": "Tenant.email"},
    "default": "London",
    "document_id": "doc_1",
    "event": "document.sent",
    "events": ["document.sent", "document.signed"],
    "facets": ["collection"],
    "field": "metadata.year",
    "fields": [FIELD],
    "file": FILE,
    "files": [FILE],
    "group": "size",
    "id": "sgn_1",
    "image": "data:image/png;base64,AAAA",
    "label": "City",
    "language": "de",
    "max_length": 10,
    "name": "Ann",
    "options": ["London"],
    "order": 2,
    "parties": [PARTY],
    "party": "Tenant",
    "pattern": "[A-Z]+",
    "quorum": 1,
    "roles": {"Tenant": ANN},
    "rows": [{}],
    "signer": "ann@example.com",
    "signers": [ANN],
    "strokes": [[[1.0, 2.0, 0.5, 3]]],
    "template_id": "tpl_1",
    "time_zone": "Europe/Berlin",
    "title": "Lease",
    "value": 2026,
    "NewTemplateBody.roles": [{"name": "Tenant"}],
}
"""A value of each field that constraints name, unless its schema lists all values."""


def constrained() -> dict[str, type[msgspec.Struct]]:
    """Every struct of a request that declares constraints."""
    kinds = fields.held(kind for handler in ROUTES for kind in openapi.bodies(handler))
    return {kind.__name__: kind for kind in kinds if constraints_of(kind)}


CASES = [
    pytest.param(kind, constraint, id=f"{name}-{number}")
    for name, kind in constrained().items()
    for number, constraint in enumerate(constraints_of(kind))
]


def validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**schema, "components": description()["components"]})


def candidates(kind: type[msgspec.Struct], name: str) -> list[Any]:
    """Values for a field: left out, and every empty, listed or sample value that its own schema takes."""
    schema = description()["components"]["schemas"][kind.__name__]["properties"][name]
    listed = [value for part in (schema, *schema.get("anyOf", ())) for value in part.get("enum", ())]
    sample = SENT.get(f"{kind.__name__}.{name}", SENT.get(name))
    takes = validator(schema)
    found = [value for value in (None, [], {}, "", False, True, *listed, sample) if takes.is_valid(value)]
    unique = {json.dumps(value): value for value in found}
    assert unique.keys() - {"null", "[]", "{}", '""'}, f"SENT has no value for {kind.__name__}.{name}"
    return [LEFT_OUT, *unique.values()]


def values(kind: type[msgspec.Struct], constraint: Constraint) -> Iterator[dict[str, Any]]:
    """Every combination of candidates for the fields that the constraint names, in values that are otherwise valid."""
    encoded = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    names = list(dict.fromkeys(encoded[name] for choice in constraint.choices for name in choice))
    for combination in itertools.product(*(candidates(kind, name) for name in names)):
        for start in (VALID[kind.__name__], *OTHERS.get(kind.__name__, [])):
            changed = start | dict(zip(names, combination, strict=True))
            yield {name: value for name, value in changed.items() if value is not LEFT_OUT}


def refusal(kind: type[msgspec.Struct], value: dict[str, Any]) -> str | None:
    try:
        decoded_now(kind, json.dumps(value).encode())
    except BadRequest as error:
        return error.message
    return None


def test_every_struct_with_constraints_has_a_valid_value() -> None:
    assert constrained().keys() == VALID.keys()
    assert {name: refusal(kind, VALID[name]) for name, kind in constrained().items()} == dict.fromkeys(VALID)


@pytest.mark.parametrize(("kind", "constraint"), CASES)
def test_schema_accepts_exactly_what_server_accepts(kind: type[msgspec.Struct], constraint: Constraint) -> None:
    schema = validator({"$ref": f"#/components/schemas/{kind.__name__}"})
    verdicts = [(value, refusal(kind, value), schema.is_valid(value)) for value in values(kind, constraint)]
    assert [(value, refused) for value, refused, valid in verdicts if valid is not (refused is None)] == []
    assert any(refused == constraint.sentence for _, refused, _ in verdicts), "no value breaks the constraint"
    assert any(refused is None for _, refused, _ in verdicts), "no value meets the constraint"


@pytest.mark.parametrize(("kind", "constraint"), CASES)
def test_description_of_struct_says_the_constraint(kind: type[msgspec.Struct], constraint: Constraint) -> None:
    assert constraint.sentence in description()["components"]["schemas"][kind.__name__]["description"]


@pytest.mark.parametrize(("kind", "constraint"), CASES)
def test_constraint_names_only_values_that_the_field_takes(kind: type[msgspec.Struct], constraint: Constraint) -> None:
    """A value that no field has would make a choice that is never met, or always."""
    encoded = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    properties = description()["components"]["schemas"][kind.__name__]["properties"]
    for choice in constraint.choices:
        for name, state in choice.items():
            named = state.values if isinstance(state, (Is, IsNot)) else ()
            assert [value for value in named if not validator(properties[encoded[name]]).is_valid(value)] == []


def test_error_names_the_place_of_the_broken_constraint() -> None:
    kind = constrained()["NewDocumentBody"]
    field = {**FIELD, "signer": "ann@example.com"}
    broken = refusal(kind, {**VALID["NewDocumentBody"], "fields": [FIELD, field]})
    assert broken == "fields[1]: Send exactly one of `signer` and `party`."
    role = refusal(kind, {"template_id": "tpl_1", "roles": {"Tenant": [{**ANN, "access_code": "1234-5678"}]}})
    assert role == "roles.Tenant[0]: Send `access_code` with `auth` `access_code`, and with no other `auth`."
