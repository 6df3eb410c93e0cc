"""The documents and the authority that the archive works with, as protocols: it knows neither of them."""

from typing import NamedTuple, Protocol

from deedbox.archive.package import Bag
from deedbox.archive.receipt import ArchiveRow
from deedbox.kernel.db import Tx


class Records(Protocol):
    """The documents."""

    def bag(self, tx: Tx, workspace_id: str, document_id: str) -> Bag | None:
        """The bag of a completed document, whose files stay stored for the archive; None if there is none."""

    def release(self, tx: Tx, bag: Bag) -> None:
        """The archive needs the document's files no more."""

    def show(self, tx: Tx, standing: ArchiveRow) -> None:
        """Writes where the archiving stands onto the document."""

    def missed(self, tx: Tx, after: tuple[str, str], most: int) -> list[tuple[str, str, str]]:
        """Workspace, id and time of documents that the archive was never told of, completed after this time and id."""


class SealAnchors(NamedTuple):
    """The anchors that seals and time-stamps are judged by, all in DER."""

    roots: list[bytes]
    crls: list[bytes]
    timestamp_roots: list[bytes]
    """Trusted for time-stamps only."""


class Authority(Protocol):
    """The source of time-stamps, and of the anchors that seals are judged by."""

    async def token(self, digest: bytes) -> bytes:
        """An RFC 3161 token for a SHA-256 digest; Unavailable if a configured authority gives none."""

    async def own_token(self, digest: bytes) -> bytes:
        """One of the installation's own unit."""

    async def trusted(self, workspace_id: str | None) -> SealAnchors:
        """The anchors for seals of the workspace and for time-stamps."""
