"""One bucket of a store. Every method blocks: they are for threads. Here, and nowhere else, a boto3 client is made."""

import base64
import binascii
import contextlib
import hashlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO, Literal

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.errors import Conflict, NotFound, SetupError, Unavailable
from deedbox.kernel.ids import Entropy
from deedbox.kernel.s3.failures import Rejected, StoreRefused, translate_failures
from deedbox.kernel.s3.object_stream import ObjectStream
from deedbox.kernel.s3.place import Access, BucketPrefix

_TAKEN = ("PreconditionFailed", "412")
_AT_THE_SAME_TIME = ("ConditionalRequestConflict", "OperationAborted", "409")
_NO_VERSIONS = ("NotImplemented", "MethodNotAllowed", "501", "405")


class Lock(msgspec.Struct, frozen=True):
    """Until when nobody deletes or replaces an object: with special rights (governance), or at all (compliance)."""

    mode: Literal["GOVERNANCE", "COMPLIANCE"]
    until: datetime


class StoredObject(msgspec.Struct, frozen=True):
    """What the store says of an object. What has a default it tells only to `head`, all but the ETag, and only where it
    has it."""

    name: str
    size_bytes: int
    modified: datetime
    sha256: str | None = None
    lock: Lock | None = None
    version: str | None = None
    etag: str | None = None


