"""Search and library for people: every point holds without a script, by the same actions as the API's."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from typing import Any

import httpx
import pytest

from deedbox.accounts import workspaces
from deedbox.kernel import limits
from tests.api.conftest import Api
from tests.api.search.conftest import Search
from tests.api.search.files import pdf
from tests.api.signing.conftest import Office

pytestmark = pytest.mark.anyio
HTML = {"Accept": "text/html"}
LEASE = "The tenant pays the rent on the first of the month.\n\nThe deposit is three months of rent."


@asynccontextmanager
async def owner(api: Api) -> AsyncIterator[httpx.AsyncClient]:
    now = api.clock.now()
    token = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.workspace, now=now))
    async with api.client() as client:
        assert (await client.post(f"/login/{token.reveal()}")).status_code == 303
        client.headers.update(HTML)
        yield client


async def shown(client: httpx.AsyncClient, path: str, **asked: str) -> str:
    answer = await client.get(path, params=asked or None)
    assert answer.status_code == 200, answer.text
    return unescape(answer.text)


async def idle(search: Search) -> None:
    """Waits until every job has ended."""
    async with asyncio.timeout(60):
        while await search.api.rows("select 1 from jobs where state = 'running' or kind = 'index' and state = 'ready'"):
            await asyncio.sleep(0.05)


async def test_search_works_as_plain_get(search: Search) -> None:
    lease = await search.indexed(LEASE, "lease.txt")
    await search.indexed("Flour, eggs and milk.", "recipe.txt")
    async with owner(search.api) as client:
        answered = await shown(client, "/app/search", q="how many months is the deposit")
        assert "<mark>months</mark>" in answered
        assert "lease.txt" in answered
        second = re.findall(rf'href="(/app/search\?[^"]*passage={lease}_chunk_0)#', answered)
        assert len(second) == 1, "each passage is a link"
        chosen = await shown(client, second[0])
        told = re.sub(r"<[^>]+>", "", chosen.split('class="around"')[1])
        assert "The tenant pays the rent" in told
        assert "The deposit is three months" in told, "the text around it"
    assert (await search.api.get("/stats")).json()["queries"] == 1, "to look at another passage is not to ask again"


async def test_a_passage_of_a_pdf_stands_marked_on_the_picture_of_its_page(search: Search) -> None:
    files = {"file": ("two.pdf", pdf("Nothing is said here.", "The tenant pays the rent every month."))}
    doc_id = (await search.api.call("POST", "/documents/upload", files=files)).json()["doc_id"]
    await search.index(doc_id)
    async with owner(search.api) as client:
        page = await shown(client, "/app/search", q="tenant rent month")
        picture = f"/app/library/{doc_id}/pages/2.webp?width=1240"
        assert picture in page
        assert len(re.findall(r"<rect ", page)) >= 1
        left, top, width, height = (
            float(re.findall(rf'<rect [^>]*{name}="([\d.e-]+)"', page)[0]) for name in ("x", "y", "width", "height")
        )
        assert 0 < left < left + width <= 1
        assert 0 < top < top + height <= 1
        answer = await client.get(picture)
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/webp")
        assert (await client.get(f"/app/library/{doc_id}/pages/3.webp")).status_code == 404


async def test_filters_stand_in_the_address(search: Search) -> None:
    office = Office(search.api)
    await office.sealed(title="Lease")
    await search.indexed(LEASE, "lease.txt")
    async with owner(search.api) as client:
        async with asyncio.timeout(60):
            while "Lease.pdf" not in (page := await shown(client, "/app/search", q="tenant rent", source="document")):
                await asyncio.sleep(0.05)
        assert "lease.txt" not in page
        assert "Signed" in page
        for asked in ({"signer": "ann@example.com"}, {"signed": "yes"}, {"type": "pdf"}):
            page = await shown(client, "/app/search", q="tenant rent", **asked)
            assert ("Lease.pdf" in page, "lease.txt" in page) == (True, False), asked
        page = await shown(client, "/app/search", q="tenant rent", signed="no")
        assert ("Lease.pdf" in page, "lease.txt" in page) == (False, True)
        assert (await client.get("/app/search?q=x&type=exe")).status_code == 400


async def test_nothing_found_suggests_what_to_try(search: Search) -> None:
    await search.indexed(LEASE, "lease.txt")
    async with owner(search.api) as client:
        page = await shown(client, "/app/search", q="rent", type="pdf", from_day="2020-01-01")
        assert "No results found." in page
        assert 'href="/app/search?q=rent&from_day=2020-01-01"' in page, "without the one filter"
        assert 'href="/app/search?q=rent&type=pdf"' in page, "without the other"
        page = await shown(client, "/app/search", q="zebra", mode="keyword")
        assert 'href="/app/search?q=zebra"' in page, "meaning as well"
        assert 'href="/app/library"' in page


async def test_a_phrase_that_no_passage_has_is_searched_for_as_its_words_and_both_say_so(search: Search) -> None:
    await search.indexed(LEASE, "lease.txt")
    asked = 'is the "deposit of rent" three months'
    async with owner(search.api) as client:
        answered = await shown(client, "/app/search", q=asked)
        assert "No passage contains the exact phrase “deposit of rent”. Showing results for its words." in answered
        assert "<mark>deposit</mark>" in answered
    told = (await search.api.post("/query", {"query": asked})).json()
    assert told["corrected"] == "is the deposit of rent three months"


async def test_nothing_indexed_leads_to_the_library(search: Search) -> None:
    async with owner(search.api) as client:
        assert "Nothing is searchable yet" in await shown(client, "/app/search", q="rent")


async def test_model_missing_says_how(api: Api) -> None:
    async with owner(api) as client:
        page = await shown(client, "/app/search", q="rent")
        assert "deedbox model install" in page
        page = await shown(client, "/app/library")
        assert "deedbox model install" in page
        sent = await client.post("/app/library", files={"file": ("a.txt", b"rent")})
        assert sent.status_code == 303, "a file waits for the model"
        assert "Waiting for a model" in await shown(client, "/app/library")
        answer = await client.post("/app/library/index")
        assert (answer.status_code, "deedbox model install" in answer.text) == (503, True)


async def test_a_file_that_is_added_becomes_searchable_and_deleted_is_gone_from_the_next_answer(search: Search) -> None:
    async with owner(search.api) as client:
        once = {"once": "a" * 22}
        answers = [
            await client.post("/app/library", files={"file": ("lease.txt", LEASE.encode())}, data=once)
            for _ in range(2)
        ]
        assert [one.headers["location"] for one in answers] == ["/app/library?done=added"] * 2
        await idle(search)
        page = await shown(client, "/app/library")
        [doc_id] = re.findall(r'href="/app/library/(upl_\w+)"', page)
        assert "Searchable" in page
        assert "lease.txt" in await shown(client, "/app/search", q="deposit")
        assert LEASE in (await client.get(f"/app/library/{doc_id}/content")).text
        await search.indexed("Something else.", "other.txt")
        gone = await client.post(f"/app/library/{doc_id}/delete")
        assert gone.headers["location"] == "/app/library?done=deleted"
        assert "lease.txt" not in await shown(client, "/app/search", q="deposit")
        assert "lease.txt" not in await shown(client, "/app/library")
        assert (await client.get(f"/app/library/{doc_id}")).status_code == 404


async def test_failures_keep_their_reason(search: Search) -> None:
    async with owner(search.api) as client:
        refused = await client.post("/app/library", files={"file": ("a.exe", b"MZ")})
        assert (refused.status_code, "Unsupported file type" in refused.text) == (400, True)
        script = await client.post("/app/library", files={"file": ("a.pdf", b"no")}, headers={"Accept": "*/*"})
        assert (script.status_code, "named .pdf but" in script.json()["error"]) == (400, True)
        added = await client.post("/app/library", files={"file": ("scan.pdf", pdf(""))}, headers={"Accept": "*/*"})
        assert added.status_code == 204
        await idle(search)
        for _ in range(2):
            page = await shown(client, "/app/library")
            assert "No extractable text" in page
            assert "Not searchable" in page


async def test_the_library_is_searched_by_name_and_paged(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(26):
        search.api.clock.forward(1)
        await search.upload(f"Text {number}.", f"note_{number}.txt")
    async with owner(search.api) as client:
        first = await shown(client, "/app/library")
        assert ("note_25.txt" in first, "note_0.txt" in first) == (True, False)
        [older] = re.findall(r'href="(/app/library\?cursor=[^"]+)"', first)
        assert "note_0.txt" in await shown(client, older)
        named = await shown(client, "/app/library", name="NOTE_1.")
        assert re.findall(r">(note_\w+\.txt)<", named) == ["note_1.txt"]
        assert "No file name contains “zebra”" in await shown(client, "/app/library", name="zebra")
        assert "Make 26 files searchable" in first
        monkeypatch.setattr(limits, "UNINDEXED_COUNTED", 25)
        assert "Make all files searchable" in await shown(client, "/app/library"), "they are not counted without end"
        assert (await client.post("/app/library/index")).status_code == 303
        await idle(search)
        assert "searchable</button>" not in await shown(client, "/app/library")


async def test_names_are_found_whatever_their_case_in_any_script(search: Search) -> None:
    doc_id = await search.upload("One.", "Änderung.txt")
    await search.upload("Two.", "ДОГОВОР 50%.txt")
    async with owner(search.api) as client:
        for typed, name in (
            ("änderung", "Änderung.txt"),
            ("ÄNDER", "Änderung.txt"),
            ("договор 50%", "ДОГОВОР 50%.txt"),
        ):
            assert re.findall(r">([^<>]+\.txt)<", await shown(client, "/app/library", name=typed)) == [name], typed
        other = {"file": ("Übersicht.txt", b"Three.")}
        assert (await search.api.call("PUT", f"/documents/{doc_id}", files=other)).status_code == 200
        assert "Übersicht.txt" in await shown(client, "/app/library", name="übersicht")
        assert "Übersicht.txt" not in await shown(client, "/app/library", name="änderung")


async def test_a_workspace_chooses_on_the_page_whether_documents_come_in(search: Search) -> None:
    async def chosen() -> Any:
        return (await search.api.get("/api/v1/workspace")).json()["search_documents"]

    async with owner(search.api) as client:
        for value, wanted in (("no", False), ("yes", True)):
            answer = await client.post("/app/library/documents", data={"search_documents": value})
            assert (answer.status_code, await chosen()) == (303, wanted)
