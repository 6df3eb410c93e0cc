"""The list of documents for people who are signed in: views with their counts, and filters in the address."""

import asyncio
import base64
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from deedbox.kernel import limits
from tests.api.signing.conftest import Office, signer
from tests.api.signing.dashboard import signed_in
from tests.api.signing.packets import three
from tests.pdf.test_convert import docx

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]

LIST = "/app/documents"


def titles(answer: httpx.Response) -> list[str]:
    """The documents on the page, in their order."""
    assert answer.status_code == 200, answer.text
    rows = answer.text.split('<td class="title">')[1:]
    return [unescape(row.split('dir="auto">')[1].split("</a>")[0]) for row in rows]


def counts(answer: httpx.Response) -> dict[str, str]:
    """What the tabs say, by their words."""
    tabs = answer.text.split('<nav class="views"')[1].split("</nav>")[0].split("<a ")[1:]
    found = {}
    for tab in tabs:
        name, _, rest = tab.partition(">")[2].partition("<")
        found[name.strip()] = rest.partition('class="count">')[2].partition("<")[0]
    return found


async def some(office: Office) -> dict[str, Any]:
    """A document in each of several states."""
    made = {"draft": await office.create(title="Offer <b>")}
    both = [signer("mara"), signer("ben", order=2)]
    office.api.clock.forward(1)
    made["mine"] = await office.create(title="Lease", signers=both, send=True)
    office.api.clock.forward(1)
    made["later"] = await office.create(title="Annex", signers=[both[1] | {"order": 1}, both[0]], send=True)
    office.api.clock.forward(1)
    made["void"] = await office.create(title="Old lease", send=True)
    answer = await office.api.post(f"/api/v1/documents/{made['void']['id']}/void", {"reason": "Two of them"})
    assert answer.status_code == 200
    return made


async def test_tabs_count_by_state_and_waiting_for_me_stands_first(office: Office) -> None:
    await some(office)
    async with signed_in(office.api) as client:
        page = await client.get(LIST)
        assert titles(page) == ["Old lease", "Annex", "Lease", "Offer <b>"]
        assert list(counts(page).items()) == [
            ("Waiting for me", "2"),
            ("All", "4"),
            ("Drafts", "1"),
            ("Being signed", "2"),
            ("Completed", "0"),
            ("Not completed", "1"),
            ("Failed", "0"),
        ]
        assert titles(await client.get(f"{LIST}?view=drafts")) == ["Offer <b>"]
        assert titles(await client.get(f"{LIST}?view=open")) == ["Annex", "Lease"]
        assert titles(await client.get(f"{LIST}?view=ended")) == ["Old lease"]
        empty = await client.get(f"{LIST}?view=completed")
        assert (titles(empty), "No documents are completed yet." in empty.text) == ([], True)


async def test_a_document_waits_for_me_only_while_it_is_my_turn(office: Office) -> None:
    first = [signer("ben"), signer("mara", order=2), signer("mara2", role="cc")]
    document = await office.create(title="Lease", signers=first, send=True)
    async with signed_in(office.api) as client, signed_in(office.api, email="mara2@example.com") as copied:
        mine = f"{LIST}?view=mine"
        assert titles(await client.get(mine)) == []
        assert (await office.sign(document, "ben")).status_code == 200
        page = await client.get(mine)
        assert (titles(page), counts(page)["Waiting for me"]) == (["Lease"], "1")
        assert (await office.sign(document, "mara")).status_code == 200
        await office.completed(document)
        assert titles(await client.get(mine)) == []
        assert titles(await copied.get(mine)) == []


async def test_failed_documents_have_their_own_place_and_are_no_drafts(office: Office, word_processor: Path) -> None:
    word_processor.write_bytes(b"no pdf at all")
    word = {"name": "lease.docx", "content_base64": base64.b64encode(docx("Lease")).decode()}
    document = await office.create(title="Broken", file=word)
    async with asyncio.timeout(60):
        while (await office.document(document["id"]))["status"] == "processing":
            await asyncio.sleep(0.05)
    async with signed_in(office.api) as client:
        assert titles(await client.get(f"{LIST}?view=failed")) == ["Broken"]
        assert titles(await client.get(f"{LIST}?view=drafts")) == []
        assert counts(await client.get(LIST))["Failed"] == "1"


