"""Files that their records name and the storage has lost."""

import shutil

import httpx

from deedbox.kernel.blobs.local import LocalBlobs
from tests.api.conftest import Api

LOST = (500, "file_lost")


def lose_all(api: Api) -> int:
    """Takes every file out of the storage; how many."""
    assert isinstance(api.deedbox.blobs, LocalBlobs)
    shelves = [one for one in api.deedbox.blobs.folder.iterdir() if len(one.name) == 2]
    files = [file for shelf in shelves for file in shelf.iterdir()]
    for shelf in shelves:
        shutil.rmtree(shelf)
    return len(files)


def told(answer: httpx.Response) -> tuple[int, str | None]:
    return answer.status_code, answer.headers.get("x-service-error-code")
