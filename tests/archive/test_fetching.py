"""A package can be had back from the archive, whole, by who may read it."""

import asyncio
import hashlib
from contextlib import aclosing
from typing import Any, cast

import pytest

from deedbox.archive.fetching import fetched_package
from deedbox.archive.receipt import Receipt
from deedbox.archive.targets import Write
from deedbox.kernel.errors import Unavailable
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
    told = {name: answer.headers[name] for name in ("content-type", "content-length", "content-disposition", "etag")}
    assert told == {
        "content-type": "application/zip",
        "content-length": str(document["archive"]["receipt"]["size_bytes"]),
        "content-disposition": f'attachment; filename="{document["id"]}.zip"',
        "etag": f'"{document["archive"]["receipt"]["sha256"]}"',
    }
    again = await office.api.get(path(document), headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await office.api.call("HEAD", path(document))
    assert (head.status_code, head.headers["content-length"], head.content) == (200, told["content-length"], b"")


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
    assert (await office.api.get(path(document))).status_code == 404
    assert (await office.api.get(path({"id": "doc_unknown"}))).status_code == 404


async def test_a_server_without_the_key_or_with_another_archive_says_so(office: Archivist) -> None:
    document = await office.archived()
    key, office.archiving.pushing.key = office.archiving.pushing.key, None
    without = await office.api.get(path(document))
    assert (without.status_code, "SERVICE_ECOSYSTEM_KEY" in without.json()["error"]) == (503, True)
    office.archiving.pushing.key = key
    office.archiving._target = cast(Any, Pieces([]))
    moved = await office.api.get(path(document))
    assert (moved.status_code, "another archive" in moved.json()["error"]) == (409, True)


class Pieces:
    """A target that has these, and notes which were taken."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.given: list[bytes] = []
        self.ended = asyncio.Event()

    def location(self, name: str) -> str:
        return f"pieces:{name}"

    async def fetch(self, name: str, write: Write, version: str | None = None) -> None:
        assert (name, version) == ("a.zip", "v1")
        try:
            for piece in self.pieces:
                self.given.append(piece)
                await write(piece)
        finally:
            self.ended.set()


def receipt(content: bytes) -> Receipt:
    return Receipt("pieces:a.zip", hashlib.sha256(content).hexdigest(), len(content), "0" * 64, "now", version="v1")


def taking(target: Pieces, content: bytes) -> Any:
    return aclosing(cast(Any, fetched_package(cast(Any, target), "a.zip", receipt(content))))


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


@pytest.mark.parametrize("there", [b"abce", b"abcde", b"abc"])
async def test_the_end_of_another_package_does_not_come(there: bytes) -> None:
    async with taking(Pieces([bytes([one]) for one in there]), b"abcd") as pieces:
        for _ in range(min(len(there), 4) - 1):
            await anext(pieces)
        with pytest.raises(Unavailable, match="something else"):
            await anext(pieces)
