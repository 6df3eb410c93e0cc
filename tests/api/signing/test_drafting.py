"""A document on its way over the pages: files, people, the sketch, review and send; on both databases."""

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from deedbox.pdf.intake import signed_input
from tests.api.conftest import Api
from tests.api.search.files import pdf
from tests.api.signing.conftest import LEASE, Office, signer
from tests.api.signing.test_incoming import LOCKED, PASSWORD
from tests.api.signing.test_papers import settled
from tests.api.signing.test_sketch import field
from tests.api.test_mail_page import owner
from tests.pdf.test_convert import docx

pytestmark = pytest.mark.anyio
PAGE = {"Accept": "text/html"}
TAGGED = pdf("{{signature:Tenant}} {{text:Tenant:Rent}}", "{{signature:Landlord}}", size=(595, 842))


@pytest.fixture
async def browser(office: Office) -> AsyncIterator[httpx.AsyncClient]:
    async with owner(office.api) as client:
        client.headers.update(PAGE)
        yield client


async def begun(browser: httpx.AsyncClient, *files: tuple[str, bytes], **typed: str) -> str:
    """The path of a draft of these files."""
    answer = await browser.post(
        "/app/new", data=typed, files=[("file", one) for one in files or [("lease.pdf", LEASE)]]
    )
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"]).removesuffix("/people")


def named(*steps: list[dict[str, Any]], **more: str) -> dict[str, str]:
    """The form of the people page, as its script posts it."""
    said = dict(more)
    for step, people in enumerate(steps):
        for at, one in enumerate(people):
            said |= {f"parties.{step}.signers.{at}.{name}": str(value) for name, value in one.items()}
    return said


def hidden(page: str, name: str) -> str:
    return unescape(re.search(rf'name="{re.escape(name)}"[^>]*? value="([^"]*)"', page)[1])  # type: ignore[index]


async def left(api: Api) -> list[Any]:
    """What has left this server, or is on its way."""
    return [await api.rows(f"select count(*) from {table}") for table in ("mails", "signing_links")]


async def review(browser: httpx.AsyncClient, path: str, **more: str) -> dict[str, str]:
    """The form of the review page as it stands, with what is typed."""
    page = (await browser.get(f"{path}/review")).text
    return {name: hidden(page, name) for name in ("once", "version", "title")} | more


async def test_nothing_leaves_before_send_and_a_double_press_sends_once(
    office: Office, browser: httpx.AsyncClient
) -> None:
    path = await begun(browser, ("Lease_of 2026.pdf", LEASE))
    people = named([signer("ann"), signer("ben"), signer("cy")], [signer("dora")])
    people |= {"parties.0.rule": "quorum", "parties.0.quorum": "2"}
    assert (await browser.post(f"{path}/people", data=people)).headers["location"] == f"{path}/fields"
    sketch = (await browser.get(f"{path}/sketch")).json()
    assert [(one["rule"], one["quorum"], one["order"]) for one in sketch["parties"]] == [
        ("quorum", 2, 1),
        ("all", None, 2),
    ]
    keys = [one["key"] for party in sketch["parties"] for one in party["signers"]]
    drawn = [field(key, f"f{n}", type="signature", y=0.1 + n / 8) for n, key in enumerate(keys)]
    drawn += [
        field(keys[0], "f9", label="Rent", y=0.7),
        field(keys[3], "f8", y=0.8, show_if={"field": "f9", "equals": "5"}),
    ]
    assert (
        await browser.put(f"{path}/sketch", json={"version": sketch["version"], "fields": drawn})
    ).status_code == 200
    form = await review(browser, path, subject="Sign, please", body="Thanks", days="30", first="2", every="3", most="4")
    document = await office.document(path.rpartition("/")[2])
    assert (document["status"], document["source"], document["title"]) == ("draft", "dashboard", "Lease of 2026")
    assert document["parties"] == []
    page = (await browser.get(f"{path}/review")).text
    assert "Send to 4 people" in page
    assert re.search(r'placeholder="[^"]+ asks you to sign: Lease of 2026"', page), "the usual subject"
    view = await browser.get(f"{path}/preview", params={"as": keys[3]})
    assert (view.status_code, view.text.count('class="mine"'), view.text.count('class="theirs"')) == (200, 2, 4)
    assert await left(office.api) == [[(0,)], [(0,)]]
    first, second = await browser.post(f"{path}/send", data=form), await browser.post(f"{path}/send", data=form)
    assert (first.status_code, first.headers["location"]) == (303, f"{path}?done=sent"), first.text
    assert second.headers["location"] == first.headers["location"]
    document = await office.document(document["id"])
    assert (document["status"], document["message"]["subject"]) == ("sent", "Sign, please")
    assert document["reminders"] == {"first_after_hours": 48, "every_hours": 72, "max": 4, "at_night": False}
    assert [one["status"] for one in document["parties"]] == ["active", "waiting"]
    assert [(one["type"], one["y"]) for one in document["fields"]] == [(one["type"], one["y"]) for one in drawn]
    by_label = {one["label"]: one for one in document["fields"]}
    assert document["fields"][5]["show_if"]["field"] == by_label["Rent"]["id"]
    assert await left(office.api) == [[(3,)], [(3,)]]
    assert await office.api.rows("select count(*) from sketches") == [(0,)]
    assert (await browser.get(f"{path}/review")).status_code == 409


