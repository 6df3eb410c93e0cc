"""A package can be had back from the archive, whole, by who may read it."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, cast

import pytest

from deedbox.archive import limits as archive_limits
from deedbox.archive.fetch import Downloads
from deedbox.archive.receipt import PackageReceipt
from deedbox.archive.targets import Write
from deedbox.kernel import limits
from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.kernel.fairness import MemoryBudget
from deedbox.web.http.auth import PUBLIC
from deedbox.web.http.blob_response import patiently
from deedbox.web.http.context import Context
from tests.api.lost import LOST, told
from tests.archive.conftest import Archivist, entries

pytestmark = pytest.mark.anyio


def path(document: Any) -> str:
    return f"/api/v1/documents/{document['id']}/archive/package"


async def test_the_package_is_served_as_it_lies_in_the_archive(office: Archivist) -> None:
    document = await office.archived()
    key = await office.api.make_key("archive:read")
    answer = await office.api.get(path(document), key=key)
    assert answer.status_code == 200
    assert answer.content == office.package(document).read_bytes()
    assert "data/sealed.pdf" in entries(answer.content)
    head_of = {name: answer.headers[name] for name in ("content-type", "content-length", "content-disposition", "etag")}
    assert head_of == {
        "content-type": "application/zip",
        "content-length": str(document["archive"]["receipt"]["size_bytes"]),
        "content-disposition": f'attachment; filename="{document["id"]}.zip"',
        "etag": f'"{document["archive"]["receipt"]["sha256"]}"',
    }
    again = await office.api.get(path(document), headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await office.api.call("HEAD", path(document))
    assert (head.status_code, head.headers["content-length"], head.content) == (200, head_of["content-length"], b"")


async def test_only_who_may_read_the_archive_gets_a_package(office: Archivist) -> None:
    document = await office.archived()
    other = await office.api.make_key("documents:read", "verify:read")
    assert (await office.api.get(path(document), key=other)).status_code == 403
    stranger = await office.api.make_key(workspace=office.api.other_workspace)
    assert (await office.api.get(path(document), key=stranger)).status_code == 404


async def test_what_is_not_archived_or_gone_or_another_is_told_apart(office: Archivist) -> None:
    faulty = office.with_fault()
    faulty.down = True
    document = await office.sealed()
    waiting = await office.api.get(path(document))
    assert (waiting.status_code, waiting.json()["error"].startswith("The document is not archived")) == (409, True)
    await office.tried(document, 1)
    faulty.down = False
    office.api.clock.forward(60)
    await office.when(document, "archived")
    faulty.down = True
    assert (await office.api.get(path(document))).status_code == 503
    faulty.down = False
    place = office.package(document)
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)
    altered = await office.api.get(path(document))
    assert (altered.status_code, "something else" in altered.json()["error"]) == (503, True)
    place.unlink()
    gone = await office.api.get(path(document))
    assert (told(gone), "lost the package" in gone.json()["error"]) == (LOST, True)
    assert (await office.api.get(path({"id": "doc_unknown"}))).status_code == 404


async def test_a_server_without_the_key_or_with_another_archive_says_so(office: Archivist) -> None:
    document = await office.archived()
    key, office.archive.push.key = office.archive.push.key, None
    without = await office.api.get(path(document))
    assert (without.status_code, "SERVICE_ECOSYSTEM_KEY" in without.json()["error"]) == (503, True)
    office.archive.push.key = key
    office.archive._archive._target = cast(Any, Pieces([]))
    moved = await office.api.get(path(document))
    assert (moved.status_code, "not in the current archive" in moved.json()["error"]) == (409, True)


class Pieces:
    """A target that has these, and notes which were taken."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.given: list[bytes] = []
        self.before: Callable[[bytes], None] = lambda _: None
        self.ended = asyncio.Event()

    def location(self, name: str) -> str:
        return f"pieces:{name}"

    async def fetch(self, name: str, write: Write, version: str | None = None) -> None:
        assert (name, version) == ("a.zip", "v1")
        try:
            for piece in self.pieces:
                self.before(piece)
                self.given.append(piece)
                await write(piece)
        finally:
            self.ended.set()

    async def close(self) -> None: ...


