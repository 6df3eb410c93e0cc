"""Signatures and initials by hand: strokes that are sealed as lines, and typed names in the hand that was shown."""

import hashlib
import io
import re
from typing import Any

import msgspec
import pikepdf
import pytest

from deedbox.kernel import limits
from deedbox.pdf.marks.strokes import PadDrawing
from tests.api.answers import faults
from tests.api.signing.conftest import Office, signer
from tests.pdf.drawings import drawn
from tests.pdf.test_strokes import curves, kinds

pytestmark = pytest.mark.anyio
PATH = "/api/v1/documents"
PLACE = {"page": 1, "x": 0.1, "w": 0.3, "h": 0.06, "signer": "ann@example.com"}
POINT = [1, 1, 0, 0]


async def sealed(office: Office, document: Any) -> tuple[bytes, Any]:
    """The sealed file, and its evidence."""
    await office.completed(document)
    file, evidence = [await office.api.get(f"{PATH}/{document['id']}/{name}") for name in ("signed", "evidence")]
    return file.content, evidence.json()


async def test_strokes_are_sealed_as_lines_and_the_evidence_names_them(office: Office) -> None:
    fields = [{"type": "signature", **PLACE, "y": 0.2}, {"type": "initials", **PLACE, "y": 0.5}]
    document = await office.create(fields=fields, send=True)
    signature, initials = drawn(), drawn(600, 300, force=0.7)
    assert (await office.sign(document, "ann", signature=signature, initials=initials)).status_code == 200
    file, evidence = await sealed(office, document)
    with pikepdf.open(io.BytesIO(file)) as pdf:
        assert ("/Image" in kinds(pdf), curves(pdf) > 600) == (False, True)
    certificate = (await office.api.get(f"{PATH}/{document['id']}/certificate")).content
    with pikepdf.open(io.BytesIO(certificate)) as pdf:
        assert curves(pdf) > 300
    marks = {mark["field_id"]: mark for mark in evidence["signers"][0]["marks"]}
    for field, given in zip(document["fields"], (signature, initials), strict=True):
        mark, drawing = marks[field["id"]], {name: value for name, value in given.items() if name != "kind"}
        kept = msgspec.json.encode(msgspec.convert(drawing, PadDrawing))
        assert (mark["kind"], mark["text"], mark["image_sha256"]) == ("drawn", None, None)
        assert mark["strokes_sha256"] == hashlib.sha256(kept).hexdigest()
        [[location]] = await office.api.rows(f"select location from blobs where sha256 = '{mark['strokes_sha256']}'")
        assert await office.api.deedbox.blobs.read(location, limits.MB) == kept
    trail = (await office.api.get(f"{PATH}/{document['id']}/audit")).json()["audit"]
    [signed] = [entry["detail"] for entry in trail if entry["act"] == "signer.signed"]
    assert len(signed["signature"]["strokes_sha256"]) == 64


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "Send exactly one of `strokes` and `image`."),
    ({"strokes": [[POINT]], "image": "data:image/png;base64,AAAA"}, "Send exactly one of `strokes` and `image`."),
    ({"strokes": []}, "strokes"),
    ({"strokes": [[]]}, "strokes"),
    ({"strokes": [[[1, 1, 0]]]}, "strokes"),
    ({"strokes": [[[1, 1, 2, 0]]]}, "strokes"),
    ({"strokes": [[[-1, 1, 0, 0]]]}, "strokes"),
    ({"strokes": [[[601, 1, 0, 0]]], "width": 600}, "outside of its pad of 600 by 360"),
    ({"strokes": [[[1, 1, 0, 0]]], "height": 0}, "height"),
    ({"strokes": [[POINT]] * (limits.DRAWING_STROKES + 1)}, "strokes"),
    ({"strokes": [[POINT] * 5001] * 2}, "at most 10,000 points"),
]