async def test_filters_stand_in_the_address_and_are_kept_in_every_link(office: Office) -> None:
    made = await some(office)
    day = made["draft"]["created_at"][:10]
    async with signed_in(office.api) as client:
        assert titles(await client.get(f"{LIST}?q=LEASE&status=&person=&since=&until=")) == ["Old lease", "Lease"]
        assert titles(await client.get(f"{LIST}?status=voided&view=drafts")) == ["Old lease"]
        assert titles(await client.get(f"{LIST}?person=Ben@example.com")) == ["Annex", "Lease"]
        assert len(titles(await client.get(f"{LIST}?since={day}&until={day}"))) == 4
        assert titles(await client.get(f"{LIST}?until=2001-01-01")) == []
        assert titles(await client.get(f"{LIST}?template=tpl_none")) == []
        page = await client.get(f"{LIST}?view=open&q=lea&person=ben%40example.com")
        assert titles(page) == ["Lease"]
        assert 'name="q" type="search" value="lea"' in page.text
        assert f'href="{LIST}?view=drafts&amp;q=lea&amp;person=ben%40example.com"' in page.text
        assert set(counts(page).values()) == {""}
        assert "status=sent&amp;status=finalizing&amp;q=lea&amp;signer_email=ben%40example.com" in page.text
        nothing = await client.get(f"{LIST}?q=unheard")
        assert "No documents match these filters." in nothing.text
        for wrong in ("since=2026-02-31", "since=soon", "view=none", "status=none", "cursor=x", "nonsense=1"):
            assert (await client.get(f"{LIST}?{wrong}")).status_code == 400, wrong


async def test_the_list_comes_in_pages_by_cursor(office: Office) -> None:
    ids = []
    for number in range(limits.PAGE_DEFAULT + 2):
        office.api.clock.forward(1)
        ids.append((await office.create(title=f"Draft {number}"))["id"])
    async with signed_in(office.api) as client:
        first = await client.get(f"{LIST}?view=drafts")
        assert len(titles(first)) == limits.PAGE_DEFAULT
        assert f'href="{LIST}?view=drafts&amp;cursor={ids[2]}"' in first.text
        second = await client.get(f"{LIST}?view=drafts&cursor={ids[2]}")
    assert titles(second) == ["Draft 1", "Draft 0"]
    assert (f'href="{LIST}?view=drafts"' in second.text, 'rel="next"' in second.text) == (True, False)


async def test_beyond_a_thousand_a_count_says_only_that_there_are_more(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    await some(office)
    monkeypatch.setattr(limits, "COUNTED_MOST", 1)
    async with signed_in(office.api) as client:
        found = counts(await client.get(LIST))
    assert [found["All"], found["Waiting for me"], found["Drafts"]] == ["1+", "1+", "1"]


async def test_the_list_of_a_workspace_shows_nothing_of_another(office: Office) -> None:
    other = await office.api.make_key(workspace=office.api.other_workspace)
    body = office.body(title="Theirs", signers=[signer("mara")], send=True)
    assert (await office.api.post("/api/v1/documents", body, key=other)).status_code == 201
    async with signed_in(office.api) as client:
        for view in ("", "?view=mine", "?q=Theirs"):
            assert titles(await client.get(f"{LIST}{view}")) == []
        page = await client.get(LIST)
        assert set(counts(page).values()) == {"0"}
        assert "There are no documents yet." in page.text


async def test_people_are_dots_with_their_state_and_many_of_them_are_counted(office: Office) -> None:
    await office.create(signers=[signer(f"ann{number}") for number in range(7)], send=True)
    made = await office.api.post("/api/v1/packets", three())
    async with signed_in(office.api, "viewer") as client:
        page = await client.get(LIST)
        ended = await client.get(f"{LIST}?packet={made.json()['id']}")
    assert 'aria-label="Ann0: Asked to sign"' in page.text
    assert "3 more" in page.text
    assert sorted(titles(ended)) == ["Annex", "Lease", "Rules"]
    assert "New document" not in page.text, "a viewer sends nothing"
