"""The proof that a package was in the archive on a day: a time-stamped root, and the hashes from the package to it.

Both are canonical JSON. The time-stamp is about the SHA-256 of the root's statement, which is its file without
`timestamp` and `degraded`; each statement names the hash of the one before, so that no root can be taken out unseen.
Their names tell their content: after a restored backup other roots are made, and must find no name taken.
"""

import base64
import binascii
import hashlib
from datetime import datetime, timedelta
from typing import Any

import msgspec

from deedbox.archive import merkle
from deedbox.archive.receipt import ArchiveRow, PackageReceipt, Tree
from deedbox.evidence.canonical import canonical
from deedbox.kernel.clock import moment
from deedbox.kernel.errors import BadRequest

ROOT_FORMAT, PROOF_FORMAT = "deedbox-archive-root/1", "deedbox-archive-proof/1"
_NAME_CHARS = 16


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """That a package is a leaf of a tree."""

    format: str
    package: str
    sha256: str
    size_bytes: int
    tree: int
    index: int
    tree_size: int
    path: list[str]
    root: str


_PROOF = msgspec.json.Decoder(Proof)


def root_name(tree: Tree) -> str:
    """The name of a root that has its time-stamp."""
    plain = f"roots/{tree.number:06}-{tree.day}"
    return f"{plain}.json" if tree.is_of_old else f"{plain}-{_short(root_file(tree))}.json"


def proof_name(package: str, tree: Tree) -> str:
    plain = package.removesuffix(".zip")
    return f"{plain}.proof.json" if tree.is_of_old else f"{plain}.{_short(statement(tree))}.proof.json"


def day_end(tree: Tree) -> datetime:
    """The midnight after the tree's day, before which all in it was archived."""
    return moment(f"{tree.day}T00:00:00Z") + timedelta(days=1)


def leaf(package: str, sha256: str, size_bytes: int) -> bytes:
    """The leaf that stands for a package."""
    return merkle.leaf(canonical({"package": package, "sha256": sha256, "size_bytes": size_bytes}))


def row_leaf(row: ArchiveRow) -> bytes:
    """The leaf of an archived document; BadRequest if there is no receipt of it."""
    if row.receipt is None:
        raise BadRequest(f"There is no receipt of {row.bag.name}")
    return leaf(row.bag.name, row.receipt.sha256, row.receipt.size_bytes)


def statement(tree: Tree) -> bytes:
    """The bytes that the time-stamp of a root is about."""
    return canonical(_stated(tree))


def statement_sha256(tree: Tree) -> str:
    return hashlib.sha256(statement(tree)).hexdigest()


def root_file(tree: Tree) -> bytes:
    if tree.token is None:
        raise ValueError("a root without timestamp is not published")
    mark = {"degraded": True} if tree.degraded else {}
    return canonical({**_stated(tree), **mark, "timestamp": base64.b64encode(tree.token).decode()})


def proof(row: ArchiveRow, receipt: PackageReceipt, tree: Tree) -> Proof:
    return Proof(
        format=PROOF_FORMAT,
        package=row.bag.name,
        sha256=receipt.sha256,
        size_bytes=receipt.size_bytes,
        tree=tree.number,
        index=row.leaf or 0,
        tree_size=tree.size,
        path=row.proof,
        root=tree.root,
    )


def proof_file(proof: Proof) -> bytes:
    return canonical(msgspec.to_builtins(proof))


def read_proof(data: bytes) -> Proof:
    """BadRequest unless the file is a proof in the one way to write it."""
    try:
        found = _PROOF.decode(data)
        if found.format != PROOF_FORMAT or proof_file(found) != data:
            raise BadRequest("The proof of inclusion is not as it was written")
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise BadRequest("The proof of inclusion cannot be read") from error
    return found


def holds(proof: Proof, package: str, sha256: str, size_bytes: int, tree: Tree) -> bool:
    """Whether the proof leads from this very package to the root of the tree."""
    try:
        path = [bytes.fromhex(one) for one in proof.path]
    except (ValueError, binascii.Error):
        return False
    same = (proof.package, proof.sha256, proof.size_bytes) == (package, sha256, size_bytes)
    told = (proof.tree, proof.tree_size, proof.root) == (tree.number, tree.size, tree.root)
    start = leaf(package, sha256, size_bytes)
    return same and told and merkle.includes(bytes.fromhex(tree.root), tree.size, proof.index, start, path)


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_NAME_CHARS]


def _stated(tree: Tree) -> dict[str, Any]:
    return {
        "format": ROOT_FORMAT,
        "number": tree.number,
        "day": tree.day,
        "size": tree.size,
        "root": tree.root,
        "previous": tree.previous,
    }