def receipt(content: bytes) -> PackageReceipt:
    return PackageReceipt(
        "pieces:a.zip", hashlib.sha256(content).hexdigest(), len(content), "0" * 64, "now", version="v1"
    )


def taking(target: Pieces, content: bytes, downloads: Downloads | None = None) -> Any:
    return aclosing(cast(Any, (downloads or Downloads()).package(cast(Any, target), "a.zip", receipt(content))))


async def test_a_package_is_fetched_no_faster_than_it_is_taken() -> None:
    target = Pieces([b"a", b"b", b"c", b"d"])
    async with taking(target, b"abcd") as pieces:
        assert await anext(pieces) == b"a"
        assert target.given == [b"a", b"b"]
        assert [piece async for piece in pieces] == [b"b", b"c", b"d"]
    left = Pieces([b"a", b"b", b"c", b"d"])
    async with taking(left, b"abcd") as pieces:
        await anext(pieces)
    async with asyncio.timeout(60):
        await left.ended.wait()
    assert left.given == [b"a", b"b"]


async def test_only_so_many_packages_are_fetched_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_limits, "ARCHIVE_FETCHES", 1)
    downloads, target = Downloads(), Pieces([b"a", b"b", b"c"])
    async with taking(target, b"abc", downloads) as first:
        await anext(first)
        with pytest.raises(Unavailable, match="Too many packages") as full:
            await anext(downloads.package(cast(Any, target), "a.zip", receipt(b"abc")))
        assert (full.value.status, full.value.code) == (503, ErrorCode.BUSY)
        assert [piece async for piece in first] == [b"b", b"c"]
    async with taking(target, b"abc", downloads) as next_one:
        assert [piece async for piece in next_one] == [b"a", b"b", b"c"]


async def test_a_reader_that_takes_nothing_is_given_up_and_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_limits, "ARCHIVE_FETCHES", 1)
    downloads, target = Downloads(), Pieces([b"a", b"b", b"c"])
    # The first is taken, as fast as this machine is; the time for the second is over at once.
    target.before = lambda piece: monkeypatch.setattr(limits, "ARCHIVE_READER_SECONDS", 60 if piece == b"a" else 0)
    async with taking(target, b"abc", downloads) as idle:
        await anext(idle)
        async with asyncio.timeout(60):
            await target.ended.wait()
        await asyncio.sleep(0)
        monkeypatch.setattr(limits, "ARCHIVE_READER_SECONDS", 60)
        async with taking(Pieces([b"a", b"b"]), b"ab", downloads) as other:
            assert [piece async for piece in other] == [b"a", b"b"]
        with pytest.raises(Unavailable, match="not taken in time"):
            await anext(idle)
    assert target.given == [b"a", b"b"]


async def test_every_piece_that_is_taken_gives_the_request_more_time() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    now = asyncio.get_running_loop().time
    here = Context(cast(Any, None), "req_1", PUBLIC, MemoryBudget())
    for each, in_all in ((60, 1800), (60, 5)):
        async with asyncio.timeout(3) as here.deadline:
            until, latest = now() + min(each, in_all) - 1, now() + min(each, in_all) + 30
            async for _ in patiently(here, pieces(), each=each, in_all=in_all):
                end = here.deadline.when()
                assert end is not None
                assert until < end < latest
            here.deadline.reschedule(None)


async def test_a_server_that_fetches_enough_already_says_so(office: Archivist, monkeypatch: pytest.MonkeyPatch) -> None:
    document = await office.archived()
    monkeypatch.setattr(archive_limits, "ARCHIVE_FETCHES", 0)
    full = await office.api.get(path(document))
    assert (full.status_code, full.headers["x-service-error-code"], full.headers["retry-after"]) == (503, "busy", "1")


@pytest.mark.parametrize("there", [b"abce", b"abcde", b"abc"])
async def test_the_end_of_another_package_does_not_come(there: bytes) -> None:
    async with taking(Pieces([bytes([one]) for one in there]), b"abcd") as pieces:
        for _ in range(min(len(there), 4) - 1):
            await anext(pieces)
        with pytest.raises(Unavailable, match="something else"):
            await anext(pieces)
