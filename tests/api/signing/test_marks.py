"""What stands on the pages of a signed document: values on their line, in its language, large enough to be read."""

import base64
import io
from typing import Any

import numpy as np
import pikepdf
import pytest
from PIL import Image

from tests.api.signing.conftest import Office, signer
from tests.pdf.papers import lines, paper, scribble, text_of

pytestmark = pytest.mark.anyio
PATH = "/api/v1/documents"
SMALL = {"page": 1, "x": 0.1, "y": 0.2, "w": 0.1, "h": 0.02, "signer": "ann@example.com"}


def drawn(kind: str = "drawn") -> dict[str, str]:
    return {"kind": kind, "image": "data:image/png;base64," + base64.b64encode(scribble()).decode()}


def a_file(content: bytes) -> dict[str, str]:
    return {"name": "lease.pdf", "content_base64": base64.b64encode(content).decode()}


async def sealed(office: Office, document: Any) -> bytes:
    await office.completed(document)
    return bytes((await office.api.get(f"{PATH}/{document['id']}/signed")).content)


async def marks_of(office: Office, document: Any) -> list[Any]:
    evidence = (await office.api.get(f"{PATH}/{document['id']}/evidence")).json()
    return [mark for one in evidence["signers"] for mark in one["marks"]]


async def test_what_would_be_printed_too_small_is_refused_where_it_is_entered(office: Office) -> None:
    document = await office.create(fields=[{"type": "text", "label": "City", **SMALL}], send=True)
    [city] = [field["id"] for field in document["fields"] if field["type"] == "text"]
    refused = await office.sign(document, "ann", values={city: "Llanfairpwllgwyngyllgogerychwyrndrobwll"})
    assert (refused.status_code, refused.json()["error"]) == (
        400, "City: This is too long for its field: about 18 characters fit",
    )  # fmt: skip
    async with office.session(document, "ann") as browser:
        kept = await browser.put("/fields", json={"values": {city: "Llanfairpwllgwyngyllgogerychwyrndrobwll"}})
        assert "about 18 characters fit" in kept.json()["error"]
    assert (await office.sign(document, "ann", values={city: "Llanfairpwllgwyng"})).status_code == 200
    assert "Llanfairpwllgwyng" in text_of(await sealed(office, document))


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"type": "text", "default": "A default that is far too long for it"}, "too long for its field: about"),
        (
            {"type": "select", "options": ["Yes", "Only if the weather is fine on that day"]},
            "too long for its field: about",
        ),
        ({"type": "email", "signer": "ann.with.a.long.address@example.com"}, "The email on page 1 is "),
        ({"type": "name", "signer": "ann.with.a.long.address@example.com"}, "The name on page 1 is "),
    ],
    ids=["default", "option", "e-mail address", "name"],
)
@pytest.mark.one_database
async def test_what_the_sender_gives_must_fit_as_well(office: Office, field: dict[str, Any], message: str) -> None:
    long = {"name": "Ann Theodora Wilhelmina Cholmondeley", "email": "ann.with.a.long.address@example.com"}
    body = office.body(signers=[signer("ann"), long], fields=[{**SMALL, **field}])
    answer = await office.api.post(PATH, body)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


async def test_a_typed_signature_must_fit_its_field(office: Office) -> None:
    field = {"type": "signature", **SMALL, "h": 0.05}
    document = await office.create(fields=[field], send=True)
    signature = {"kind": "typed", "text": "Ann Theodora Wilhelmina Cholmondeley-Featherstonehaugh"}
    refused = await office.sign(document, "ann", signature=signature)
    assert refused.status_code == 400
    assert refused.json()["error"].startswith("Your signature on page 1 is too long for its field: about")
    assert (await office.document(document["id"]))["status"] == "sent"


