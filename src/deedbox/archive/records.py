"""What the archive needs from its surroundings, which it does not know."""

from typing import NamedTuple, Protocol

from deedbox.archive.package import Bag
from deedbox.archive.receipt import Archived
from deedbox.kernel.db import Tx


class Records(Protocol):
    """The documents."""

    def bag(self, tx: Tx, workspace_id: str, document_id: str) -> Bag | None:
        """What is to be archived of a completed document, from now on kept for the archive; None if it has nothing."""

    def release(self, tx: Tx, bag: Bag) -> None:
        """The archive needs the document's files no more."""

    def show(self, tx: Tx, standing: Archived) -> None:
        """Writes where the archiving stands onto the document."""

    def missed(self, tx: Tx, after: tuple[str, str], most: int) -> list[tuple[str, str, str]]:
        """Workspace, id and time of documents that the archive was never told of, completed after this time and id."""


class Anchors(NamedTuple):
    """What seals and time-stamps are judged by, all in DER."""

    roots: list[bytes]
    crls: list[bytes]
    timestamp_roots: list[bytes]
    """Trusted for time-stamps only."""


class Authority(Protocol):
    """Who stamps times, and by whom a seal is believed."""

    async def token(self, digest: bytes) -> bytes:
        """An RFC 3161 token for a SHA-256 digest; Unavailable if a configured authority gives none."""

    async def own_token(self, digest: bytes) -> bytes:
        """One of the installation's own unit."""

    async def trusted(self, workspace_id: str | None) -> Anchors:
        """What seals of the workspace and time-stamps are judged by."""
