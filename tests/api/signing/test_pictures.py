"""Pictures of pages: few widths, drawn once, the first page at sending; they go with the document."""

import asyncio
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from deedbox.kernel.backup import backup
from deedbox.signing import limits
from tests.api.signing.conftest import Office, signer
from tests.conftest import PAGE_IMAGE_FIRST

pytestmark = pytest.mark.anyio
PATH = "/api/v1/documents"


@pytest.fixture(autouse=True)
def usual_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PAGE_IMAGE_FIRST", PAGE_IMAGE_FIRST)


def kept(office: Office) -> list[Path]:
    folder = office.api.deedbox.settings.data_dir / "derived"
    return sorted(folder.rglob("*.webp"), key=lambda path: path.name)


async def drawn(office: Office, **more: Any) -> Any:
    """A document that was sent, with its first page drawn."""
    document = await office.create(send=True, **more)
    await office.api.deedbox.first_pages.drawn()
    return document


async def test_the_first_page_is_drawn_when_sent_and_each_picture_once(office: Office) -> None:
    document = await drawn(office)
    [first] = kept(office)
    assert first.name == "1-1240-2.webp"
    asked = [(1, 1000, 1240), (1, 1240, 1240), (2, 100, 480), (2, 480, 480), (2, 3000, 2480)]
    async with office.session(document, "ann") as browser:
        [file] = (await browser.get("/session")).json()["files"]
        seen: dict[tuple[int, int], bytes] = {}
        files = {first.stat().st_ino}
        for number, wanted, made in asked:
            answer = await browser.get(f"/files/{file['id']}/pages/{number}.webp?width={wanted}")
            assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
            assert Image.open(io.BytesIO(answer.content)).width - made in (0, 1)
            assert seen.setdefault((number, made), answer.content) == answer.content
            files |= {path.stat().st_ino for path in kept(office)}
    assert [path.name for path in kept(office)] == ["1-1240-2.webp", "2-2480-2.webp", "2-480-2.webp"]
    assert len(files) == 3, "a picture was made twice"


async def test_who_has_the_picture_is_not_sent_it_again_and_the_view_is_noted_all_the_same(office: Office) -> None:
    document = await drawn(office)
    address = f"{PATH}/{document['id']}/pages/1.webp"
    seen = await office.api.get(f"{address}?width=820")
    assert seen.headers["cache-control"] == "private, no-cache"
    again = {"If-None-Match": seen.headers["etag"]}
    assert (await office.api.get(f"{address}?width=820", headers=again)).status_code == 304
    assert (await office.api.get(f"{address}?width=700", headers=again)).status_code == 304
    assert (await office.api.get(f"{address}?width=1240", headers=again)).status_code == 200
    async with office.session(document, "ann") as browser:
        [file] = (await browser.get("/session")).json()["files"]
        page = await browser.get(f"/files/{file['id']}/pages/1.webp?width=820", headers=again)
        assert (page.status_code, page.content) == (304, b"")
    trail = (await office.api.get(f"{PATH}/{document['id']}/audit")).json()["audit"]
    assert [entry["detail"]["page"] for entry in trail if entry["act"] == "signer.page_viewed"] == [1]


async def test_another_workspace_never_reads_them(office: Office) -> None:
    document = await drawn(office)
    etag = (await office.api.get(f"{PATH}/{document['id']}/pages/1.webp?width=820")).headers["etag"]
    stranger = await office.api.make_key(workspace=office.api.other_workspace)
    for headers in ({}, {"If-None-Match": etag}, {"If-None-Match": "*"}):
        answer = await office.api.get(f"{PATH}/{document['id']}/pages/1.webp?width=820", key=stranger, headers=headers)
        assert answer.status_code == 404


async def test_they_are_forgotten_with_the_document(office: Office) -> None:
    draft = await office.create()
    assert (await office.api.get(f"{PATH}/{draft['id']}/pages/1.webp")).status_code == 200
    assert [path.name for path in kept(office)] == ["1-1240-2.webp"]
    assert (await office.api.call("DELETE", f"{PATH}/{draft['id']}")).status_code in (200, 204)
    assert (await office.api.get(f"{PATH}/{draft['id']}/pages/1.webp")).status_code == 404
    await office.api.deedbox.derived.sweep(office.api.deedbox.db)
    assert kept(office) == []


@pytest.mark.files_in_folder("it is the folder that is backed up")
async def test_no_backup_has_them(office: Office, tmp_path: Path) -> None:
    await drawn(office)
    settings, target = office.api.deedbox.settings, tmp_path / "backup.tar"
    url = settings.database_url.reveal() if settings.database_url else None
    await asyncio.to_thread(backup, settings.data_dir, url, target, now=office.api.clock.now())
    assert kept(office)
    with tarfile.open(target) as archive:
        names = archive.getnames()
    assert any(name.startswith("blobs/") for name in names)
    assert not [name for name in names if "derived" in name or name.endswith(".webp")]


async def test_the_pages_are_not_told_again_each_time_the_done_page_asks_how_it_stands(office: Office) -> None:
    document = await office.create(send=True, signers=[signer("ann"), signer("ben")])
    async with office.api.client() as browser:
        own = (await browser.post(await office.link(document, "ann"))).headers["location"]
        assert (await browser.get(own)).status_code == 200
        form = {"act": "sign", "consent": "yes", "signature": "Ann"}
        assert (await browser.post(own, data=form)).status_code == 303
        whole, part = await browser.get(own), await browser.get(own, headers={"X-Part": "state"})
    assert (whole.status_code, part.status_code) == (200, 200)
    assert ("1.webp" in whole.text, "1.webp" in part.text, part.text.strip() in whole.text) == (True, False, True)
