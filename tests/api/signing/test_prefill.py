"""Values that a sender gives by the labels of fields: for fields that were asked for, and for tags in the text."""

import base64
from typing import Any

import pytest

from tests.api.signing.conftest import Office
from tests.pdf.papers import lines, paper

pytestmark = pytest.mark.anyio

TAGGED = paper(lines("Place: {{text:Ann:Place}} and on", x=60, y=600) + lines("{{signature:Ann}}", x=60, y=300))
FILE = {"name": "tagged.pdf", "content_base64": base64.b64encode(TAGGED).decode()}
RENT = {"type": "number", "label": "Rent", "signer": "Ann", "page": 1, "x": 0.1, "y": 0.1, "w": 0.3, "h": 0.05}
VALUES = {"Rent": "500.50", "Place": "Ghent"}


def defaults(document: Any) -> dict[str | None, str | None]:
    return {one["label"]: one["default"] for one in document["fields"]}


async def test_values_reach_fields_and_tags_by_their_labels_and_what_the_signer_leaves_stands(office: Office) -> None:
    document = await office.create(file=FILE, fields=[RENT], values=VALUES, send=True)
    assert defaults(document) == {"Rent": "500.50", "Place": "Ghent", None: None}
    assert (await office.sign(document, "ann")).status_code == 200
    filled = {one["label"]: one["value"] for one in (await office.document(document["id"]))["fields"]}
    assert (filled["Rent"], filled["Place"]) == ("500.50", "Ghent")


@pytest.mark.parametrize(
    ("values", "said"),
    [({"rent": "500"}, "No field has the label 'rent'"), ({"Rent": "much"}, "Rent: This is not a number")],
)
async def test_a_value_without_a_field_or_of_the_wrong_kind_is_named(
    office: Office, values: dict[str, str], said: str
) -> None:
    answer = await office.api.post("/api/v1/documents", office.body(file=FILE, fields=[RENT], values=values))
    assert (answer.status_code, said in answer.json()["error"]) == (400, True), answer.text


async def test_values_last_through_changes_of_a_draft(office: Office) -> None:
    draft = await office.create(file=FILE, fields=[RENT], values=VALUES)
    path = f"/api/v1/documents/{draft['id']}"
    parties = [{**draft["parties"][0], "order": 2}]
    later = await office.api.call("PATCH", path, json={"parties": parties})
    assert later.status_code == 200, later.text
    assert defaults(later.json()) == defaults(draft)
    another = await office.api.call("PATCH", path, json={"fields": [{**RENT, "label": "Deposit"}]})
    assert another.status_code == 200, another.text
    assert defaults(another.json()) == {"Deposit": None, "Place": "Ghent", None: None}


async def test_what_only_values_fill_may_wait_for_them_in_a_template(office: Office) -> None:
    place = {"page": 1, "x": 0.1, "w": 0.3, "h": 0.05, "party": "Tenant"}
    fields = [
        {"type": "text", "label": "Plan", "read_only": True, "pattern": "gold|basic", "y": 0.1, **place},
        {"type": "text", "label": "Wish", "show_if": {"field": "Plan", "equals": "gold"}, "y": 0.2, **place},
    ]
    new = {"name": "Lease", "file": office.body()["file"], "roles": [{"name": "Tenant"}], "fields": fields}
    template = await office.api.post("/api/v1/templates", new)
    assert template.status_code == 201, template.text
    wanted = {"template_id": template.json()["id"], "roles": {"Tenant": {"name": "Ann", "email": "ann@example.com"}}}
    without = await office.api.post("/api/v1/documents", wanted)
    assert (without.status_code, "'Plan' is required and read_only" in without.json()["error"]) == (400, True)
    for plan, refused in (("basic", None), ("gold", "Wish: This field is required")):
        made = await office.api.post("/api/v1/documents", {**wanted, "values": {"Plan": plan}, "send": True})
        assert made.status_code == 201, made.text
        signed = await office.sign(made.json(), "ann")
        assert signed.json().get("error") == refused
