"""Live parts of pages: nothing is made of them while nothing is new, on any page that has them."""

import re
from typing import Any

import httpx
import pytest

from deedbox.evidence import chain
from deedbox.web.http import pages
from tests.api.signing.conftest import Office
from tests.api.signing.dashboard import signed_in
from tests.api.signing.packets import three

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]

LISTS = ("documents", "packets", "templates", "bulk", "mail", "library")
SETTINGS = ("keys", "hooks", "audit")


async def paths(office: Office) -> list[str]:
    """Pages with something on them."""
    api = office.api
    document = await office.create(send=True)
    packet = (await api.post("/api/v1/packets", three(send=True))).json()
    new = {"name": "Lease", "file": office.body()["file"], "roles": [{"name": "Tenant"}]}
    template = (await api.post("/api/v1/templates", new)).json()
    hook = {"target_url": "https://hooks.example.com/in", "events": ["document.sent"]}
    made = (await api.post("/api/v1/hooks", hook)).json()
    assert "id" in made, made
    named = [f"documents/{document['id']}", f"packets/{packet['id']}", f"templates/{template['id']}"]
    settings = [f"settings/{one}" for one in (*SETTINGS, f"hooks/{made['id']}")]
    return [f"/app/{one}" for one in (*LISTS, *named, *settings)]


class Parts:
    """The live parts of a page, as its script asks for them."""

    def __init__(self, client: httpx.AsyncClient, path: str) -> None:
        self.client, self.path = client, path
        self.etags: dict[str, str] = {}

    async def begin(self) -> None:
        page = await self.client.get(self.path)
        assert page.status_code == 200, page.text
        for name in re.findall(r'data-live="(\w+)"', page.text):
            self.etags[name] = (await self.client.get(self.path, headers={"X-Part": name})).headers["ETag"]

    async def again(self, name: str) -> httpx.Response:
        headers = {"X-Part": name, "If-None-Match": self.etags[name]}
        answer = await self.client.get(self.path, headers=headers)
        self.etags[name] = answer.headers.get("ETag", "")
        return answer


async def test_a_part_of_which_nothing_is_new_is_not_made_again_on_any_page(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere, rendered = await paths(office), 0
    async with signed_in(office.api) as client:
        watched = [Parts(client, path) for path in everywhere]
        for page in watched:
            await page.begin()
            assert page.etags, page.path
        render = pages.render

        def counted(*args: Any, **values: Any) -> str:
            nonlocal rendered
            rendered += 1
            return render(*args, **values)

        monkeypatch.setattr(pages, "render", counted)
        for page in watched:
            for name in page.etags:
                assert (page.path, name, (await page.again(name)).status_code) == (page.path, name, 304)
        assert rendered == 0
        office.api.clock.forward(60)
        stayed = {page.path: [(await page.again(name)).status_code for name in page.etags] for page in watched}
        assert rendered == sum(map(len, stayed.values())), "times are told as so long ago: made once a minute"
        assert stayed["/app/templates"] == [304], "what is as it was stays as it is in the browser"
        for page in watched:
            for name in page.etags:
                assert (await page.again(name)).status_code == 304
        assert rendered == sum(map(len, stayed.values()))


async def test_a_part_is_made_again_when_the_document_its_trail_or_the_reader_is_another(office: Office) -> None:
    document = await office.create(send=True)
    async with signed_in(office.api) as client:
        page = Parts(client, f"/app/documents/{document['id']}")
        await page.begin()
        await office.link(document, "ann")  # which nothing but the trail tells
        answer = await page.again("timeline")
        assert (answer.status_code, "Signing link created for Ann" in answer.text) == (200, True)
        assert (await page.again("timeline")).status_code == 304
        assert (await office.api.post(f"/api/v1/documents/{document['id']}/void")).status_code == 200
        assert {name: (await page.again(name)).status_code for name in page.etags}["standing"] == 200
        assert (await page.again("standing")).status_code == 304
        await office.api.deedbox.db.write(lambda tx: tx.run("update memberships set role = 'viewer'"))
        await page.again("standing")
        other = Parts(client, f"/app/documents/{(await office.create(send=True))['id']}")
        other.etags = dict(page.etags)
        assert (await other.again("standing")).status_code == 200, "what was given for one page says nothing of another"


async def test_whoever_watches_a_trail_has_only_new_rows_checked_and_whoever_opens_it_all(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await office.create(send=True)
    checked: list[int] = []
    follows = chain._follows

    def noted(entry: chain.TrailEntry, before: str, number: int) -> bool:
        checked.append(number)
        return follows(entry, before, number)

    monkeypatch.setattr(chain, "_follows", noted)
    async with signed_in(office.api) as client:
        page = Parts(client, f"/app/documents/{document['id']}")
        await page.begin()
        rows = len(await office.api.rows(f"select 1 from audit where document_id = '{document['id']}'"))
        assert checked == [*range(1, rows + 1)], "once, by whoever opened it"
        await office.link(document, "ann")
        await page.again("timeline")
        assert checked[rows:] == [rows + 1]
        change = "update audit set at = '2020-01-01T00:00:00Z' where document_id = :id and number = :number"
        await office.api.deedbox.db.write(lambda tx: tx.run(change, id=document["id"], number=1))
        assert "The chain is broken at entry 1" in (await client.get(page.path)).text
        assert "The chain is broken at entry 1" in (await client.get(page.path, headers={"X-Part": "timeline"})).text


async def test_a_watched_trail_whose_end_is_another_is_checked_from_the_first_row(office: Office) -> None:
    document = await office.sealed()
    async with signed_in(office.api) as client:
        page = Parts(client, f"/app/documents/{document['id']}")
        await page.begin()
        for harm, told in {
            "update audit set hash = replace(hash, substr(hash, 1, 4), 'beef')": "The chain is broken at entry 1",
            "delete from audit where number > 2": "The chain is broken at entry 1",
            "delete from audit": "Entries are missing at the end",
        }.items():
            await office.api.deedbox.db.write(lambda tx, sql=harm: tx.run(sql))  # type: ignore[misc]
            assert told in (await page.again("timeline")).text, harm
