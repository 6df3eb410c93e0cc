"""The targets that packages are pushed to. A name is given once: its content is never replaced."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from deedbox.archive.spool import SpooledFile
from deedbox.kernel.archive_url import ArchiveFolder, Web
from deedbox.kernel.clock import Clock
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import Conflict, TooLarge
from deedbox.kernel.settings import Settings

if TYPE_CHECKING:
    from deedbox.kernel.egress import Egress

Write: TypeAlias = Callable[[bytes], Awaitable[None]]


class PutResult(msgspec.Struct, frozen=True):
    """A target's answer to a put."""

    version: str | None = None
    etag: str | None = None
    answer: str | None = None


class NameTaken(Conflict):
    """Something else lies under the name."""


class ArchiveTarget(Protocol):
    def location(self, name: str) -> str:
        """The location of a name, for people and receipts."""

    async def put(self, name: str, content: SpooledFile, media_type: str) -> PutResult:
        """Durable under its name, also if the very same was there before; NameTaken if something else is."""

    async def confirm(self, name: str, content: SpooledFile) -> PutResult:
        """As `put` of content that was fetched from under the name: it is locked as new content would be."""

    async def fetch(self, name: str, write: Write, version: str | None = None) -> None:
        """Writes the content of the name, in the version that `PutResult` told; NotFound if there is none."""

    async def close(self) -> None:
        """Ends its connections."""


async def fetch(target: ArchiveTarget, name: str, most: int) -> bytes:
    """The content of the name, if it is small; NotFound if there is none, TooLarge if it has more bytes."""
    found = bytearray()

    async def keep(chunk: bytes) -> None:
        found.extend(chunk)
        if len(found) > most:
            raise TooLarge(f"The file {name} in the archive is larger than any that was written")

    await target.fetch(name, keep)
    return bytes(found)


def chosen(settings: Settings, key: Secret, egress: "Callable[[], Egress]", clock: Clock) -> ArchiveTarget:
    """The target that the settings name."""
    place = settings.archive
    if isinstance(place, ArchiveFolder):
        from deedbox.archive.targets.folder import FolderTarget

        return FolderTarget(place.path, clock)
    if isinstance(place, Web):
        from deedbox.archive.targets.https import HttpsTarget

        return HttpsTarget(place.url, key, egress())
    from deedbox.archive.targets.s3 import S3Target

    return S3Target(place, settings.s3, settings.archive_lock, settings.archive_lock_days, clock)
