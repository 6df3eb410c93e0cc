"""What a field may hold is checked where it is entered: by the sender, in the session and on the plain page."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest

from deedbox import i18n
from deedbox.i18n import numbers
from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch
from deedbox.web import limits as web_limits
from tests.api.signing.conftest import Office, signer
from tests.pdf.papers import text_of

pytestmark = pytest.mark.anyio

HTML = {"Accept": "text/html"}
FORM = {"act": "sign", "consent": "yes", "signature": "Ann"}
KINDS = ("date", "email", "number", "select", "checkbox", "text")


def field(kind: str, at: int = 0, **more: Any) -> dict[str, Any]:
    place = {"page": 1, "x": 0.1, "y": 0.1 + 0.06 * at, "w": 0.4, "h": 0.04, "signer": "ann@example.com"}
    options = {"options": ["red", "blue"]} if kind == "select" else {}
    return {"type": kind, "label": kind.title(), **place, **options, **more}


async def with_fields(office: Office, *fields: dict[str, Any], language: str = "en", **more: Any) -> Any:
    return await office.create(fields=list(fields), language=language, send=True, **more)


def ids(document: Any) -> dict[str, str]:
    return {one["type"]: one["id"] for one in document["fields"]}


def values(document: Any) -> dict[str, str]:
    return {one["type"]: one["value"] for one in document["fields"]}


@asynccontextmanager
async def on_page(office: Office, document: Any) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    async with office.session(document, "ann") as browser:
        own = browser.base_url.path.rstrip("/")
        browser.base_url = browser.base_url.copy_with(path="/")
        assert (await browser.get(own, headers=HTML)).status_code == 200
        yield browser, own


WRONG = [
    ("date", "03.05.2026", "2026-05-03"),
    ("date", "2026-13-01", "2026-05-03"),
    ("date", "2026-02-30", "2026-05-03"),
    ("date", "20260503", "2026-05-03"),
    ("date", "2026-W19-1", "2026-05-03"),
    ("date", "tomorrow", "2026-05-03"),
    ("email", "ann", "name@example.com"),
    ("email", "ann@", "name@example.com"),
    ("email", "a b@example.com", "name@example.com"),
    ("number", "twelve", "1,234.5"),
    ("number", "1,23", "1,234.5"),
    ("number", "1.2.3", "1,234.5"),
    ("number", "1e5", "1,234.5"),
    ("number", "007", "1,234.5"),
    ("number", "NaN", "1,234.5"),
    ("select", "green", "red, blue"),
    ("checkbox", "yes", "true or false"),
]


@pytest.mark.parametrize(("kind", "value", "help"), WRONG)
async def test_a_value_that_is_none_is_refused_by_the_session_when_it_is_kept_and_when_it_is_signed(
    office: Office, kind: str, value: str, help: str
) -> None:
    document = await with_fields(office, field(kind, required=False))
    where = ids(document)[kind]
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        kept = await browser.put("/fields", json={"values": {where: value}})
        body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}, "values": {where: value}}
        signed = await browser.post("/complete", json=body)
        for answer in (kept, signed):
            assert answer.status_code == 400, answer.text
            assert answer.json()["error"].startswith(f"{kind.title()}: ")
            assert help in answer.json()["error"]
        assert {one["value"] for one in (await browser.get("/session")).json()["fields"]} == {None}
    assert (await office.document(document["id"]))["status"] == "sent"


@pytest.mark.parametrize(
    ("kind", "value"),
    [*((kind, value) for kind, value, _ in WRONG), ("number", "1,234.5"), ("signature", "Ann"), ("date", "2026-5-3")],
)
@pytest.mark.one_database
async def test_a_default_that_is_none_is_refused_when_the_document_is_made(
    office: Office, kind: str, value: str
) -> None:
    answer = await office.api.post("/api/v1/documents", office.body(fields=[field(kind, default=value)]))
    assert answer.status_code == 400, answer.text
    draft = await office.create()
    change = {"fields": [field(kind, default=value)]}
    assert (await office.api.call("PATCH", f"/api/v1/documents/{draft['id']}", json=change)).status_code == 400


async def test_good_values_are_kept_in_one_form_and_printed_in_the_documents_language(office: Office) -> None:
    fields = [field(kind, at) for at, kind in enumerate(KINDS)]
    document = await with_fields(office, *fields, language="de", signers=[signer("ann", language="fr")])
    where = ids(document)
    given = {
        where["date"]: " 2026-05-03 ",
        where["email"]: "ann@example.org",
        where["number"]: "1\u202f234\u202f567,50",
        where["select"]: "blue",
        where["checkbox"]: "true",
        where["text"]: "1.234",
    }
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        assert (await browser.put("/fields", json={"values": given})).status_code == 200
        shown = {one["type"]: one["value"] for one in (await browser.get("/session")).json()["fields"]}
        assert (shown["number"], shown["date"]) == ("1234567.50", "2026-05-03")
        again = await browser.put("/fields", json={"values": {where["number"]: shown["number"]}})
        assert again.status_code == 200, "what is read can be written back"
    assert (await office.sign(document, "ann")).status_code == 200
    done = await office.completed(document)
    assert values(done) | {"signature": ""} == {
        "date": "2026-05-03",
        "email": "ann@example.org",
        "number": "1234567.50",
        "select": "blue",
        "checkbox": "true",
        "text": "1.234",
        "signature": "",
    }
    sealed = (await office.api.get(f"/api/v1/documents/{done['id']}/signed")).content
    assert "1.234.567,50" in text_of(sealed, 1)
    assert "3. Mai 2026" in text_of(sealed, 1)
    certificate = (await office.api.get(f"/api/v1/documents/{done['id']}/certificate")).content
    assert "1.234.567,50" in "".join(text_of(certificate, page) for page in (1, 2))


async def test_a_program_s_number_with_two_readings_is_refused_and_the_two_ways_out_are_told(office: Office) -> None:
    document = await with_fields(office, field("number"), language="de")
    where = ids(document)["number"]
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        refused = await browser.put("/fields", json={"values": {where: "1.234"}})
        assert (refused.status_code, refused.json()["error"]) == (
            400,
            "Number: 1.234 kann als zwei verschiedene Zahlen gelesen werden; geben Sie 1234 oder 1,234 ein",
        )
        for text, kept in (("1234", "1234"), ("1,234", "1.234"), ("1.234,5", "1234.5"), ("0.5", "0.5")):
            assert (await browser.put("/fields", json={"values": {where: text}})).status_code == 200
            assert (await browser.get("/session")).json()["fields"][0]["value"] == kept


async def test_a_cleared_default_stays_cleared_and_one_left_alone_holds(office: Office) -> None:
    cleared = await with_fields(office, field("text", default="Bonn", required=False))
    left = await with_fields(office, field("text", default="Bonn", required=False))
    needed = await with_fields(office, field("text", default="Bonn"))
    assert (await office.sign(cleared, "ann", values={ids(cleared)["text"]: ""})).status_code == 200
    assert (await office.sign(left, "ann")).status_code == 200
    assert values(await office.completed(cleared))["text"] is None
    assert values(await office.completed(left))["text"] == "Bonn"
    refused = await office.sign(needed, "ann", values={ids(needed)["text"]: "   "})
    assert (refused.status_code, refused.json()["error"]) == (400, "Text: This field is required")


@pytest.mark.parametrize("language", i18n.LANGUAGES)
async def test_the_page_says_what_is_wrong_beside_each_field_in_the_signers_language_and_keeps_all(
    office: Office, language: str
) -> None:
    fields = [field(kind, at) for at, kind in enumerate(KINDS)]
    document = await with_fields(office, *fields, signers=[signer("ann", language=language)])
    where = ids(document)
    said = i18n.of_use(language, "refusal")
    typed = {where["date"]: "3rd of May", where["email"]: "ann at home", where["number"]: "1..5", where["text"]: "Bonn"}
    async with on_page(office, document) as (browser, own):
        page = await browser.post(own, data={**FORM, **typed, where["select"]: ""}, headers=HTML)
        assert page.status_code == 400
        told = dict(re.findall(r'role="alert" id="(fld_\w+)-wrong">([^<]*)</p>', page.text))
        assert told == {
            where["date"]: said["date"],
            where["email"]: said["email"],
            where["number"]: said["number"].format(example=numbers.example(language)),
            where["select"]: said["required"],
            where["checkbox"]: said["required_tick"],
        }
        for field_id, text in typed.items():
            box = re.search(rf'<input id="{field_id}"[^>]*>', page.text)
            assert box is not None
            assert f'value="{text}"' in box[0], "what was typed stays"
            assert ('aria-describedby="' in box[0]) == (text != "Bonn")
        assert i18n.table(language)["page.wrong_fields"] in page.text
        amount = numbers.written(language, "-1234567.5")
        good = {where["date"]: "2026-05-03", where["email"]: "ann@example.org", where["number"]: amount}
        ticked = {where["select"]: "red", where["checkbox"]: "true", where["text"]: "Bonn"}
        assert (await browser.post(own, data={**FORM, **good, **ticked}, headers=HTML)).status_code == 303
    assert values(await office.document(document["id"]))["number"] == "-1234567.5"


async def test_the_page_shows_numbers_and_days_in_the_signers_language(office: Office) -> None:
    fields = [field("number", default="1234.50"), field("date", 1, default="2026-05-03")]
    document = await with_fields(office, *fields, signers=[signer("ann", language="de")])
    async with on_page(office, document) as (browser, own):
        page = (await browser.get(own, headers=HTML)).text
        assert 'value="1.234,50"' in page
        assert 'value="2026-05-03" type="date"' in page
        assert "3. Mai 2026" in page
        signed = await browser.post(own, data={**FORM, ids(document)["number"]: "1.234"}, headers=HTML)
        assert signed.status_code == 303
    assert values(await office.document(document["id"]))["number"] == "1234", "as a German writes it"


async def test_an_unticked_box_stays_unticked_when_something_else_is_wrong(office: Office) -> None:
    document = await with_fields(office, field("checkbox", default="true", required=False), field("number", 1))
    async with on_page(office, document) as (browser, own):
        page = await browser.post(own, data={**FORM, ids(document)["number"]: "?"}, headers=HTML)
        assert page.status_code == 400
        box = re.search(r'<input type="checkbox" name="fld_[^>]*>', page.text)
        assert box is not None
        assert "checked" not in box[0]


async def test_a_decline_that_fails_leaves_the_form_as_it_was(office: Office) -> None:
    fields = [field("text", default="Bonn"), field("number", 1), field("checkbox", 2, default="true")]
    document = await with_fields(office, *fields)
    async with on_page(office, document) as (browser, own):
        kept = {ids(document)["number"]: "1234.5"}
        assert (await browser.put(f"{own}/fields", json={"values": kept})).status_code == 200
        reason = "x" * (limits.REASON_CHARS + 1)
        page = await browser.post(own, data={"act": "decline", "reason": reason}, headers=HTML)
        assert page.status_code == 413
        assert f">{reason}</textarea>" in page.text
        form = (await browser.get(own, headers=HTML)).text
        for text in ('value="Bonn"', 'value="1,234.5"', r'<input[^>]*type="checkbox"[^>]* checked'):
            assert re.search(text, form), text


@pytest.mark.parametrize("language", i18n.LANGUAGES)
@pytest.mark.one_database
async def test_refusals_of_the_form_and_the_session_are_in_the_signers_language(office: Office, language: str) -> None:
    people = [signer("ann", language=language), signer("bob")]
    document = await office.create(signers=people, send=True)
    said = i18n.of_use(language, "refusal")
    async with on_page(office, document) as (browser, own):
        assert said["no_act"] in (await browser.post(own, data={}, headers=HTML)).text
        assert said["consent"] in (await browser.post(own, data={"act": "sign", "signature": "Ann"}, headers=HTML)).text
        unsigned = await browser.post(own, data={**FORM, "signature": " "}, headers=HTML)
        assert said["no_signature"] in unsigned.text
        long = await browser.post(own, data={**FORM, "signature": "x" * 201}, headers=HTML)
        assert said["too_long"].format(most="200") in long.text
        unknown = await browser.post(own, data={**FORM, "signature": "\ufdd0"}, headers=HTML)
        assert said["signature_unprintable"].partition("{")[0].strip() in unknown.text
        assert (await browser.post(own, data=FORM, headers=HTML)).status_code == 303
        body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
        again = await browser.post(f"{own}/complete", json=body)
        assert (again.status_code, again.json()["error"]) == (409, said["already_signed"])
        early = await browser.get(f"{own}/download")
        assert (early.status_code, early.json()["error"]) == (409, said["not_completed"])


async def test_a_form_that_is_not_utf_8_is_refused_and_nothing_is_signed(office: Office) -> None:
    document = await with_fields(office, field("text"))
    body = f"act=sign&consent=yes&signature=Ann&{ids(document)['text']}=M%FCller".encode()
    headers = {**HTML, "Content-Type": "application/x-www-form-urlencoded"}
    async with on_page(office, document) as (browser, own):
        for bad in (body, body.replace(b"%FC", b"\xfc")):
            answer = await browser.post(own, content=bad, headers=headers)
            assert answer.status_code == 400
            assert i18n.table("en")["page.refused_400"] in answer.text
        many = "&".join(["x=1"] * (web_limits.PAGE_FORM_FIELDS + 1))
        assert (await browser.post(own, content=many, headers=headers)).status_code == 400
        good = body.replace(b"%FC", "ü".encode())
        assert (await browser.post(own, content=good, headers=headers)).status_code == 303
    assert values(await office.document(document["id"]))["text"] == "Müller"


@pytest.mark.one_database
async def test_a_form_of_all_documents_of_a_packet_is_read_and_not_while_others_wait(office: Office) -> None:
    """A signer may have more fields in a packet than one document has, and 8 MB of escapes take a second to read."""
    document = await with_fields(office, field("text"))
    own_field = f"{ids(document)['text']}=x".encode()
    headers = {**HTML, "Content-Type": "application/x-www-form-urlencoded"}
    many = b"&".join([b"fld_%d=x&fld_%d-shown=1" % (one, one) for one in range(2100)] + [own_field, b"act=keep"])
    async with on_page(office, document) as (browser, own):
        assert (await browser.post(own, content=many, headers=headers)).status_code == 303
        longest, reading = 0.0, True

        async def beat() -> None:
            nonlocal longest
            while reading:
                begun = stopwatch()
                await asyncio.sleep(0)
                longest = max(longest, stopwatch() - begun)

        escaped = b"act=keep&" + own_field + b"&other=" + b"%41" * limits.MB
        begun = stopwatch()
        parse_qsl(escaped.decode())
        alone = stopwatch() - begun
        heart = asyncio.create_task(beat())
        kept = await browser.post(own, content=escaped, headers=headers)
        reading = False
        await heart
        assert kept.status_code == 303
        assert longest < alone / 2, "nobody else was answered while a form was read"
        large = await browser.post(own, content=b"x=" + b"A" * web_limits.SIGNING_BODY_BYTES, headers=headers)
        assert (large.status_code, 'value="x"' in large.text) == (413, True)
        assert "The image of your signature cannot be used. Use a PNG or JPEG of at most 2 MB" in large.text


def shared(kind: str, at: int = 0, **more: Any) -> dict[str, Any]:
    return {**field(kind, at, **more), "signer": None, "party": "Tenants"}


async def with_tenants(office: Office, *fields: dict[str, Any]) -> Any:
    tenants = {"name": "Tenants", "signers": [signer("ann"), signer("bob"), signer("cem")]}
    return await office.create(signers=[], parties=[tenants], fields=list(fields), send=True)


async def seen(office: Office, document: Any, name: str) -> dict[str, str]:
    """What stands in the person's fields, as the session and the page show it."""
    async with office.session(document, name) as browser:
        in_session = {one["type"]: one["value"] for one in (await browser.get("/session")).json()["fields"]}
        page = (await browser.get("", headers=HTML)).text
    for kind, value in in_session.items():
        box = re.search(rf'<input id="{ids(document)[kind]}"[^>]*>', page)
        told = "3 May 2026" if box and "readonly" in box[0] and kind == "date" else value or ""
        assert box is None or f'value="{told}"' in box[0], (kind, value, box[0])
    return in_session