async def test_every_refusal_stands_beside_its_file(office: Office, browser: httpx.AsyncClient) -> None:
    files = [("file", one) for one in (("lease.pdf", LEASE), ("secret.pdf", LOCKED), ("notes.xyz", b"hello"))]
    page = await browser.post("/app/new", files=files, data={"title": "Kept"})
    assert page.status_code == 400
    assert "notes.xyz" in page.text
    assert 'value="Kept"' in page.text
    told = (await browser.post("/app/new", files=files, headers={"Accept": "application/json"})).json()["files"]
    assert {at: one["code"] for at, one in told.items()} == {"2": "refused"}, "told before any file is opened"
    told = (await browser.post("/app/new", files=files[:2], headers={"Accept": "application/json"})).json()["files"]
    assert told == {"1": {"reason": signed_input.LOCKED, "code": "locked"}}
    opened = {"unlock.1": PASSWORD}
    made = await browser.post("/app/new", files=files[:2], data=opened, headers={"Accept": "application/json"})
    assert (made.status_code, made.json()["to"].startswith("/app/documents/doc_")) == (200, True)
    assert (await browser.post("/app/new", files=files[1:2], data={"password": PASSWORD})).status_code == 303
    nothing = await browser.post("/app/new", files=[("file", ("", b""))])
    assert (nothing.status_code, "Choose at least one file" in nothing.text) == (400, True)
    assert await office.api.rows("select count(*) from documents") == [(2,)]


async def test_what_files_place_arrives_placed_and_stays_where_it_is_moved(
    office: Office, browser: httpx.AsyncClient
) -> None:
    path = await begun(browser, ("lease.pdf", TAGGED))
    sketch = (await browser.get(f"{path}/sketch")).json()
    assert [one["name"] for one in sketch["parties"]] == ["Tenant", "Landlord"]
    assert [one["type"] for one in sketch["fields"]] == ["signature", "text", "signature"]
    rows = [
        {"key": one["signers"][0]["key"], **signer(name)}
        for one, name in zip(sketch["parties"], ("ann", "ben"), strict=True)
    ]
    steps = named([rows[0]], [rows[1]]) | {f"parties.{n}.key": one["key"] for n, one in enumerate(sketch["parties"])}
    assert (await browser.post(f"{path}/people", data=steps)).status_code == 303
    fields = (await browser.get(f"{path}/sketch")).json()["fields"]
    fields[0]["x"], gone = 0.6, fields.pop(1)
    version = sketch["version"] + 1
    assert (await browser.put(f"{path}/sketch", json={"version": version, "fields": fields})).status_code == 200
    kept = await browser.post(f"{path}/review", data=await review(browser, path))
    assert kept.headers["location"] == f"{path}?done=changed"
    document = await office.document(path.rpartition("/")[2])
    assert (document["status"], gone["label"]) == ("draft", "Rent")
    assert [(one["type"], one["x"]) for one in document["fields"]] == [
        ("signature", 0.6),
        ("signature", fields[1]["x"]),
    ]
    # What is drawn next is drawn on what was laid out: people stay who they are.
    again = (await browser.get(f"{path}/sketch")).json()
    assert {one["key"] for one in again["fields"]} == {one["id"] for one in document["fields"]}
    sent = await browser.post(f"{path}/send", data=await review(browser, path))
    assert sent.headers["location"] == f"{path}?done=sent"
    after = await office.document(document["id"])
    assert [one["id"] for one in after["fields"]] == [one["id"] for one in document["fields"]]


