"""The files of a document for people who are signed in: pictures of its pages, and what can be downloaded."""

import io
import zipfile

import pytest

from deedbox.signing.model import Archive, ArchiveReceipt
from deedbox.signing.store import documents
from tests.api.signing.conftest import LEASE, Office
from tests.api.signing.packets import three
from tests.api.test_mail_page import owner

pytestmark = pytest.mark.anyio


async def test_pages_are_pictures_by_file_and_number_and_are_not_sent_twice(office: Office) -> None:
    files = [office.body()["file"], {**office.body()["file"], "name": "annex.pdf"}]
    document = await office.create(file=None, files=files, send=True)
    annex = f"/app/documents/{document['id']}/files/{document['files'][1]['id']}"
    async with owner(office.api) as client:
        found = await client.get(f"{annex}/pages/2.webp?width=480")
        whole = await office.api.get(f"/api/v1/documents/{document['id']}/pages/4.webp?width=480")
        again = await client.get(f"{annex}/pages/2.webp?width=480", headers={"If-None-Match": found.headers["ETag"]})
        missing = [await client.get(f"{annex}/{page}") for page in ("pages/3.webp", "pages/0.webp", "pages/x")]
        wrong = await client.get(f"{annex}/pages/1.webp?width=1")
    assert (found.status_code, found.headers["Content-Type"], found.content[8:12]) == (200, "image/webp", b"WEBP")
    assert found.content == whole.content
    assert again.status_code == 304
    assert [one.status_code for one in missing] == [404] * 3
    assert wrong.status_code == 400


async def test_everything_that_can_be_downloaded_is_what_the_api_gives(office: Office) -> None:
    document = await office.sealed()
    place, file_id = f"/app/documents/{document['id']}", document["files"][0]["id"]
    async with owner(office.api) as client:
        for mine, theirs in {
            f"files/{file_id}": "file",
            "signed.pdf": "signed",
            "certificate.pdf": "certificate",
            "evidence.json": "evidence",
        }.items():
            found = await client.get(f"{place}/{mine}")
            same = await office.api.get(f"/api/v1/documents/{document['id']}/{theirs}")
            assert (found.status_code, found.content) == (200, same.content), mine
            assert found.headers["Content-Disposition"] == same.headers["Content-Disposition"]
        shown = await client.get(f"{place}/files/{file_id}/pages/1.webp")
        same = await office.api.get(f"/api/v1/documents/{document['id']}/pages/1.webp")
        assert shown.content == same.content
        assert (await client.get(f"{place}/packet.zip")).status_code == 404
        page = (await client.get(place)).text
        assert all(f'href="{place}/{path}"' in page for path in ("signed.pdf", "certificate.pdf", "evidence.json"))
        assert "Not archived: no archive is set up." in page
        receipt = ArchiveReceipt("folder/lease.zip", "ab" * 32, 1000, "cd" * 32, document["completed_at"])
        kept = Archive("archived", 1, document["completed_at"], receipt)
        await office.api.deedbox.db.write(lambda tx: documents.note_archive(tx, document["id"], kept))
        part = (await client.get(place, headers={"X-Part": "files"})).text
        assert ("In the archive since" in part, "folder/lease.zip" in part, "ab" * 32 in part) == (True, True, True)


async def test_a_document_in_a_packet_gives_all_of_it_as_a_zip_file(office: Office) -> None:
    made = await office.api.post("/api/v1/packets", three())
    document = made.json()["documents"][0]
    async with owner(office.api) as client:
        found = await client.get(f"/app/documents/{document['id']}/packet.zip")
        early = await client.get(f"/app/documents/{document['id']}/signed.pdf")
    names = zipfile.ZipFile(io.BytesIO(found.content)).namelist()
    assert any(name.endswith("lease.pdf") for name in names), names
    assert zipfile.ZipFile(io.BytesIO(found.content)).read(names[0]) == LEASE
    assert early.status_code == 409


async def test_files_of_another_workspace_are_not_there(office: Office) -> None:
    other = await office.api.make_key(workspace=office.api.other_workspace)
    theirs = (await office.api.post("/api/v1/documents", office.body(), key=other)).json()
    file_id = theirs["files"][0]["id"]
    async with owner(office.api) as client:
        for path in (f"files/{file_id}", f"files/{file_id}/pages/1.webp", "signed.pdf", "evidence.json", "packet.zip"):
            assert (await client.get(f"/app/documents/{theirs['id']}/{path}")).status_code == 404, path
