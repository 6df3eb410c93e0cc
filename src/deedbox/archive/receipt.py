"""The rows of the archive: a document on its way into it, its receipt, and the daily trees."""

from typing import Literal, TypeAlias

import msgspec

from deedbox.archive.package import Bag

Status: TypeAlias = Literal["pending", "archived", "failed"]


class PackageReceipt(msgspec.Struct, frozen=True):
    """The place of a package, and the hashes that it is recognised by."""

    location: str
    sha256: str
    size_bytes: int
    manifest_sha256: str
    archived_at: str
    version: str | None = None
    etag: str | None = None
    answer: str | None = None
    key_id: str | None = None
    """Of the key that authenticated the package; receipts of earlier versions do not tell."""


class ArchiveRow(msgspec.Struct, frozen=True):
    """A document that is archived or is to be, and how far that has come."""

    document_id: str
    workspace_id: str
    status: Status
    bag: Bag
    attempts: int
    error: str | None
    created_at: str
    tried_at: str | None
    archived_at: str | None
    receipt: PackageReceipt | None
    tree: int | None
    leaf: int | None
    proof: list[str]
    """The hashes from the leaf to the root, in hexadecimal."""


class Tree(msgspec.Struct, frozen=True):
    """The root over the packages of a day, tied to the root before it, with its time-stamp once there is one."""

    number: int
    day: str
    size: int
    root: str
    previous: str | None
    token: bytes | None = None
    published_at: str | None = None
    location: str | None = None
    """Where the root was published; earlier versions did not note it, and gave it a name without a hash."""
    degraded: bool = False
    """Its time-stamp is of the installation's own unit, since the configured authority was away for too long."""
    error: str | None = None
    """Why the last attempt to time-stamp and publish it was in vain."""

    @property
    def is_of_old(self) -> bool:
        return self.published_at is not None and self.location is None