async def test_people_named_while_a_word_document_is_converted_stay(
    office: Office, browser: httpx.AsyncClient, word_processor: Path
) -> None:
    path = await begun(browser, ("lease.docx", docx("Lease")))
    assert (await browser.post(f"{path}/people", data=named([signer("ann")]))).status_code == 303
    page = await browser.get(f"{path}/review")
    assert "being converted" in page.text
    early = await browser.post(f"{path}/send", data=await review(browser, path))
    assert (early.status_code, "still being converted" in early.text) == (409, True)
    word_processor.write_bytes(TAGGED)
    found = await settled(office, {"id": path.rpartition("/")[2]})
    assert found["status"] == "draft", found["error"]
    sketch = (await browser.get(f"{path}/sketch")).json()
    assert [one["name"] for one in sketch["parties"]] == ["Ann", "Tenant", "Landlord"]
    assert len(sketch["fields"]) == 3


async def test_what_is_wrong_with_people_is_said_in_their_row(office: Office, browser: httpx.AsyncClient) -> None:
    path = await begun(browser)
    twice = named(
        [signer("ann")], [signer("ann"), {"name": "Ben", "email": "nowhere"}, {"name": "", "email": "c@d.co"}]
    )
    page = await browser.post(f"{path}/people", data=twice | {"parties.1.rule": "quorum", "parties.1.quorum": "9"})
    assert page.status_code == 400
    for name in ("signers.0.email", "signers.1.email", "signers.2.name", "quorum"):
        assert f'id="parties.1.{name}-error"' in page.text, name
    assert "Ann is already in stage 1" in page.text
    coded = await browser.post(f"{path}/people", data=named([signer("ann", auth="email_code")]))
    assert "need a mail server" in coded.text
    nobody = await browser.post(f"{path}/people", data=named([signer("ann", role="cc")]))
    assert "at least one person who signs" in nobody.text
    # Rows are added and moved without script too, and nothing is kept by that.
    moved = await browser.post(f"{path}/people", data=named([signer("ann")], [signer("ben")], act="up.1"))
    assert moved.text.index("ben@example.com") < moved.text.index("ann@example.com")
    assert await office.api.rows("select count(*) from sketches") == [(0,)]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("act", "after"),
    [
        ("later.0.0", [["ben", "ann"], ["cy"]]),
        ("later.0.1", [["ann"], ["ben", "cy"]]),
        ("earlier.1.0", [["ann", "ben", "cy"]]),
        ("earlier.0.1", [["ben", "ann"], ["cy"]]),
        ("earlier.0.0", [["ann"], ["ben"], ["cy"]]),
        ("later.1.0", [["ann", "ben"], ["cy"]]),
        ("later.7.7", [["ann", "ben"], ["cy"]]),
    ],
)
async def test_a_person_goes_from_place_to_place_by_a_press(
    browser: httpx.AsyncClient, act: str, after: list[list[str]]
) -> None:
    path = await begun(browser)
    page = await browser.post(
        f"{path}/people", data=named([signer("ann"), signer("ben")], [{**signer("cy"), "key": "s3"}], act=act)
    )
    found = re.findall(r'name="parties\.(\d)\.signers\.(\d)\.email"[^>]*? value="(\w+)@', page.text)
    assert found == [(str(n), str(at), one) for n, step in enumerate(after) for at, one in enumerate(step)]
    assert 'value="s3"' in page.text, "who was known before is known still"