@pytest.mark.parametrize("initials", [None, {"kind": "typed", "text": "a.k."}, drawn(), drawn("uploaded")])
async def test_initials_are_those_that_were_given_or_those_of_the_name(office: Office, initials: Any) -> None:
    fields = [{"type": "initials", **SMALL, "h": 0.05}, {"type": "signature", **SMALL, "y": 0.5, "w": 0.3, "h": 0.06}]
    people = [{"name": "Ann Example", "email": "ann@example.com"}]
    document = await office.create(signers=people, fields=fields, send=True)
    given = {} if initials is None else {"initials": initials}
    assert (await office.sign(document, "ann", **given)).status_code == 200
    text = text_of(await sealed(office, document))
    by_type = {field["id"]: field["type"] for field in document["fields"]}
    marks = {by_type[mark["field_id"]]: mark for mark in await marks_of(office, document)}
    assert (marks["signature"]["kind"], marks["signature"]["text"]) == ("typed", "Ann")
    if initials is None or initials["kind"] == "typed":
        expected = "AE" if initials is None else "a.k."
        assert (marks["initials"]["kind"], marks["initials"]["text"]) == ("typed", expected)
        assert expected in text.split()
    else:
        assert (marks["initials"]["kind"], marks["initials"]["text"]) == (initials["kind"], None)
        assert len(marks["initials"]["image_sha256"]) == 64
        assert "AE" not in text.split()


async def test_what_is_no_picture_of_initials_is_refused(office: Office) -> None:
    document = await office.create(send=True)
    refused = await office.sign(document, "ann", initials={"kind": "drawn", "image": "data:image/png;base64,AAAA"})
    assert refused.status_code == 400
    assert (await office.document(document["id"]))["status"] == "sent"


@pytest.mark.parametrize(
    ("language", "signed", "day"),
    [("en", "Signed by Ann", "15 November 2026"), ("de", "Unterschrieben von Ann", "15. November 2026")],
)
async def test_captions_and_dates_are_in_the_document_s_language(
    office: Office, language: str, signed: str, day: str
) -> None:
    field = {"type": "date", **SMALL, "w": 0.3}
    document = await office.create(language=language, fields=[field], send=True)
    [when] = [field["id"] for field in document["fields"] if field["type"] == "date"]
    refused = await office.sign(document, "ann", values={when: "next week"})
    assert (refused.status_code, "2026-05-03" in refused.json()["error"]) == (400, True)
    assert (await office.sign(document, "ann", values={when: "2026-11-15"})).status_code == 200
    made = await sealed(office, document)
    text = text_of(made, 1) + text_of(made, 2)
    assert signed in text
    assert day in text
    found = await office.document(document["id"])
    assert [one["value"] for one in found["fields"] if one["type"] == "date"] == ["2026-11-15"]


async def test_nobody_sees_a_tag(office: Office) -> None:
    content = lines("Place: {{text:Ann:Place}} and on", x=60, y=600) + lines("{{signature:Ann}}", x=60, y=300)
    document = await office.create(file=a_file(paper(b"0.8 0.9 1 rg 0 0 999 999 re f 0 g " + content)), send=True)
    [place] = [field["id"] for field in document["fields"] if field["type"] == "text"]
    picture = (await office.api.get(f"{PATH}/{document['id']}/pages/1.webp")).content
    page = np.asarray(Image.open(io.BytesIO(picture)).convert("L"))
    lower = page[int(page.shape[0] * 0.4) :]
    assert lower.max() - lower.min() < 4, "the place of the signature is not empty"
    assert (await office.sign(document, "ann", values={place: "Göttingen"})).status_code == 200
    made = await sealed(office, document)
    assert "{{" not in text_of(made)
    assert {"Place:", "Göttingen", "and", "on"} <= set(text_of(made).split())
    with pikepdf.open(io.BytesIO(made)) as pdf:
        streams = [one.read_bytes() for one in pdf.objects if isinstance(one, pikepdf.Stream) and "/Type" not in one]
    assert not any(tag in stream for stream in streams for tag in (b"{{text", b"{{signature"))


async def test_a_font_size_is_kept_and_bounded(office: Office) -> None:
    made = await office.create(fields=[{"type": "text", **SMALL, "h": 0.05, "font_size": 20}])
    assert [field["font_size"] for field in made["fields"] if field["type"] == "text"] == [20]
    answer = await office.api.post(PATH, office.body(fields=[{"type": "text", **SMALL, "font_size": 5}]))
    assert answer.status_code == 400


async def test_a_name_that_runs_from_the_right_does_not_take_the_day_with_it(office: Office) -> None:
    document = await office.create(signers=[{**signer("ann"), "name": "דוד כהן"}], send=True)
    assert (await office.sign(document, "ann")).status_code == 200
    text = text_of(await sealed(office, document), 2)
    assert " · 1 March 2026" in text