KINDS_OF_OWN = ("date", "name", "email", "text")
ANNS = {"date": "2026-05-03", "name": "Ann and Bob", "email": "both@example.com", "text": "Bonn"}


async def test_what_a_colleague_has_signed_stands_and_nobody_changes_it(office: Office) -> None:
    document = await with_tenants(office, *(shared(kind, at) for at, kind in enumerate(KINDS_OF_OWN)))
    where = ids(document)
    async with office.session(document, "bob") as browser:
        draft = {where[kind]: text for kind, text in (("text", "Ulm"), ("name", "Bobby"))}
        assert (await browser.put("/fields", json={"values": draft})).status_code == 200
    given = {where[kind]: text for kind, text in ANNS.items()}
    assert (await office.sign(document, "ann", values=given)).status_code == 200
    shown = await seen(office, document, "bob")
    assert {kind: shown[kind] for kind in ANNS} == ANNS, "a draft from before the signature gives way"
    assert (await office.sign(document, "bob", values={where["email"]: ""})).status_code == 200
    stored = values(await office.document(document["id"]))
    assert {kind: stored[kind] for kind in ANNS} == ANNS
    async with office.session(document, "cem") as browser:
        change = {where["text"]: "Ulm", where["name"]: " "}
        assert (await browser.put("/fields", json={"values": change})).status_code == 400
    assert (await office.sign(document, "cem")).status_code == 200
    stored = values(await office.document(document["id"]))
    assert {kind: stored[kind] for kind in ANNS} == ANNS


async def test_after_signing_the_session_shows_what_was_signed_and_not_what_was_kept_before(office: Office) -> None:
    document = await with_tenants(office, shared("text", required=False), shared("number", 1))
    where = ids(document)
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        kept = {where["text"]: "Ulm", where["number"]: "1"}
        assert (await browser.put("/fields", json={"values": kept})).status_code == 200
        body = {"consent": True, "signature": {"kind": "typed", "text": "Ann"}}
        signed = await browser.post("/complete", json={**body, "values": {where["text"]: "", where["number"]: "2"}})
        assert signed.status_code == 200, signed.text
        shown = {one["type"]: one["value"] for one in (await browser.get("/session")).json()["fields"]}
    assert (shown["text"], shown["number"]) == (None, "2")
