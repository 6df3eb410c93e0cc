"""Every test of the contract runs on a folder and on a bucket."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kernel.blobs.shelves import BucketShelf, FolderShelf, Shelf


@pytest.fixture(params=["folder", "bucket"])
async def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Shelf]:
    made: Shelf = (
        FolderShelf(tmp_path / "blobs")
        if request.param == "folder"
        else BucketShelf(request.getfixturevalue("s3_store"))
    )
    yield made
    await made.blobs.close()
