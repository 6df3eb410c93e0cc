"""An object that is sent in parts, because its size and hash are not known beforehand."""

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from deedbox.kernel.errors import NotFound
from deedbox.kernel.s3.failures import Rejected

if TYPE_CHECKING:
    from deedbox.kernel.s3.bucket import Bucket

_LOST = ("NoSuchUpload", "InvalidPart")


class Multipart:
    """One object on its way. Every part but the last has `limits.S3_PART_BYTES` or more; the store checks its hash."""

    def __init__(self, bucket: "Bucket", name: str) -> None:
        self._bucket = bucket
        self.name = name
        self._parts: list[dict[str, Any]] = []
        answer = bucket.ask("create_multipart_upload", name, ChecksumAlgorithm="SHA256")
        self._upload = {"UploadId": answer["UploadId"]}

    def send(self, part: bytes | bytearray) -> None:
        number = len(self._parts) + 1
        checksum = base64.b64encode(hashlib.sha256(part).digest()).decode()
        hashed = {"ChecksumAlgorithm": "SHA256", "ChecksumSHA256": checksum}
        answer = self._bucket.ask("upload_part", self.name, Body=part, PartNumber=number, **hashed, **self._upload)
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"], "ChecksumSHA256": checksum})

    def complete(self, size_bytes: int) -> None:
        """Makes the object of its parts."""
        try:
            parts = {"Parts": self._parts}
            self._bucket.ask("complete_multipart_upload", self.name, MultipartUpload=parts, **self._upload)
        except Rejected as error:
            # The answer to a first request may have been lost: then the second finds its work done.
            if error.answer not in _LOST or not self._is_there(size_bytes):
                raise

    def abort(self) -> None:
        self._bucket.ask("abort_multipart_upload", self.name, **self._upload)

    def _is_there(self, size_bytes: int) -> bool:
        try:
            return self._bucket.head(self.name).size_bytes == size_bytes
        except NotFound:
            return False
