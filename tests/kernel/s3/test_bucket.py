"""What others build on: an object that is put once, locked, and checked by its hash."""

import hashlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from deedbox.kernel import limits
from deedbox.kernel.errors import Conflict, NotFound, Unavailable
from deedbox.kernel.s3.bucket import Bucket, Lock
from deedbox.kernel.s3.multipart import Multipart
from deedbox.kernel.s3.place import BucketPrefix, place
from tests.s3 import Proxy, Store, client, names, spoiling


@pytest.fixture
def proxied(s3_store: Store) -> Iterator[tuple[Proxy, str]]:
    with spoiling(s3_store) as made:
        yield made


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_an_object_is_put_read_described_and_deleted(s3_store: Store) -> None:
    bucket, data = s3_store.bucket(), os.urandom(100_000)
    assert bucket.put("a/b", data, sha256(data))
    found = bucket.head("a/b")
    assert (found.name, found.size_bytes, found.sha256, found.lock) == ("a/b", 100_000, sha256(data), None)
    assert bucket.hashed("a/b") == sha256(data)
    assert client(bucket).head_object(Bucket=bucket.place.bucket, Key="deedbox/files/a/b")["ContentLength"] == 100_000
    bucket.delete("a/b")
    bucket.delete("a/b")
    with pytest.raises(NotFound):
        bucket.head("a/b")
    with pytest.raises(NotFound):
        bucket.open("a/b")


def test_a_file_is_put_from_its_beginning(s3_store: Store) -> None:
    bucket, data = s3_store.bucket(), os.urandom(50_000)
    file = io.BytesIO(data)
    file.read(10)
    assert bucket.put("file", file, sha256(data))
    assert bucket.hashed("file") == sha256(data)


def test_bytes_that_are_not_those_of_the_hash_are_refused(s3_store: Store) -> None:
    bucket = s3_store.bucket()
    with pytest.raises(Unavailable, match="BadDigest"):
        bucket.put("wrong", b"these", sha256(b"others"))
    assert names(bucket) == set()


def test_an_object_that_is_there_is_not_put_again(s3_store: Store) -> None:
    bucket = s3_store.bucket()
    assert bucket.put("once", b"first", sha256(b"first"), new=True)
    assert not bucket.put("once", b"first", sha256(b"first"), new=True)
    with pytest.raises(Conflict, match="once"):
        bucket.put("once", b"second", sha256(b"second"), new=True)
    assert bucket.hashed("once") == sha256(b"first")


def test_an_object_whose_answer_was_lost_is_there_once(s3_store: Store, proxied: tuple[Proxy, str]) -> None:
    proxy, address = proxied
    bucket = s3_store.bucket(address=address)
    proxy.spoil("lose the answer", method="PUT")
    bucket.put("once", b"first", sha256(b"first"), new=True)
    assert bucket.head("once").sha256 == sha256(b"first")
    assert proxy.faults == []


def test_an_object_without_a_checksum_is_compared_by_its_bytes(s3_store: Store) -> None:
    bucket = s3_store.bucket()
    client(bucket).put_object(Bucket=bucket.place.bucket, Key="deedbox/files/old", Body=b"from elsewhere")
    assert bucket.head("old").sha256 is None
    assert not bucket.put("old", b"from elsewhere", sha256(b"from elsewhere"), new=True)
    with pytest.raises(Conflict):
        bucket.put("old", b"ours", sha256(b"ours"), new=True)


@pytest.mark.parametrize("mode", ["GOVERNANCE", "COMPLIANCE"])
def test_a_locked_object_cannot_be_destroyed(s3_store: Store, mode: str) -> None:
    bucket = s3_store.bucket(locked=True)
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3650)
    lock = Lock("COMPLIANCE" if mode == "COMPLIANCE" else "GOVERNANCE", until)
    assert bucket.put("kept", b"for ten years", sha256(b"for ten years"), new=True, lock=lock)
    assert bucket.head("kept").lock == lock
    [version] = client(bucket).list_object_versions(Bucket=bucket.place.bucket)["Versions"]
    with pytest.raises(Unavailable, match="access is denied"):
        bucket.ask("delete_object", "kept", VersionId=version["VersionId"])
    assert bucket.hashed("kept") == sha256(b"for ten years")


