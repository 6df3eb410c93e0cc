"""Dates: the server fills the signing date, and nobody but people fills any other."""

import re
from typing import Any

import pytest

from tests.api.signing.conftest import Office, signer
from tests.pdf.papers import text_of

pytestmark = pytest.mark.anyio

HTML = {"Accept": "text/html"}


def field(kind: str, at: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": kind, "page": 1, "x": 0.1, "y": 0.2 + 0.06 * at, "w": 0.4, "h": 0.04, "party": "Ann", **more}


def by_label(document: Any) -> dict[str, Any]:
    return {one["label"]: one for one in document["fields"]}


async def test_a_required_date_stays_empty_until_the_signer_fills_it(office: Office) -> None:
    document = await office.create(fields=[field("date", label="Date of birth")], send=True)
    where = by_label(document)["Date of birth"]["id"]
    async with office.session(document, "ann") as browser:
        page = (await browser.get("", headers=HTML)).text
        [box] = re.findall(rf'<input id="{where}"[^>]*>', page)
        assert 'type="date"' in box
        assert 'value=""' in box
        assert " required" in box
        assert "data-own" not in box, "the script must not take the field for a filled one"
    refused = await office.sign(document, "ann")
    assert (refused.status_code, refused.json()["error"]) == (400, "Date of birth: This field is required")
    assert (await office.sign(document, "ann", values={where: "1984-02-29"})).status_code == 200
    found = await office.completed(document)
    assert by_label(found)["Date of birth"]["value"] == "1984-02-29"
    sealed = (await office.api.get(f"/api/v1/documents/{found['id']}/signed")).content
    assert "29 February 1984" in text_of(sealed, 1)


async def test_an_optional_date_left_empty_is_sealed_empty(office: Office) -> None:
    document = await office.create(fields=[field("date", label="Move-in", required=False)], send=True)
    assert (await office.sign(document, "ann")).status_code == 200
    found = await office.completed(document)
    assert by_label(found)["Move-in"]["value"] is None
    sealed = (await office.api.get(f"/api/v1/documents/{found['id']}/signed")).content
    assert "2026" not in text_of(sealed, 1)


@pytest.mark.parametrize(("zone", "day"), [(None, "2026-03-01"), ("Pacific/Kiritimati", "2026-03-02")])
async def test_the_signing_date_is_the_day_where_the_signer_is(office: Office, zone: str | None, day: str) -> None:
    ann = signer("ann", **({"time_zone": zone} if zone else {}))
    document = await office.create(signers=[ann], fields=[field("date_signed", label="Signed on")], send=True)
    assert by_label(document)["Signed on"]["read_only"] is True
    assert (await office.sign(document, "ann")).status_code == 200
    assert by_label(await office.completed(document))["Signed on"]["value"] == day


async def test_nobody_writes_the_signing_date(office: Office) -> None:
    asked = field("date_signed", label="Signed on")
    for body in ({"fields": [{**asked, "default": "2020-01-01"}]}, {"fields": [asked], "values": {"Signed on": "x"}}):
        answer = await office.api.post("/api/v1/documents", office.body(**body))
        assert answer.status_code == 400
        assert "filled in with the day of signing" in answer.json()["error"]
    document = await office.create(fields=[asked], send=True)
    where = by_label(document)["Signed on"]["id"]
    refused = await office.sign(document, "ann", values={where: "2020-01-01"})
    assert (refused.status_code, "filled in when you sign" in refused.json()["error"]) == (400, True)
    async with office.session(document, "ann") as browser:
        page = (await browser.get("", headers=HTML)).text
    [box] = re.findall(rf'<input id="{where}"[^>]*>', page)
    assert "readonly" in box
    assert "1 March 2026" in box
    assert "filled in when you sign" in page


async def test_no_condition_names_the_signing_date(office: Office) -> None:
    fields = [
        field("date_signed", label="Signed on"),
        field("text", 1, label="Why", show_if={"field": "Signed on", "equals": "2026-03-01"}),
    ]
    answer = await office.api.post("/api/v1/documents", office.body(fields=fields))
    assert (answer.status_code, "could never be shown" in answer.json()["error"]) == (400, True)


async def test_a_read_only_date_needs_a_value_of_the_sender(office: Office) -> None:
    asked = field("date", label="Start", read_only=True)
    refused = await office.api.post("/api/v1/documents", office.body(fields=[asked]))
    assert (refused.status_code, "needs a default" in refused.json()["error"]) == (400, True)
    document = await office.create(fields=[asked], values={"Start": "2026-05-03"}, send=True)
    assert (await office.sign(document, "ann")).status_code == 200
    assert by_label(await office.completed(document))["Start"]["value"] == "2026-05-03"


async def test_a_signing_date_too_small_to_print_is_refused(office: Office) -> None:
    answer = await office.api.post("/api/v1/documents", office.body(fields=[field("date_signed", w=0.02)]))
    assert answer.status_code == 400, "nobody could sign such a document"


async def test_a_sent_signing_date_can_be_written_back(office: Office) -> None:
    draft = await office.create(fields=[field("date_signed", label="Signed on")])
    path = f"/api/v1/documents/{draft['id']}"
    again = await office.api.call("PATCH", path, json={"fields": draft["fields"]})
    assert again.status_code == 200, again.text
    assert by_label(again.json())["Signed on"]["type"] == "date_signed"
