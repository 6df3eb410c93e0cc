"""One radio field with options: every request takes it, and the sealed file shows which option was chosen."""

import re
from typing import Any

import numpy as np
import pytest

from deedbox.pdf.marks.field_text import FieldSpace
from deedbox.pdf.marks.radio_options import laid_out
from deedbox.signing import limits
from tests.api.signing.conftest import Office
from tests.api.signing.packets import file
from tests.api.signing.test_bulk import send as send_bulk
from tests.api.signing.test_bulk import settled
from tests.api.signing.test_field_values import on_page
from tests.api.signing.test_templates import create as create_template
from tests.api.signing.test_templates import make
from tests.pdf.papers import lines, paper, shown, text_of

pytestmark = pytest.mark.anyio

PATH = "/api/v1/documents"
OPTIONS = ["Yes", "No", "Ask me later"]
STACKED = {"page": 1, "x": 0.1, "y": 0.2, "w": 0.3, "h": 0.08}
BESIDE = {"page": 1, "x": 0.1, "y": 0.2, "w": 0.5, "h": 0.02}
SCALE = 3


def radio(place: dict[str, Any] = STACKED, **more: Any) -> dict[str, Any]:
    return {"type": "radio", "options": OPTIONS, "label": "Pets", "signer": "ann@example.com", **place, **more}


def field_of(document: Any) -> Any:
    [field] = [one for one in document["fields"] if one["type"] == "radio"]
    return field


async def made(office: Office, document: Any, what: str) -> bytes:
    return (await office.api.get(f"{PATH}/{document['id']}/{what}")).content


