"""The whole product with its files in a bucket: signing, search, and a store that goes away."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from deedbox.kernel.crypto import Secret
from deedbox.kernel.s3.bucket import Bucket
from tests.api.conftest import Api, opened
from tests.api.lost import LOST, told
from tests.api.search.files import doc_id, upload
from tests.api.signing.conftest import LEASE, Office
from tests.conftest import HandClock
from tests.s3 import Proxy, Store, names, spoiling

pytestmark = pytest.mark.anyio


@pytest.fixture
def proxied(s3_store: Store) -> Iterator[tuple[Proxy, str]]:
    with spoiling(s3_store) as made:
        yield made


@pytest.fixture
def bucket(s3_store: Store) -> Bucket:
    return s3_store.bucket()


@pytest.fixture
async def api(
    database_url: str, tmp_path: Path, clock: HandClock, bucket: Bucket, proxied: tuple[Proxy, str]
) -> AsyncIterator[Api]:
    store = {
        "blobs_url": str(bucket.place),
        "s3_endpoint": proxied[1],
        "s3_access_key": Secret("test"),
        "s3_secret_key": Secret("test-secret"),
    }
    async with opened(database_url, tmp_path, clock, **store) as made:
        await made.settle()
        await made.deedbox.start()
        try:
            yield made
        finally:
            await made.deedbox.stop()


async def test_a_document_is_made_signed_sealed_and_downloaded(api: Api, bucket: Bucket, tmp_path: Path) -> None:
    office = Office(api)
    document = await office.sealed()
    assert document["seal"]["level"] == "B-LT"
    sealed = await api.get(f"/api/v1/documents/{document['id']}/signed")
    assert sealed.status_code == 200
    assert sealed.content.startswith(b"%PDF")
    part = await api.get(f"/api/v1/documents/{document['id']}/signed", headers={"Range": "bytes=100-199"})
    assert (part.status_code, part.content) == (206, sealed.content[100:200])
    report = (await api.call("POST", "/api/v1/verify", files={"file": ("a.pdf", sealed.content)})).json()
    assert report["verdict"] == "authentic"
    original = await api.get(f"/api/v1/documents/{document['id']}/file")
    assert original.content == LEASE
    kept = {row[0] for row in await api.rows("select location from blobs")}
    assert kept <= names(bucket)
    assert len(kept) >= 2
    assert not (tmp_path / "blobs").exists()


async def test_a_file_for_search_is_uploaded_read_and_deleted(api: Api, bucket: Bucket) -> None:
    data = b"The tenant pays the rent. " * 40_000
    found = await doc_id(api, data, "lease.txt")
    assert (await api.get(f"/documents/{found}/content")).content == data
    assert "pays the rent" in (await api.get(f"/documents/{found}/text")).text
    assert (await api.call("DELETE", f"/documents/{found}")).status_code in (200, 204)
    await api.deedbox.blobs.sweep(api.deedbox.db, api.clock.now())
    assert names(bucket) == set()


async def test_a_store_that_is_away_is_a_503_and_changes_nothing(
    api: Api, bucket: Bucket, proxied: tuple[Proxy, str]
) -> None:
    found = await doc_id(api, b"stored before", "a.txt")
    stored = names(bucket)
    proxied[0].spoil("500", 100)
    refused = await upload(api, os.urandom(10).hex().encode(), "b.txt")
    assert (refused.status_code, refused.headers["x-service-error-code"]) == (503, "storage_unavailable")
    assert "Nothing was changed" in refused.json()["error"]
    assert (await api.get(f"/documents/{found}/content")).status_code == 503
    proxied[0].faults.clear()
    assert (await api.get(f"/documents/{found}/content")).content == b"stored before"
    assert names(bucket) == stored
    [[count]] = await api.rows("select count(*) from uploads")
    assert count == 1


async def test_a_file_that_the_store_has_lost_is_told_as_such(api: Api, bucket: Bucket) -> None:
    found = await doc_id(api, b"lost", "a.txt")
    for name in names(bucket):
        bucket.delete(name)
    assert told(await api.get(f"/documents/{found}/content")) == LOST