async def test_the_steps_above_the_people_keep_what_is_typed_and_lead_there(
    office: Office, browser: httpx.AsyncClient
) -> None:
    path = await begun(browser)
    page = (await browser.get(f"{path}/people")).text
    assert '<button form="people" name="act" value="go.review">' in page
    assert f'href="{path}/review"' not in page
    bad = await browser.post(f"{path}/people", data=named([{"name": "Ann", "email": "nowhere"}], act="go.review"))
    assert (bad.status_code, 'id="parties.0.signers.0.email-error"' in bad.text) == (400, True)
    gone = await browser.post(f"{path}/people", data=named([signer("ann")], act="go.review"))
    assert gone.headers["location"] == f"{path}/review"
    assert "ann@example.com" in (await browser.get(f"{path}/review")).text
    elsewhere = await browser.post(f"{path}/people", data=named([signer("ben")], act="go.//example.com"))
    assert elsewhere.headers["location"] == f"{path}/fields"


async def test_fields_of_those_who_are_removed_are_named_before_they_go(
    office: Office, browser: httpx.AsyncClient
) -> None:
    draft = await office.create(signers=[signer("ann"), signer("ben")])
    path, ann = f"/app/documents/{draft['id']}", draft["parties"][0]["signers"][0]
    step = {"key": ann["id"], **signer("ann")}
    form = named([step]) | {"parties.0.key": draft["parties"][0]["id"]}
    asked = await browser.post(f"{path}/people", data=form)
    assert (asked.status_code, "will be deleted: The signature field on page 2" in asked.text) == (200, True)
    assert await office.api.rows("select count(*) from sketches") == [(0,)]
    assert (await browser.post(f"{path}/people", data=form | {"sure": hidden(asked.text, "sure")})).status_code == 303
    sketch = (await browser.get(f"{path}/sketch")).json()
    assert [one["who"] for one in sketch["fields"]] == [ann["id"]]
    assert "Send to 1 person" in (await browser.get(f"{path}/review")).text
    known = (await browser.get(f"{path}/people")).text
    assert '<option value="ben@example.com">Ben</option>' in known


async def test_codes_and_passwords_are_asked_for_at_review_and_never_kept(
    office: Office, browser: httpx.AsyncClient
) -> None:
    path = await begun(browser, ("lease.pdf", LOCKED), **{"unlock.0": PASSWORD})
    assert (await browser.post(f"{path}/people", data=named([signer("ann", auth="access_code")]))).status_code == 303
    key = (await browser.get(f"{path}/sketch")).json()["parties"][0]["signers"][0]["key"]
    missing = await browser.post(f"{path}/send", data=await review(browser, path))
    assert (missing.status_code, "Choose a code" in missing.text) == (400, True)
    code = {f"code.{key}": "blue horse"}
    locked = await browser.post(f"{path}/send", data=await review(browser, path, **code))
    assert (locked.status_code, 'name="unlock.0"' in locked.text) == (400, True)
    assert "blue horse" not in locked.text
    long = await browser.post(f"{path}/send", data=await review(browser, path, **code) | {"unlock.0": "a" * 128})
    assert (long.status_code, 'id="unlock.0-error"' in long.text) == (400, True)
    stale = await review(browser, path, **code) | {"unlock.0": PASSWORD, "version": "1"}
    assert (await browser.post(f"{path}/send", data=stale)).status_code == 409
    sent = await browser.post(f"{path}/send", data=await review(browser, path, **code) | {"unlock.0": PASSWORD})
    assert sent.status_code == 303, sent.text
    kept = await office.api.rows("select access_code_hash from signers")
    assert kept[0][0].startswith("$argon2")


async def test_what_keeps_a_draft_from_being_sent_is_said_with_the_way_back(
    office: Office, browser: httpx.AsyncClient
) -> None:
    path = await begun(browser)
    assert f'href="{path}/people"' in (await browser.get(f"{path}/review")).text
    assert (await browser.post(f"{path}/people", data=named([signer("ann")]))).status_code == 303
    sketch = (await browser.get(f"{path}/sketch")).json()
    broken = [field(sketch["parties"][0]["signers"][0]["key"], type="select")]
    await browser.put(f"{path}/sketch", json={"version": sketch["version"], "fields": broken})
    page = (await browser.get(f"{path}/review")).text
    assert "A select field needs options" in page
    assert "Back to fields" in page
    refused = await browser.post(f"{path}/send", data=await review(browser, path))
    assert (refused.status_code, "needs options" in refused.text) == (400, True)
    assert (await office.document(path.rpartition("/")[2]))["status"] == "draft"


