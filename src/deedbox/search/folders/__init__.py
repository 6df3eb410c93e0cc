"""A folder whose files are documents of the library: of this machine, or below a prefix of a bucket."""

from typing import Protocol

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest, ServiceError, Unavailable
from deedbox.search.extract.kinds import kind_of
from deedbox.search.library.upload import LibraryUpload

FOLDER, PATH = "folder", "path"
"""The names in a document's metadata under which stands whose file it is: the folder's address, and the path in it."""


class SeenFile(msgspec.Struct, frozen=True):
    """A file as a look at its folder shows it."""

    size_bytes: int
    mark: str
    """Another one as soon as the file is changed."""
    modified: float


class Listing(msgspec.Struct):
    """What one look at a folder shows, by path."""

    files: dict[str, SeenFile] = {}
    skipped: dict[str, str] = {}
    """What is never read, with the reason: it is not there for the library."""
    unseen: dict[str, str] = {}
    """What could not be looked at, with the reason: a file, or a folder with a slash at its end."""

    def may_hold(self, path: str) -> bool:
        """Whether the path is there, or may be there unseen."""
        return path in self.files or any(
            path.startswith(one) if one.endswith("/") else path == one for one in self.unseen
        )


class FileReading(Protocol):
    """The bytes of a file, piece by piece. The methods block: they are for threads."""

    def read(self, most: int, /) -> bytes:
        """The next bytes; at the end none, or Changed if the file is no longer the one that was seen."""

    def close(self) -> None: ...


class WatchedFolder(Protocol):
    """The methods block: they are for threads."""

    address: str
    """What the documents of its files carry as `folder`."""
    is_whole: bool
    """Whether no file is ever seen half written."""

    def look(self) -> Listing:
        """What is there now; FolderAway if the folder itself is not."""

    def open(self, path: str, seen: SeenFile) -> FileReading:
        """The bytes of the file; Changed if it is no longer the one that was seen."""

    def identity(self, path: str, seen: SeenFile) -> str:
        """The same for the same bytes; Changed if they are no longer those that were seen."""

    def identity_of(self, upload: LibraryUpload) -> str | None:
        """That of the bytes that a document holds."""

    def notes(self, seen: SeenFile) -> dict[str, str]:
        """What the document's metadata keeps of the file beside its folder and path."""


class FolderAway(Unavailable):
    """The folder is not there, or does not let itself be looked at: nothing can be said of its files."""


class Changed(Exception):
    """The file is another one than a moment ago: it is being written, or gone."""


class UnreadableFile(BadRequest):
    """The file is there, and does not let itself be read."""


def unfit(path: str, size_bytes: int) -> str | None:
    """Why the file is none for the library, if it is none."""
    if not size_bytes:
        return "It is empty"
    name = path.rpartition("/")[2]
    if len(path) > limits.UPLOAD_VALUE_CHARS or len(name) > limits.FILENAME_CHARS or "\0" in path:
        return "Its path is too long to be kept"
    try:
        kind_of(name)
    except ServiceError:
        return "Files of this kind are not read"
    return None
