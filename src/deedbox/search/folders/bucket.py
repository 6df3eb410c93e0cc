"""A folder in an S3-compatible store: the objects below a prefix. They are told apart by their ETag."""

from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.kernel.s3.bucket import Bucket, StoredObject
from deedbox.kernel.s3.failures import StoreRefused
from deedbox.search import limits
from deedbox.search.folders import Changed, FileReading, Listing, SeenFile, unfit
from deedbox.search.library.upload import LibraryUpload

ETAG = "etag"


class BucketFolder:
    is_whole = True

    def __init__(self, bucket: Bucket) -> None:
        self.address = str(bucket.place)
        self._bucket = bucket

    def look(self) -> Listing:
        found = Listing()
        try:
            for page in self._bucket.pages():
                for one in page:
                    _sort_in(found, one)
                if len(found.files) > limits.FOLDER_FILES:
                    raise BadRequest(f"{self.address} holds more than {limits.FOLDER_FILES} files. Index its parts.")
        except StoreRefused as error:
            raise error.setup from error
        return found

    def open(self, path: str, seen: SeenFile) -> FileReading:  # noqa: ARG002 - what has changed is seen at the next look
        try:
            return self._bucket.open(path)
        except NotFound as error:
            raise Changed from error

    def identity(self, path: str, seen: SeenFile) -> str:  # noqa: ARG002 - a folder's file is read for it
        return seen.mark

    def identity_of(self, upload: LibraryUpload) -> str | None:
        etag = upload.metadata.get(ETAG)
        return str(etag) if etag else None

    def notes(self, seen: SeenFile) -> dict[str, str]:
        return {ETAG: seen.mark}


def _sort_in(found: Listing, one: StoredObject) -> None:
    if one.name.endswith("/") or not one.name:
        return  # what consoles make so that a folder is shown
    if any(part.startswith(".") for part in one.name.split("/")):
        return
    if reason := unfit(one.name, one.size_bytes):
        found.skipped[one.name] = reason
    else:
        modified = one.modified.timestamp()
        found.files[one.name] = SeenFile(one.size_bytes, one.etag or f"{one.size_bytes}-{modified}", modified)
