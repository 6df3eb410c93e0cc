"""A package of the archive: a BagIt bag (RFC 8493) of one document. Pure: from the same facts come the same bytes.

The bag is one zip file whose entries are stored, in fixed order, with fixed times: it has one name, one hash and one
moment at which it is there, whatever it is pushed to. The manifests hold SHA-256; `authentication.txt` holds an
HMAC-SHA256 over the manifest of the tag files, and that manifest is about the one of the payload, so the archive's key
vouches for every byte.
"""

import hashlib
import re
from collections.abc import Iterable

import msgspec

from deedbox.kernel.crypto import Secret, hmac_sha256, same
from deedbox.kernel.plain_name import plain_name

MANIFEST, TAG_MANIFEST, AUTHENTICATION = "manifest-sha256.txt", "tagmanifest-sha256.txt", "authentication.txt"
SEALED_PDF, CERTIFICATE_PDF, EVIDENCE_JSON = "data/sealed.pdf", "data/certificate.pdf", "data/evidence.json"
ORIGINALS_FOLDER, TIMESTAMP_TOKEN = "data/original/", "data/timestamp.tst"
MEDIA_TYPE = "application/zip"

_DECLARATION = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
_PURPOSE = b"deedbox archive manifest 1"
_KEY_ID_CHARS = 16


class PackageFile(msgspec.Struct, frozen=True):
    """A file of the payload."""

    path: str
    sha256: str
    size_bytes: int


class Bag(msgspec.Struct, frozen=True):
    """The files of a document that are archived, settled at its completion: a later attempt makes the same package."""

    document_id: str
    workspace_id: str
    workspace_name: str
    title: str
    completed_at: str
    pieces: list[PackageFile]

    @property
    def name(self) -> str:
        """Under which the package lies in the archive, whatever happens."""
        return f"{self.workspace_id}/{self.document_id}.zip"


class ManifestKey:
    """The key that authenticates manifests, derived from the archive's key, which it does not give away."""

    def __init__(self, secret: Secret) -> None:
        self._key = hmac_sha256(secret.reveal().encode(), _PURPOSE)
        self.id = hmac_sha256(self._key, b"id").hex()[:_KEY_ID_CHARS]
        """Tells which key it was, when there have been several."""

    def of(self, tag_manifest: bytes) -> str:
        return hmac_sha256(self._key, tag_manifest).hex()

    def vouches(self, tag_manifest: bytes, value: str) -> bool:
        return same(self.of(tag_manifest).encode(), value.encode("utf-8", "replace"))


def original_path(position: int, name: str) -> str:
    """The path in the bag of a file that the sender gave; its full name stands in the evidence."""
    return f"{ORIGINALS_FOLDER}{position + 1:02}-{plain_name(name)}"


def tag_files(bag: Bag, key: ManifestKey) -> list[tuple[str, bytes]]:
    """The files that describe the payload, in the order in which they stand before it."""
    manifest = manifest_of((piece.path, piece.sha256) for piece in bag.pieces)
    described = [("bagit.txt", _DECLARATION), ("bag-info.txt", _info(bag)), (MANIFEST, manifest)]
    tag_manifest = manifest_of((name, hashlib.sha256(content).hexdigest()) for name, content in described)
    return [*described, (TAG_MANIFEST, tag_manifest), (AUTHENTICATION, authentication(key, tag_manifest))]


def manifest_of(hashes: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{sha256}  {path}\n" for path, sha256 in hashes).encode()


def authentication(key: ManifestKey, tag_manifest: bytes) -> bytes:
    lines = ("Algorithm: HMAC-SHA256", f"Key: {key.id}", f"Of: {TAG_MANIFEST}", f"Value: {key.of(tag_manifest)}")
    return "".join(f"{line}\n" for line in lines).encode()


def key_and_value(content: bytes) -> tuple[str, str] | None:
    """The key's id and the value that an authentication file tells; None if it is none."""
    found = re.fullmatch(
        rb"Algorithm: HMAC-SHA256\nKey: ([0-9a-f]{16})\nOf: tagmanifest-sha256\.txt\nValue: ([0-9a-f]{64})\n", content
    )
    return (found[1].decode(), found[2].decode()) if found else None


def _info(bag: Bag) -> bytes:
    size = sum(piece.size_bytes for piece in bag.pieces)
    told = {
        "Source-Organization": bag.workspace_name,
        "External-Description": bag.title,
        "External-Identifier": bag.document_id,
        "Bag-Group-Identifier": bag.workspace_id,
        "Bagging-Date": bag.completed_at[:10],
        "Completed-At": bag.completed_at,
        "Payload-Oxum": f"{size}.{len(bag.pieces)}",
        "Bag-Software-Agent": "Deedbox",
    }
    # A line break, also one that only Unicode calls so, would begin another line.
    lines = (f"{label}: {' '.join(value.split())}\n" for label, value in told.items() if value.split())
    return "".join(lines).encode("utf-8", "replace")
