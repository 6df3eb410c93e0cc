"""What the archive knows of a document, and what it tells of it."""

from typing import Literal, TypeAlias

import msgspec

Status: TypeAlias = Literal["pending", "archived", "failed"]


class Receipt(msgspec.Struct, frozen=True):
    """Where a package lies, and by what it is recognised."""

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


class Archived(msgspec.Struct, frozen=True):
    """A row: what is to be archived of a document, and how far that has come."""

    document_id: str
    workspace_id: str
    status: Status
    bag: str
    attempts: int
    error: str | None
    created_at: str
    tried_at: str | None
    archived_at: str | None
    receipt: str | None
    tree: int | None
    leaf: int | None
    proof: str | None

    @property
    def got(self) -> Receipt | None:
        return msgspec.json.decode(self.receipt, type=Receipt) if self.receipt else None


class Tree(msgspec.Struct, frozen=True):
    """The root over some packages, with what ties it to the root before, and the time-stamp once there is one."""

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
    """The installation's own unit stamped it, since the configured authority was away for too long."""
    error: str | None = None
    """Why the last attempt to stamp and publish it was in vain."""

    @property
    def is_of_old(self) -> bool:
        return self.published_at is not None and self.location is None
