"""Where a document stands in the long-term archive, what proves that it is there, and what lies there."""

import base64
from typing import Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from litestar.response import Stream as StreamedResponse

from deedbox.archive import package, proofs, store
from deedbox.archive.receipt import ArchiveRow, PackageReceipt
from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, Unavailable
from deedbox.kernel.settings import ECOSYSTEM_KEY
from deedbox.signing.action_context import document_of
from deedbox.signing.model import ArchiveReceipt
from deedbox.web.api_v1.document_record import archive_of
from deedbox.web.http import context, openapi, ranges
from deedbox.web.http.auth import requires
from deedbox.web.http.blob_response import GUARDED, join, patiently, unchanged_response
from deedbox.web.http.context import AnyRequest


class Inclusion(msgspec.Struct, frozen=True):
    """That the package is a leaf of a Merkle tree (hashed as in RFC 6962) whose root is time-stamped."""

    tree: int
    """The number of the tree; each root names the one before."""
    day: str
    """The day whose packages the tree holds."""
    index: int
    """The package's place among the leaves, from 0."""
    tree_size: int
    """How many leaves the tree has."""
    path: list[str]
    """The hashes from the leaf to the root, in hexadecimal."""
    root: str
    """The hash at the root, in hexadecimal."""
    statement: str
    """The canonical JSON whose SHA-256 is time-stamped."""
    timestamp: str | None
    """An RFC 3161 token in base64; null until there is one."""


class DocumentArchive(msgspec.Struct, frozen=True):
    """The `archive` of the document, with its proof of inclusion once the day is over."""

    document_id: str
    """The document."""
    status: str
    """`disabled`, `pending`, `archived` or `failed`."""
    attempts: int
    """How often it was tried."""
    archived_at: str | None
    """When the archive took it; null until then."""
    receipt: ArchiveReceipt | None
    """Where it lies in the archive; null until it does."""
    error: str | None
    """Why the last attempt was in vain."""
    proof: Inclusion | None
    """That the package is in the archive's tree; null until the day is over."""


@get(
    "/api/v1/documents/{document_id:str}/archive",
    opt=requires("archive:read"),
    summary="The archive's receipt and proof of inclusion",
    tags=["documents"],
)
async def document_archive(request: AnyRequest, document_id: FromPath[str]) -> DocumentArchive:
    here = context.of(request)

    def look(tx: Tx) -> DocumentArchive:
        _, document = document_of(tx, here.caller.workspace_id, document_id)
        shown, row = archive_of(document, archiving=here.deedbox.archive.is_on), store.find(tx, document_id)
        return DocumentArchive(
            document_id,
            shown.status,
            shown.attempts,
            shown.archived_at,
            shown.receipt,
            shown.error,
            _inclusion(tx, row) if row else None,
        )

    return await here.deedbox.db.read(look)


@get(
    "/api/v1/documents/{document_id:str}/archive/package",
    opt={
        **requires("archive:read"),
        openapi.ANSWERS: {
            "200": {
                "description": "The package: a BagIt bag as a zip file",
                "content": {package.MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
            },
            "304": {"description": "The caller has this content: If-None-Match names its ETag"},
        },
        openapi.ALSO: (409,),
    },
    summary="The package, fetched from the archive",
    tags=["documents"],
)
async def archived_package(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    """Compared with the receipt on the way: of one that is not the same the end does not come."""
    here = context.of(request)

    def look(tx: Tx) -> tuple[str, PackageReceipt]:
        _, document = document_of(tx, here.caller.workspace_id, document_id)
        row = store.find(tx, document.id)
        receipt = row.receipt if row else None
        if row is None or receipt is None:
            raise Conflict("The document is not archived: see its `archive` for the state")
        return row.bag.name, receipt

    name, receipt = await here.deedbox.db.read(look)
    etag = f'"{receipt.sha256}"'
    if ranges.is_current(request.headers.get("if-none-match"), etag):
        return unchanged_response(etag)
    if here.deedbox.archive.push.key is None:
        raise Unavailable(f"This server cannot ask the archive: {ECOSYSTEM_KEY} is not set")
    target = here.deedbox.archive.target
    if receipt.location != target.location(name):
        raise Conflict(f"The package is not in the current archive but at {receipt.location}")
    pieces = here.deedbox.archive.downloads.package(target, name, receipt)
    # Asked for here, so that what is missing is a 500 and not half an answer.
    first = await anext(pieces)
    headers = {
        "Content-Type": package.MEDIA_TYPE,
        "Content-Length": str(receipt.size_bytes),
        "Content-Disposition": f'attachment; filename="{document_id}.zip"',
        "ETag": etag,
        **GUARDED,
    }
    each = limits.ARCHIVE_READER_SECONDS + limits.ARCHIVE_STALL_SECONDS
    taken = patiently(here, join(first, pieces), each=each, in_all=limits.ARCHIVE_SECONDS)
    return StreamedResponse(taken, headers=headers)


def _inclusion(tx: Tx, row: ArchiveRow) -> Inclusion | None:
    tree = store.tree(tx, row.tree) if row.tree is not None else None
    if tree is None or row.receipt is None:
        return None
    proof = proofs.proof(row, row.receipt, tree)
    return Inclusion(
        tree=tree.number,
        day=tree.day,
        index=proof.index,
        tree_size=tree.size,
        path=proof.path,
        root=tree.root,
        statement=proofs.statement(tree).decode(),
        timestamp=base64.b64encode(tree.token).decode() if tree.token else None,
    )


ROUTES = [document_archive, archived_package]