def test_a_lock_can_be_made_longer_and_the_first_version_is_found(s3_store: Store) -> None:
    bucket = s3_store.bucket(locked=True)
    for data in (b"first", b"second"):
        bucket.put("kept", data, sha256(data))
    first = bucket.first("kept")
    assert (first.sha256, bucket.head("kept").sha256) == (sha256(b"first"), sha256(b"second"))
    assert (bucket.head("kept", first.version), first.etag) == (first, bucket.first("kept").etag)
    assert bucket.hashed("kept", first.version) == sha256(b"first")
    lock = Lock("GOVERNANCE", datetime.now(UTC).replace(microsecond=0) + timedelta(days=9))
    bucket.lock("kept", first.version, lock)
    assert (bucket.first("kept").lock, bucket.head("kept").lock) == (lock, None)
    with pytest.raises(NotFound):
        bucket.first("kep")
    plain = s3_store.bucket()
    plain.put("kept", b"first", sha256(b"first"))
    assert plain.first("kept").version is None


def test_a_lock_on_a_bucket_without_locks_is_refused(s3_store: Store) -> None:
    bucket = s3_store.bucket()
    with pytest.raises(Unavailable):
        bucket.put("kept", b"x", sha256(b"x"), lock=Lock("COMPLIANCE", datetime.now(UTC) + timedelta(days=1)))


def test_a_copy_tells_the_hash_of_the_whole(s3_store: Store) -> None:
    bucket = s3_store.bucket()
    parts = [os.urandom(200_000), os.urandom(100)]
    upload = Multipart(bucket, "in parts")
    for part in parts:
        upload.send(part)
    upload.complete(200_100)
    assert bucket.copy("in parts", "whole") == sha256(b"".join(parts))
    assert bucket.hashed("whole") == sha256(b"".join(parts))


def test_an_upload_in_parts_that_was_aborted_leaves_nothing(s3_store: Store) -> None:
    bucket = s3_store.bucket()
    upload = Multipart(bucket, "in parts")
    upload.send(bytes(1000))
    assert names(bucket) == {"in parts"}
    upload.abort()
    assert names(bucket) == set()
    with pytest.raises((NotFound, Unavailable)):
        upload.complete(1000)


def test_a_listing_goes_on_over_its_pages(s3_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "S3_PAGE", 2)
    bucket = s3_store.bucket()
    for number in range(5):
        bucket.put(f"n/{number}", b"x", sha256(b"x"))
    bucket.put("m", b"x", sha256(b"x"))
    assert [[one.name for one in page] for page in bucket.pages("n/")] == [["n/0", "n/1"], ["n/2", "n/3"], ["n/4"]]
    assert list(s3_store.bucket().pages()) == [[]]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("s3://files", BucketPrefix("files")),
        ("s3://files/", BucketPrefix("files")),
        ("s3://my.files-1/a/b/", BucketPrefix("my.files-1", "a/b/")),
        ("s3://files/deedbox", BucketPrefix("files", "deedbox/")),
    ],
)
def test_a_place_is_a_bucket_and_a_prefix(url: str, found: BucketPrefix) -> None:
    assert place(url) == found
    assert place(str(found)) == found


@pytest.mark.parametrize(
    "url",
    [
        "", "files", "https://files/a", "s3://", "s3://Ab", "s3://a", "s3://key:secret@files", "s3://files:9000/a",
        "s3://files/a//b", "s3://files/../b", "s3://files/a b", "s3://files/a?x", "s3://files/a#x",
    ],
)  # fmt: skip
def test_what_is_no_place_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="it"):
        place(url)


def test_boto3_is_loaded_only_by_who_asks_a_store() -> None:
    script = """
import sys
from deedbox import wiring
from deedbox.kernel.blobs.s3 import S3Blobs
from deedbox.kernel.s3.bucket import Bucket
from deedbox.kernel.s3.place import Access, place
S3Blobs(Bucket(place("s3://files"), Access()))
print([name for name in ("boto3", "botocore") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_secret_is_in_no_text_of_a_bucket(s3_store: Store) -> None:
    assert "test-secret" not in repr(s3_store.access())
    assert "test-secret" not in repr(vars(Bucket(BucketPrefix("files"), s3_store.access())))
