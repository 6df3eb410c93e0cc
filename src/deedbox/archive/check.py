"""A package read back: whether it is whole, and whether the archive's key vouches for it. Its methods block."""

import hashlib
from typing import BinaryIO

import msgspec

from deedbox.archive import limits, package, stored_zip
from deedbox.archive.package import ManifestKey
from deedbox.archive.stored_zip import LocatedEntry
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest


class PayloadFile(msgspec.Struct, frozen=True):
    """A file of the payload, by its place in the package."""

    start: int
    size_bytes: int
    sha256: str


class PackageContents(msgspec.Struct, frozen=True):
    manifest_sha256: str
    payload: dict[str, PayloadFile]
    key_id: str
    """Of the key that authenticated it, as the package says."""
    authenticated: bool | None
    """None when another key than this one authenticated it: that key would have to be asked."""


def contents(file: BinaryIO, size_bytes: int, document_id: str, key: ManifestKey) -> PackageContents:
    """The contents of the package; BadRequest, with the reason, unless every byte is accounted for."""
    entries = stored_zip.read(file, size_bytes)
    top = f"{document_id}/"
    if any(not one.entry.name.startswith(top) for one in entries):
        raise BadRequest("A file in the package lies outside of its document's bag")
    found = {one.entry.name.removeprefix(top): one for one in entries}
    tags = {name: _small(file, one) for name, one in found.items() if not name.startswith("data/")}
    payload = {name: one for name, one in found.items() if name.startswith("data/")}
    if len(found) != len(entries) or list(tags) != _TAGS:
        raise BadRequest("The package does not have the files that a package has")
    hashes = {name: _hash(file, one) for name, one in payload.items()}
    _demand(tags[package.MANIFEST], hashes, package.MANIFEST)
    described = [name for name in tags if name not in (package.TAG_MANIFEST, package.AUTHENTICATION)]
    _demand(
        tags[package.TAG_MANIFEST],
        {name: hashlib.sha256(tags[name]).hexdigest() for name in described},
        package.TAG_MANIFEST,
    )
    return PackageContents(
        hashlib.sha256(tags[package.MANIFEST]).hexdigest(),
        {name: PayloadFile(one.start, one.entry.size_bytes, hashes[name]) for name, one in payload.items()},
        *_authenticated(tags, key),
    )


_TAGS = ["bagit.txt", "bag-info.txt", package.MANIFEST, package.TAG_MANIFEST, package.AUTHENTICATION]


def _authenticated(tags: dict[str, bytes], key: ManifestKey) -> tuple[str, bool | None]:
    told = package.key_and_value(tags[package.AUTHENTICATION])
    if told is None:
        raise BadRequest("The package's authentication is not as it was written")
    if told[0] != key.id:
        return told[0], None
    if not key.vouches(tags[package.TAG_MANIFEST], told[1]):
        raise BadRequest("The archive's key does not vouch for the package")
    return told[0], True


def _demand(manifest: bytes, hashes: dict[str, str], name: str) -> None:
    """BadRequest that names the first file that the manifest does not vouch for."""
    if manifest == package.manifest_of(hashes.items()):
        return
    lines = manifest.decode("utf-8", "replace").splitlines()
    for path, sha256 in hashes.items():
        if f"{sha256}  {path}" not in lines:
            raise BadRequest(f"The file {path} in the package is not the one in {name}")
    raise BadRequest(f"The package does not have the files that its {name} names")


def _small(file: BinaryIO, one: LocatedEntry) -> bytes:
    if one.entry.size_bytes > limits.ARCHIVE_TAG_BYTES:
        raise BadRequest(f"The file {one.entry.name} in the package is too large")
    file.seek(one.start)
    content = file.read(one.entry.size_bytes)
    _demand_crc(one, stored_zip.crc(content))
    return content


def _hash(file: BinaryIO, one: LocatedEntry) -> str:
    found, crc, left = hashlib.sha256(), 0, one.entry.size_bytes
    file.seek(one.start)
    while left > 0 and (chunk := file.read(min(shared_limits.BLOB_CHUNK_BYTES, left))):
        found.update(chunk)
        crc = stored_zip.crc(chunk, crc)
        left -= len(chunk)
    _demand_crc(one, crc)
    return found.hexdigest()


def _demand_crc(one: LocatedEntry, crc: int) -> None:
    if crc != one.entry.crc:
        raise BadRequest(f"The file {one.entry.name} in the package was altered")
