"""Files that their records name and the storage has lost."""

import shutil

import httpx

from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.blobs.s3 import S3Blobs
from deedbox.kernel.s3.bucket import Bucket
from tests.api.conftest import Api
from tests.s3 import client

LOST = (500, "file_lost")


def lose_all(api: Api) -> int:
    """Takes every file out of the storage; how many."""
    if isinstance(api.deedbox.blobs, S3Blobs):
        return _lose_objects(api.deedbox.blobs.bucket)
    assert isinstance(api.deedbox.blobs, LocalBlobs)
    shelves = [one for one in api.deedbox.blobs.folder.iterdir() if len(one.name) == 2]
    files = [file for shelf in shelves for file in shelf.iterdir()]
    for shelf in shelves:
        shutil.rmtree(shelf)
    return len(files)


def _lose_objects(bucket: Bucket) -> int:
    where, store = bucket.place.bucket, client(bucket)
    names = [one["Key"] for one in store.list_objects_v2(Bucket=where).get("Contents", ())]
    for name in names:
        store.delete_object(Bucket=where, Key=name)
    return len(names)


def told(answer: httpx.Response) -> tuple[int, str | None]:
    return answer.status_code, answer.headers.get("x-service-error-code")
