"""The page of the field editor: who can be given a field, which pages there are, and where their lines of text lie."""

from collections.abc import AsyncIterator
from html import unescape

import httpx
import pytest

from tests.api.signing.conftest import Office, signer
from tests.api.test_mail_page import owner, strict

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


@pytest.fixture
async def browser(office: Office) -> AsyncIterator[httpx.AsyncClient]:
    async with owner(office.api) as client:
        yield client


async def test_the_editor_names_those_who_sign_and_their_groups_and_shows_every_page(
    office: Office, browser: httpx.AsyncClient
) -> None:
    parties = [
        {"name": "Buyers", "rule": "any", "signers": [signer("ann"), signer("ben")]},
        {"name": "Seller", "order": 2, "signers": [signer("mara"), signer("copy", role="cc")]},
    ]
    draft = await office.create(signers=[], parties=parties)
    page = await browser.get(f"/app/documents/{draft['id']}/fields")
    assert (page.status_code, strict(page)) == (200, True)
    named = [one.split('"')[0] for one in page.text.split('data-key="')[1:]]
    buyers, seller = draft["parties"]
    ids = [one["id"] for one in buyers["signers"]]
    assert named == [*ids, buyers["id"], seller["signers"][0]["id"]], "a cc fills nothing in"
    assert unescape(page.text).count(f'data-within="{buyers["id"]}"') == 2
    file = draft["files"][0]
    pictures = [f"/app/documents/{draft['id']}/files/{file['id']}/pages/{number}.webp" for number in (1, 2)]
    assert [path in page.text for path in pictures] == [True, True]
    assert (await browser.get(pictures[0])).headers["content-type"] == "image/webp"


async def test_lines_of_text_have_their_places_on_the_page(office: Office, browser: httpx.AsyncClient) -> None:
    draft = await office.create()
    path = f"/app/documents/{draft['id']}/lines/{draft['files'][0]['id']}"
    found = await browser.get(f"{path}/1")
    [(left, top, right, bottom)] = found.json()
    assert (found.status_code, found.headers["content-type"]) == (200, "application/json")
    assert left == pytest.approx(20 / 595, abs=0.01)
    assert top < 1 - 100 / 842 < bottom < 1
    assert left < right < 0.5
    again = await browser.get(f"{path}/1", headers={"If-None-Match": found.headers["ETag"]})
    assert again.status_code == 304
    assert [(await browser.get(f"{path}/{number}")).status_code for number in (0, 3, 10**30)] == [404, 404, 404]
    assert (await browser.get(path.replace(draft["files"][0]["id"], "fil_other") + "/1")).status_code == 404


async def test_what_is_sent_or_someone_else_s_is_not_drawn_on(office: Office, browser: httpx.AsyncClient) -> None:
    sent = await office.create(send=True)
    refused = await browser.get(f"/app/documents/{sent['id']}/fields", headers={"Accept": "text/html"})
    assert refused.status_code == 409
    assert '<nav aria-label="Main navigation">' in refused.text
    assert '<a class="btn" href="/app/documents">Go to Documents</a>' in refused.text
    unknown = await browser.get("/app/documents/doc_unknown/fields", headers={"Accept": "text/html"})
    assert unknown.status_code == 404
    lines = await browser.get(f"/app/documents/doc_unknown/lines/{sent['files'][0]['id']}/1")
    assert lines.status_code == 404
