"""A package of any size is made piece by piece."""

import hashlib
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from deedbox.archive import check, package
from deedbox.archive.build import PackageBuilder
from deedbox.archive.package import Bag, ManifestKey, PackageFile
from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest, LostFile, NotFound

pytestmark = pytest.mark.anyio

CHUNK = bytes(range(256)) * 1024
SIZE = 48 * limits.MB
KEY = ManifestKey(Secret("a key"))


class Large:
    """A store with one file, which is never in memory."""

    async def open_range(self, location: str, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        assert (location, start, length) == ("there", 0, SIZE)
        for _ in range(SIZE // len(CHUNK)):
            yield CHUNK


def bag(sha256: str, size: int = SIZE) -> Bag:
    return Bag(
        "doc_1", "wsp_1", "One", "Lease", "2026-03-01T12:00:00Z", [PackageFile(package.SEALED_PDF, sha256, size)]
    )


async def build(sha256: str, folder: Path, *, stored: bool = True, frozen: int = SIZE) -> tuple[int, int]:
    """How large the package is, and how much memory making and reading it took at most."""
    blobs: Any = Large()

    async def find(_: str) -> Blob | None:
        return Blob(sha256, SIZE, "there") if stored else None

    tracemalloc.start()
    try:
        async with PackageBuilder(blobs, find, folder).package(bag(sha256, frozen), b"token", KEY) as made:
            found = check.contents(made.file.file, made.file.size_bytes, "doc_1", KEY)
            assert (found.authenticated, found.payload[package.SEALED_PDF].size_bytes) == (True, SIZE)
            assert found.manifest_sha256 == made.manifest_sha256
            return made.file.size_bytes, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def whole() -> str:
    found = hashlib.sha256()
    for _ in range(SIZE // len(CHUNK)):
        found.update(CHUNK)
    return found.hexdigest()


async def test_a_large_file_is_never_held(tmp_path: Path) -> None:
    size, most = await build(whole(), tmp_path)
    assert size > SIZE
    assert most < 4 * limits.MB
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_is_gone_or_another_is_not_packed(tmp_path: Path) -> None:
    with pytest.raises(LostFile, match=r"lost the file for data/"):
        await build(whole(), tmp_path, stored=False)
    with pytest.raises(NotFound, match="not the one that was stored"):
        await build("0" * 64, tmp_path)
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_was_lost_when_the_bag_was_settled_is_packed_whole_once_it_is_back(tmp_path: Path) -> None:
    assert (await build(whole(), tmp_path, frozen=0))[0] == (await build(whole(), tmp_path))[0]


async def test_a_package_that_is_not_whole_is_not_given_away(tmp_path: Path) -> None:
    class Short:
        async def open_range(self, *_: object) -> AsyncIterator[bytes]:
            yield b"all there is"

    sha256, blobs = hashlib.sha256(b"all there is").hexdigest(), Short()

    async def find(_: str) -> Blob:
        return Blob(sha256, SIZE, "there")

    with pytest.raises(BadRequest):
        async with PackageBuilder(cast(Any, blobs), find, tmp_path).package(bag(sha256), None, KEY):
            raise AssertionError