def filled_circles(sealed: bytes, field: Any, size: float | None = None) -> list[str]:
    """The options whose circles have ink in the middle; each circle must be drawn."""
    w, h = field["w"] * 595, field["h"] * 842
    layout = laid_out(field["options"], FieldSpace(w, h, size))
    assert layout is not None
    picture = np.asarray(shown(sealed, scale=SCALE).convert("L"))
    chosen = []
    for one in layout.options:
        x, y = field["x"] * 595 + one.circle.x, field["y"] * 842 + one.circle.y
        top, left, side = round(y * SCALE), round(x * SCALE), round(one.circle.w * SCALE)
        circle = picture[top : top + side, left : left + side]
        assert circle[:, : side // 4].min() < 200, "the circle is drawn"
        if circle[side // 2 - 2 : side // 2 + 3, side // 2 - 2 : side // 2 + 3].max() < 128:
            chosen.append(one.text)
    return chosen


@pytest.mark.parametrize("place", [STACKED, BESIDE], ids=["stacked", "beside"])
async def test_sealed_file_shows_all_options_and_only_one_chosen(office: Office, place: dict[str, Any]) -> None:
    document = await office.create(fields=[radio(place)], send=True)
    field = field_of(document)
    assert (field["options"], field["group"], field["value"]) == (OPTIONS, None, None)
    signed = await office.sign(document, "ann", values={field["id"]: "No"})
    assert signed.status_code == 200, signed.text
    done = await office.completed(document)
    assert field_of(done)["value"] == "No"
    sealed = await made(office, done, "signed")
    assert filled_circles(sealed, field) == ["No"]
    for option in OPTIONS:
        assert text_of(sealed).count(option) == 1
    assert "Pets No" in " ".join(text_of(await made(office, done, "certificate"), 1).split())


async def test_optional_radio_without_choice_is_sealed_with_empty_circles(office: Office) -> None:
    done = await office.sealed(fields=[radio(required=False)])
    sealed = await made(office, done, "signed")
    assert filled_circles(sealed, field_of(done)) == []
    assert "Ask me later" in text_of(sealed)


def test_labels_stand_beside_their_circles_in_either_direction() -> None:
    for options in (OPTIONS, ["العربية", "Deutsch"]):
        layout = laid_out(options, FieldSpace(300, 80))
        assert layout is not None
        for one in layout.options:
            left, right = sorted((one.circle, one.label))
            assert left.x >= 0
            assert 0 < right.x - (left.x + left.w) < layout.size
            assert right.x + right.w <= 300
            assert (one.circle.x > one.label.x) == (options != OPTIONS)


async def test_hidden_radio_prints_nothing(office: Office) -> None:
    decides = {"type": "checkbox", "label": "Animals", "required": False, "signer": "ann@example.com", **STACKED}
    hidden = radio(show_if={"field": "Animals", "equals": "true"})
    done = await office.sealed(fields=[{**decides, "y": 0.1, "h": 0.02, "w": 0.02}, hidden])
    assert "Ask me later" not in text_of(await made(office, done, "signed"))


async def test_required_radio_needs_one_of_its_options(office: Office) -> None:
    document = await office.create(fields=[radio()], send=True)
    missing = await office.sign(document, "ann")
    assert (missing.status_code, "Pets" in missing.json()["error"]) == (400, True), missing.text
    wrong = await office.sign(document, "ann", values={field_of(document)["id"]: "Maybe"})
    assert (wrong.status_code, "Yes, No, Ask me later" in wrong.json()["error"]) == (400, True), wrong.text


async def test_answer_decides_which_fields_are_shown(office: Office) -> None:
    which = {"type": "text", "label": "Which", "signer": "ann@example.com", **BESIDE, "y": 0.5}
    fields = [radio(), {**which, "show_if": {"field": "Pets", "equals": "Yes"}}]
    document = await office.create(fields=fields, send=True)
    signed = await office.sign(document, "ann", values={field_of(document)["id"]: "No"})
    assert signed.status_code == 200, signed.text
    refused = await office.api.post(
        PATH, office.body(fields=[radio(), {**which, "show_if": {"field": "Pets", "equals": "Perhaps"}}])
    )
    assert "can never be 'Perhaps'" in refused.json()["error"]


async def test_values_of_the_sender_choose_an_option(office: Office) -> None:
    done = await office.sealed(fields=[radio()], values={"Pets": "Ask me later"})
    assert field_of(done)["value"] == "Ask me later"
    refused = await office.api.post(PATH, office.body(fields=[radio()], values={"Pets": "Maybe"}))
    assert (refused.status_code, "Yes, No" in refused.json()["error"]) == (400, True), refused.text


async def test_draft_takes_back_the_field_that_it_returned(office: Office) -> None:
    draft = await office.create()
    changed = await office.api.call("PATCH", f"{PATH}/{draft['id']}", json={"fields": [radio()]})
    assert changed.status_code == 200, changed.text
    field = field_of(changed.json())
    again = await office.api.call("PATCH", f"{PATH}/{draft['id']}", json={"fields": [field]})
    assert field_of(again.json()) == field


async def test_template_and_bulk_send_take_options(office: Office) -> None:
    template = await create_template(office, fields=[{**radio(), "signer": None, "party": "Tenant"}])
    assert field_of(template)["options"] == OPTIONS
    document = await make(office, template, values={"Pets": "No"})
    assert field_of(document)["default"] == "No"
    person = {"name": "Ann", "email": "ann@example.com"}
    row = {"key": "a", "roles": {"Tenant": person}, "values": {"Pets": "Yes"}}
    sent = await send_bulk(office, template["id"], [row])
    assert sent.status_code in (201, 202), sent.text
    await settled(office, sent.json())
    [made_row] = (await office.api.get(f"/api/v1/bulk-sends/{sent.json()['id']}/rows")).json()["rows"]
    assert field_of(await office.document(made_row["document_id"]))["default"] == "Yes"


async def test_packet_takes_options(office: Office) -> None:
    documents = [{"title": "Lease", "file": file(), "fields": [radio()]}]
    body = {"title": "Papers", "documents": documents, "signers": [{"name": "Ann", "email": "ann@example.com"}]}
    answer = await office.api.post("/api/v1/packets", body)
    assert answer.status_code == 201, answer.text
    assert field_of(answer.json()["documents"][0])["options"] == OPTIONS


async def test_text_tag_with_options_becomes_one_field(office: Office) -> None:
    tagged = paper(lines("Pets: {{radio:Ann:Pets;options=Yes|No}}", x=60, y=600))
    document = await office.create(file=file(content=tagged), send=True)
    field = field_of(document)
    assert (field["options"], field["label"]) == (["Yes", "No"], "Pets")
    signed = await office.sign(document, "ann", values={field["id"]: "Yes"})
    assert signed.status_code == 200, signed.text
    sealed = await made(office, await office.completed(document), "signed")
    assert filled_circles(sealed, field, 11) == ["Yes"]
    assert "Pets: " in text_of(sealed)


async def test_too_small_rectangle_is_refused_with_the_size_needed(office: Office) -> None:
    small = {**STACKED, "w": 0.03, "h": 0.02}
    refused = await office.api.post(PATH, office.body(fields=[radio(small)]))
    assert refused.status_code == 400
    sizes = re.findall(r"\(w ([\d.]+), h ([\d.]+)\)", refused.json()["error"])
    assert len(sizes) == 2, refused.text
    for w, h in sizes:
        place = {**STACKED, "w": float(w), "h": float(h)}
        answer = await office.api.post(PATH, office.body(fields=[radio(place)]))
        assert answer.status_code == 201, answer.text


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"options": ["Yes", "Yes"]}, "same option twice"),
        ({"options": ["Yes"]}, "from 2 to"),
        ({"options": [str(number) for number in range(limits.RADIO_OPTIONS + 1)]}, "from 2 to"),
        ({"options": ["Yes", " "]}, "empty"),
        ({"group": "Pets"}, "send `options`, or `group`"),
        ({"default": "Maybe"}, "Yes, No, Ask me later"),
        ({"read_only": True}, "needs a default"),
    ],
)
async def test_options_that_make_no_choice_are_refused(office: Office, more: dict[str, Any], why: str) -> None:
    refused = await office.api.post(PATH, office.body(fields=[radio(**more)]))
    assert (refused.status_code, why in refused.json()["error"]) == (400, True), refused.text


async def test_signing_page_has_a_radio_button_for_each_option(office: Office) -> None:
    document = await office.create(fields=[radio()], send=True)
    field_id = field_of(document)["id"]
    async with on_page(office, document) as (browser, own):
        page = (await browser.get(own, headers={"Accept": "text/html"})).text
        assert re.findall(rf'<input type="radio"[^>]* name="{field_id}"[^>]* value="([^"]+)"', page) == OPTIONS
        form = {"act": "sign", "consent": "yes", "signature": "Ann", field_id: "No"}
        answer = await browser.post(own, data=form, headers={"Accept": "text/html"})
        assert answer.status_code in (200, 303), answer.text
    assert field_of(await office.completed(document))["value"] == "No"