async def test_what_is_no_drawing_is_refused_and_nothing_is_signed(office: Office) -> None:
    document = await office.create(send=True)
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        for given, told in REFUSED:
            body = {"consent": True, "signature": {"kind": "drawn", **given}}
            refused = await browser.post("/complete", json=body)
            assert (faults("/sign/complete", refused, 400), told in refused.json()["error"]) == ([], True), given
        for number in ("NaN", "Infinity", "1e999"):
            sent = f'{{"consent":true,"signature":{{"kind":"drawn","strokes":[[[{number},1,0,0]]]}}}}'
            answer = await browser.post("/complete", content=sent, headers={"Content-Type": "application/json"})
            assert answer.status_code == 400, number
    assert (await office.document(document["id"]))["status"] == "sent"


async def test_a_typed_signature_is_sealed_in_the_hand_that_was_shown(office: Office) -> None:
    document = await office.create(send=True)
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        seen = await browser.get("/hand.svg", params={"text": "Ann", "hand": "vibes"})
        assert (seen.status_code, seen.headers["content-type"]) == (200, "image/svg+xml")
        assert b"<path" in seen.content
        assert b"<text" not in seen.content
        unread = await browser.get("/hand.svg?text=Ann&hand=vibes", headers={"If-None-Match": seen.headers["etag"]})
        assert (unread.status_code, unread.content) == (304, b"")
        other = await browser.get("/hand.svg", params={"text": "Ann", "hand": "caveat"})
        assert (other.content != seen.content, other.headers["etag"] != seen.headers["etag"]) == (True, True)
        signature = {"kind": "typed", "text": "Ann", "hand": "vibes"}
        assert (await browser.post("/complete", json={"consent": True, "signature": signature})).status_code == 200
    file, evidence = await sealed(office, document)
    [mark] = evidence["signers"][0]["marks"]
    assert (mark["kind"], mark["text"], mark["hand"]) == ("typed", "Ann", "vibes")
    with pikepdf.open(io.BytesIO(file)) as pdf:
        used = {str(one.FontName) for one in pdf.objects if isinstance(one, pikepdf.Dictionary) and "/FontName" in one}
    assert any("GreatVibes" in name for name in used)


async def test_what_no_hand_can_write_is_refused_and_only_a_signer_has_one(office: Office) -> None:
    document = await office.create(send=True)
    [signer] = [one["id"] for party in document["parties"] for one in party["signers"]]
    async with office.session(document, "ann") as browser:
        long = f"text={'x' * 201}"
        for query in ("", "text=", "text=Ann&hand=courier", long, "text=%00", "text=%F0%9F%98%80", "text=Ann&size=3"):
            assert faults("/sign/hand.svg", await browser.get(f"/hand.svg?{query}"), 400) == [], query
    async with office.api.client() as stranger:
        assert (await stranger.get(f"/sign/{signer}/hand.svg?text=Ann")).status_code == 401


async def test_a_signature_too_small_for_its_name_is_refused_with_the_size(office: Office) -> None:
    people = [{**signer("ann"), "name": "Maximiliane von Hohenstein-Waldburg"}]
    place: dict[str, Any] = {"type": "signature", "signer": "ann@example.com", "page": 1, "x": 0.1, "y": 0.8}

    async def asked(w: float, h: float) -> Any:
        return await office.api.post(
            "/api/v1/documents", office.body(signers=people, fields=[{**place, "w": w, "h": h}])
        )

    for small in ((0.05, 0.06), (0.5, 0.01)):
        refused = await asked(*small)
        assert refused.status_code == 400
        assert "too small for 'Maximiliane von Hohenstein-Waldburg'" in refused.json()["error"]
        [w, h] = re.findall(r"\b[wh] (0\.\d+)", refused.json()["error"])
    made = await asked(float(w), float(h))
    assert made.status_code == 201, made.text
    assert (await office.api.post(f"/api/v1/documents/{made.json()['id']}/send")).status_code == 200
    signature = {"kind": "typed", "text": "Maximiliane von Hohenstein-Waldburg"}
    assert (await office.sign(made.json(), "ann", signature=signature)).status_code == 200


async def test_initials_too_small_to_be_read_are_refused(office: Office) -> None:
    place = {"type": "initials", "signer": "ann@example.com", "page": 1, "x": 0.1, "y": 0.8, "w": 0.005, "h": 0.02}
    refused = await office.api.post("/api/v1/documents", office.body(fields=[place]))
    assert (refused.status_code, "too small for 'A'" in refused.json()["error"]) == (400, True)