class Bucket:
    """The objects below one prefix of a bucket, named without it."""

    def __init__(self, place: BucketPrefix, access: Access) -> None:
        self.place = place
        self._access = access
        self._made: Any = None
        self._making = threading.Lock()

    def put(
        self, name: str, body: bytes | bytearray | BinaryIO, sha256: str, *, new: bool = False, lock: Lock | None = None
    ) -> bool:
        """Stores the bytes, whose hash the store checks. With `new`, only if there is no such object: False when
        there is one with these bytes, Conflict when it has others."""
        more: dict[str, Any] = {"ChecksumAlgorithm": "SHA256", "ChecksumSHA256": _base64(sha256)}
        if new:
            more["IfNoneMatch"] = "*"
        if lock is not None:
            more |= {"ObjectLockMode": lock.mode, "ObjectLockRetainUntilDate": lock.until}
        for _ in range(limits.S3_ATTEMPTS):
            if not isinstance(body, (bytes, bytearray)):
                body.seek(0)
            try:
                self.ask("put_object", name, Body=body, **more)
            except Rejected as error:
                if new and error.answer in _AT_THE_SAME_TIME:
                    continue
                if not new or error.answer not in _TAKEN:
                    raise
                return self._is_ours(name, sha256)
            return True
        raise Unavailable("Others write the same object at this moment. Try again shortly.")

    def head(self, name: str, version: str | None = None) -> StoredObject:
        """What is known of the object, or of one version of it; NotFound if there is none."""
        answer = self.ask("head_object", name, ChecksumMode="ENABLED", **_of(version))
        lock = None
        if "ObjectLockMode" in answer:
            lock = Lock(answer["ObjectLockMode"], answer["ObjectLockRetainUntilDate"].astimezone(UTC))
        return StoredObject(
            name,
            answer["ContentLength"],
            answer["LastModified"],
            _hex(answer.get("ChecksumSHA256")),
            lock,
            answer.get("VersionId"),
            _etag(answer),
        )

    def first(self, name: str) -> StoredObject:
        """What is known of the object as it was first put, also if it was deleted or replaced since, where the bucket
        keeps versions; NotFound if there is none."""
        return self.head(name, self._first_version(name))

    def lock(self, name: str, version: str | None, lock: Lock) -> None:
        """Locks what is there: for longer than it was, never for less."""
        until = {"Mode": lock.mode, "RetainUntilDate": lock.until}
        self.ask("put_object_retention", name, Retention=until, ChecksumAlgorithm="SHA256", **_of(version))

    def open(self, name: str, start: int = 0, length: int | None = None, version: str | None = None) -> ObjectStream:
        """The bytes as a stream; NotFound if there is no such object, or no such version of it."""
        request = self._object(name) | _of(version)
        return ObjectStream(self._client(), str(self.place), request, start, length)

    def hashed(self, name: str, version: str | None = None) -> str:
        """The hash of the bytes that the store gives out, all of them read."""
        digest = hashlib.sha256()
        with contextlib.closing(self.open(name, version=version)) as reading:
            while chunk := reading.read(limits.BLOB_CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()

    def copy(self, source: str, target: str) -> str | None:
        """Copies an object inside the store; the hash that it has computed on the way, if it does that."""
        origin = self._object(source)
        answer = self.ask("copy_object", target, CopySource=origin, ChecksumAlgorithm="SHA256")
        return _hex(answer.get("CopyObjectResult", {}).get("ChecksumSHA256"))

    def delete(self, name: str) -> None:
        """The object is gone, also if it was gone before."""
        try:
            self.ask("delete_object", name)
        except NotFound:  # some stores say so
            return

    def pages(self, prefix: str = "") -> Iterator[list[StoredObject]]:
        """The objects whose names begin so, sorted, a page at a time."""
        found = {"IsTruncated": True}
        more: dict[str, Any] = {}
        while found["IsTruncated"]:
            found = self._list("list_objects_v2", prefix, MaxKeys=limits.S3_PAGE, **more)
            more = {"ContinuationToken": found.get("NextContinuationToken")}
            yield [
                StoredObject(self._name(one["Key"]), one["Size"], one["LastModified"], etag=_etag(one))
                for one in found.get("Contents", [])
            ]

    def abort_stale(self, prefix: str, before: datetime) -> int:
        """Ends the multipart uploads, of names that begin so, to which nothing was added since; how many."""
        found = self._list("list_multipart_uploads", prefix, MaxUploads=limits.S3_PAGE)
        stale = [one for one in found.get("Uploads", []) if one["Initiated"] < before]
        return sum(self._abort_if_still(self._name(one["Key"]), one["UploadId"], before) for one in stale)

    def check(self, entropy: Entropy) -> None:
        """SetupError with the next step unless objects can be listed, put, read and deleted."""
        probe = f"probe/{entropy(8).hex()}"
        try:
            next(self.pages(probe))
            self.put(probe, b"", _EMPTY)
            self.head(probe)
            self.delete(probe)
        except StoreRefused as error:
            raise error.setup from error
        except Unavailable as error:
            raise SetupError(
                f"Files cannot be stored at {self.place}: {error.message}",
                "Check DEEDBOX_S3_ENDPOINT, and that the store runs and can be reached from here.",
            ) from error

    def ask(self, operation: str, name: str, **parameters: Any) -> Any:
        """The store's answer to one request about one object."""
        client = self._client()
        with translate_failures(str(self.place)):
            return getattr(client, operation)(**self._object(name), **parameters)

    def _list(self, operation: str, prefix: str, **parameters: Any) -> Any:
        client = self._client()
        with translate_failures(str(self.place)):
            return getattr(client, operation)(
                Bucket=self.place.bucket, Prefix=f"{self.place.prefix}{prefix}", **parameters
            )

    def _first_version(self, name: str) -> str | None:
        """The oldest version that the bucket has of the object; None if that is the object itself."""
        key, oldest = self._object(name)["Key"], None
        more: dict[str, Any] = {}
        while True:
            try:
                found = self._list("list_object_versions", name, MaxKeys=limits.S3_PAGE, **more)
            except Rejected as error:
                if error.answer in _NO_VERSIONS:
                    return None
                raise
            # Of each name the newest come first; names that only begin so come after it.
            oldest = next((one for one in reversed(found.get("Versions", [])) if one["Key"] == key), oldest)
            if not found.get("IsTruncated") or found["NextKeyMarker"] != key:
                break
            more = {"KeyMarker": key, "VersionIdMarker": found["NextVersionIdMarker"]}
        if oldest is None:
            raise NotFound("The file is no longer stored.")
        # Without versions an object has this one, or none, and not every store lets itself be asked by it.
        version = oldest.get("VersionId", "null")
        return None if version == "null" and oldest.get("IsLatest", True) else str(version)

    def _abort_if_still(self, name: str, upload_id: str, before: datetime) -> bool:
        try:
            parts = self.ask("list_parts", name, UploadId=upload_id).get("Parts", [])
            if any(part["LastModified"] >= before for part in parts):
                return False
            self.ask("abort_multipart_upload", name, UploadId=upload_id)
        except (NotFound, Rejected):  # ended meanwhile
            return False
        return True

    def _is_ours(self, name: str, sha256: str) -> bool:
        """False if the object that is there has these bytes; Conflict if not."""
        if (self.head(name).sha256 or self.hashed(name)) != sha256:
            raise Conflict(f"There is another object named {name} in {self.place}, and it must not be replaced.")
        return False

    def _object(self, name: str) -> dict[str, str]:
        return {"Bucket": self.place.bucket, "Key": f"{self.place.prefix}{name}"}

    def _name(self, key: str) -> str:
        return key.removeprefix(self.place.prefix)

    def _client(self) -> Any:
        with self._making:
            if self._made is None:
                with translate_failures(str(self.place)):
                    self._made = _client(self._access)
            return self._made


_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def _client(access: Access) -> Any:
    from boto3.session import Session
    from botocore.config import Config

    session = Session(
        aws_access_key_id=access.access_key.reveal() if access.access_key else None,
        aws_secret_access_key=access.secret_key.reveal() if access.secret_key else None,
        region_name=access.region,
    )
    config = Config(
        connect_timeout=limits.S3_CONNECT_SECONDS,
        read_timeout=limits.S3_READ_SECONDS,
        max_pool_connections=limits.S3_CONNECTIONS,
        retries={"mode": "standard", "total_max_attempts": limits.S3_ATTEMPTS},
        signature_version="s3v4",
        # Signed with its hash, every body is checked also by a store that knows no other checksum; and other
        # checksums than those that we ask for are not understood everywhere.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"payload_signing_enabled": True, "addressing_style": "path" if access.endpoint else "auto"},
    )
    # A store of one's own has no regions, but a signature names one.
    region = session.region_name or "us-east-1"
    return session.client("s3", region_name=region, endpoint_url=access.endpoint, config=config)


def _of(version: str | None) -> dict[str, str]:
    return {} if version is None else {"VersionId": version}


def _etag(told: dict[str, Any]) -> str | None:
    return told.get("ETag", "").strip('"') or None


def _base64(sha256: str) -> str:
    return base64.b64encode(bytes.fromhex(sha256)).decode()


def _hex(checksum: str | None) -> str | None:
    """The hash of a whole object; None for that of an object in parts, which is a hash of hashes."""
    try:
        found = base64.b64decode(checksum or "", validate=True)
    except binascii.Error:
        return None
    return found.hex() if len(found) == 32 else None