async def test_nobody_is_sent_what_was_not_reviewed(office: Office, browser: httpx.AsyncClient) -> None:
    draft = await office.create()
    path, ann = f"/app/documents/{draft['id']}", draft["parties"][0]["signers"][0]["id"]
    form = await review(browser, path)
    put = {"version": (await browser.get(f"{path}/sketch")).json()["version"], "fields": []}
    change = await office.api.call(
        "PATCH", f"/api/v1/documents/{draft['id']}/signers/{ann}", json={"email": "eve@example.com"}
    )
    assert change.status_code == 200, change.text
    assert (await browser.post(f"{path}/send", data=form)).status_code == 409
    assert (await browser.put(f"{path}/sketch", json=put)).status_code == 409
    assert (await office.document(draft["id"]))["status"] == "draft"
    assert (await browser.post(f"{path}/send", data=await review(browser, path))).status_code == 303


async def test_a_correction_by_the_api_stands_in_what_is_drawn_and_is_sent(
    office: Office, browser: httpx.AsyncClient
) -> None:
    draft = await office.create()
    path, ann = f"/app/documents/{draft['id']}", draft["parties"][0]["signers"][0]["id"]
    version = (await browser.get(f"{path}/sketch")).json()["version"]
    drawn = [field(ann, type="signature")]
    assert (await browser.put(f"{path}/sketch", json={"version": version, "fields": drawn})).status_code == 200
    stale = await review(browser, path)
    right = {"email": "anna@example.com", "name": "Anna", "language": "de"}
    signers = f"/api/v1/documents/{draft['id']}/signers"
    assert (await office.api.call("PATCH", f"{signers}/{ann}", json=right)).status_code == 200
    assert (await browser.post(f"{path}/send", data=stale)).status_code == 409
    sent = await browser.post(f"{path}/send", data=await review(browser, path))
    assert sent.status_code == 303, sent.text
    [party] = (await office.document(draft["id"]))["parties"]
    assert {name: party["signers"][0][name] for name in right} == right


async def test_a_code_typed_at_review_is_taken_where_nothing_was_drawn(
    office: Office, browser: httpx.AsyncClient
) -> None:
    draft = await office.create(signers=[signer("ann", auth="access_code", access_code="blue horse")])
    path, ann = f"/app/documents/{draft['id']}", draft["parties"][0]["signers"][0]["id"]
    before = await office.api.rows("select access_code_hash from signers")
    sent = await browser.post(f"{path}/send", data=await review(browser, path, **{f"code.{ann}": "red horse"}))
    assert sent.status_code == 303, sent.text
    assert await office.api.rows("select access_code_hash from signers") != before
    after = await office.document(draft["id"])
    assert [one["id"] for one in after["fields"]] == [one["id"] for one in draft["fields"]]


async def test_what_a_form_could_not_have_sent_breaks_no_page(office: Office, browser: httpx.AsyncClient) -> None:
    path = await begun(browser)
    people = named([{"key": "a b", **signer("ann")}], [signer("ben"), signer("cy")])
    people |= {"parties.0.key": "a b", "parties.1.key": "k" * 99, "parties.1.name": "Both\tof them"}
    assert (await browser.post(f"{path}/people", data=people)).status_code == 303
    sketch = (await browser.get(f"{path}/sketch")).json()
    assert [one["name"] for one in sketch["parties"]] == ["Ann", "Both of them"]
    for page in ("people", "fields", "review"):
        assert (await browser.get(f"{path}/{page}")).status_code == 200, page


async def test_files_that_bring_more_than_a_document_has_are_refused(
    office: Office, browser: httpx.AsyncClient, word_processor: Path
) -> None:
    lines = [" ".join(f"{{{{signature:R{page}x{n}}}}}" for n in range(3)) for page in range(17)]
    many = pdf(*lines, size=(842, 595))
    refused = await browser.post("/app/new", files=[("file", ("lease.pdf", many))])
    assert (refused.status_code, "51 roles, but a document has at most 50" in refused.text) == (400, True)
    assert await office.api.rows("select count(*) from documents") == [(0,)]
    path = await begun(browser, ("lease.docx", docx("Lease")))
    word_processor.write_bytes(many)
    found = await settled(office, {"id": path.rpartition("/")[2]})
    assert (found["status"], "51 roles" in found["error"]) == ("failed", True)