LONG = "Wolfeschlegelsteinhausenbergerdorff Maximilian Alexander"
SMALL: dict[str, Any] = {"signer": "al@example.com", "page": 1, "x": 0.1, "y": 0.8, "w": 0.08, "h": 0.03}


def small(kind: str) -> list[dict[str, Any]]:
    """A field that holds a short name or address of Al, beside a signature that holds any."""
    beside = [{**SMALL, "type": "signature", "y": 0.5, "w": 0.6, "h": 0.1}] if kind != "signature" else []
    return [{**SMALL, "type": kind, **({"w": 0.025} if kind == "initials" else {})}, *beside]


@pytest.mark.parametrize(("kind", "text"), [("signature", LONG), ("initials", "WWMM"), ("name", LONG)])
async def test_create_correct_and_delegate_refuse_a_name_that_does_not_fit(
    office: Office, kind: str, text: str
) -> None:
    name = "Wolfgang Wilhelm Maximilian Wunderbar-Wallner Moll" if kind == "initials" else LONG
    people, fields = [{**signer("al"), "delegation": True}], small(kind)
    at_once = await office.api.post(PATH, office.body(signers=[{**people[0], "name": name}], fields=fields))
    document = await office.create(signers=people, fields=fields, send=True)
    [someone] = [one["id"] for party in document["parties"] for one in party["signers"]]
    corrected = await office.api.call("PATCH", f"{PATH}/{document['id']}/signers/{someone}", json={"name": name})
    assert at_once.status_code == corrected.status_code == 400, corrected.text
    assert corrected.json()["error"] == at_once.json()["error"]
    assert f"The {kind} on page 1 is " in corrected.json()["error"]
    assert "Make it at least " in corrected.json()["error"]
    async with office.session(document, "al") as browser:
        await browser.get("/session")
        to = {"name": name, "email": "other@example.com"}
        refused = await browser.post("/delegate", json=to)
        assert (refused.status_code, faults("/sign/delegate", refused, 400)) == (400, [])
        assert f"{kind.title()}: “" in refused.json()["error"]
        [least] = re.findall(r"Make it at least (\d+ × \d+) points", corrected.json()["error"])
        assert f"it needs {least}." in refused.json()["error"]
        page = await browser.post("", data={"act": "delegate", **to})
        assert (page.status_code, f"it needs {least}." in page.text) == (400, True)
        assert (await browser.post("/delegate", json={**to, "name": "Bo"})).status_code == 200
    assert (await office.document(document["id"]))["status"] == "sent"


async def test_an_address_is_corrected_whatever_the_size_of_other_fields(office: Office) -> None:
    document = await office.create(signers=[signer("al")], fields=small("signature"), send=True)
    [someone] = [one["id"] for party in document["parties"] for one in party["signers"]]
    await office.api.deedbox.db.write(lambda tx: tx.run("update fields set w = 0.001 where type = 'signature'"))
    place = f"{PATH}/{document['id']}/signers/{someone}"
    assert (await office.api.call("PATCH", place, json={"email": "al@example.org"})).status_code == 200


async def test_a_date_of_signing_too_small_is_refused_with_the_size(office: Office) -> None:
    place = {"type": "date_signed", "signer": "ann@example.com", "page": 1, "x": 0.1, "y": 0.8}
    refused = await office.api.post(PATH, office.body(fields=[{**place, "w": 0.01, "h": 0.01}]))
    told = refused.json()["error"]
    assert (refused.status_code, "The date_signed on page 1 is 6 × 8 points, too small for" in told) == (400, True)
    [w, h] = re.findall(r"\b[wh] (0\.\d+)", told)
    made = await office.create(fields=[{**place, "w": float(w), "h": float(h)}], send=True)
    assert (await office.sign(made, "ann")).status_code == 200
    narrower = {**place, "w": float(w) - 0.005, "h": float(h)}
    assert (await office.api.post(PATH, office.body(fields=[narrower]))).status_code == 400
