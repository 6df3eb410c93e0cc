"""The documents of a workspace: taken in, shown, replaced, and deleted as one act."""

from datetime import datetime

import msgspec

from deedbox.kernel.blobs import Blob, Received
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, NotFound, Unavailable
from deedbox.kernel.ids import new_id
from deedbox.search import packing, store
from deedbox.search.store import Described
from deedbox.search.upload import Chunk, Upload


class Parsed(msgspec.Struct, frozen=True):
    """What is known of a file's text."""

    text_length: int
    pages: int | None
    body: bytes | None
    """The text as it is kept; None when the workspace has it already."""


class File(msgspec.Struct, frozen=True):
    """A file that was received and parsed, and that no document holds yet."""

    filename: str
    media_type: str
    received: Received
    parsed: Parsed


class Stats(msgspec.Struct, frozen=True):
    documents: int
    chunks: int
    queries: int
    stored_bytes: int


def known(tx: Tx, workspace_id: str, sha256: str, media_type: str) -> Parsed | None:
    """What a document with the same bytes and of the same type has told; None when the file must be parsed."""
    for twin in store.twins(tx, workspace_id, sha256):
        if twin.media_type == media_type:
            return Parsed(twin.text_length, twin.pages, None)
    return None


def add(tx: Tx, workspace_id: str, file: File, *, now: datetime) -> Upload:
    """A new document."""
    upload = Upload(
        id=new_id("upl", now),
        workspace_id=workspace_id,
        filename=file.filename,
        media_type=file.media_type,
        size_bytes=file.received.blob.size_bytes,
        sha256=file.received.blob.sha256,
        text_length=file.parsed.text_length,
        pages=file.parsed.pages,
        status="uploaded",
        status_before=None,
        error=None,
        revision=1,
        chunk_set_id=None,
        signed=0,
        created_at=instant(now),
        indexed_at=None,
    )
    _keep_text(tx, workspace_id, file)
    blobs.adopt(tx, file.received, upload.id, now)
    store.add_upload(tx, upload)
    return upload


def replace(tx: Tx, workspace_id: str, upload_id: str, file: File, *, now: datetime) -> Upload:
    """The document with another content; its old chunks answer queries until the new ones take their place."""
    old = _upload(tx, workspace_id, upload_id)
    _keep_text(tx, workspace_id, file)
    blob = blobs.adopt(tx, file.received, old.id, now)
    new = msgspec.structs.replace(
        old,
        filename=file.filename,
        media_type=file.media_type,
        size_bytes=blob.size_bytes,
        sha256=blob.sha256,
        text_length=file.parsed.text_length,
        pages=file.parsed.pages,
        status="uploaded",
        status_before=None,
        error=None,
        revision=old.revision + 1,
    )
    changes = {name: value for name, value in msgspec.structs.asdict(new).items() if name != "id"}
    if not store.change_upload(tx, old.id, {"revision": old.revision}, changes):
        raise Unavailable("The document was changed at this very moment. Try again.")
    if blob.sha256 != old.sha256:
        _let_go(tx, old, now)
    return new


def remove(tx: Tx, workspace_id: str, upload_id: str, *, now: datetime) -> None:
    """Record, file, text, chunks and index entries go in one act: the very next query knows nothing of them."""
    upload = _upload(tx, workspace_id, upload_id)
    store.drop_upload(tx, upload.id)
    _let_go(tx, upload, now)
    if upload.chunk_set_id is not None:
        store.drop_unused_set(tx, upload.chunk_set_id)
    store.log_change(tx, workspace_id, upload.id, None)


def listed(tx: Tx, workspace_id: str) -> list[Described]:
    """Every document, oldest first."""
    return store.described(tx, workspace_id)


def find(tx: Tx, workspace_id: str, upload_id: str) -> Described:
    found = store.described(tx, workspace_id, upload_id)
    if not found:
        raise _unknown()
    return found[0]


def content(tx: Tx, workspace_id: str, upload_id: str) -> tuple[Upload, Blob]:
    """The document, and where its bytes are."""
    upload = _upload(tx, workspace_id, upload_id)
    blob = blobs.find(tx, upload.sha256)
    if blob is None:
        raise NotFound("The file of this document is no longer stored")
    return upload, blob


def packed_text(tx: Tx, workspace_id: str, upload_id: str) -> bytes:
    """The extracted text as it is kept; `packing.unpacked` opens it."""
    upload = _upload(tx, workspace_id, upload_id)
    body = store.packed_extraction(tx, workspace_id, upload.sha256)
    if body is None:
        raise NotFound("The text of this document is no longer stored")
    return body


def chunks(tx: Tx, workspace_id: str, upload_id: str) -> list[Chunk]:
    """The chunks that answer queries for the document now; none before it is indexed."""
    set_id = _upload(tx, workspace_id, upload_id).chunk_set_id
    return [] if set_id is None else store.chunks(tx, set_id)


def stats(tx: Tx, workspace_id: str) -> Stats:
    """How much the workspace holds, and how often it was asked."""
    return Stats(
        documents=store.count_uploads(tx, workspace_id),
        chunks=store.indexed_chunks(tx, workspace_id),
        queries=store.queries(tx, workspace_id),
        stored_bytes=store.stored_bytes(tx, workspace_id),
    )


def _upload(tx: Tx, workspace_id: str, upload_id: str) -> Upload:
    upload = store.upload(tx, workspace_id, upload_id)
    if upload is None:
        raise _unknown()
    return upload


def _unknown() -> NotFound:
    return NotFound("Document does not exist")


def _keep_text(tx: Tx, workspace_id: str, file: File) -> None:
    sha256, body = file.received.blob.sha256, file.parsed.body
    kept = store.packed_extraction(tx, workspace_id, sha256)
    if body is None:
        if kept is None:
            raise Unavailable("The document whose text this file shares was deleted at this moment. Send it again.")
    elif kept is None:
        store.keep_packed(tx, workspace_id, sha256, body)
    elif kept != body and packing.unpacked(kept).text != packing.unpacked(body).text:
        # One text is kept for each content. The same bytes read as two formats may have two.
        raise BadRequest(
            "The same bytes are stored as a file of another type, with another text. Delete that document first."
        )


def _let_go(tx: Tx, upload: Upload, now: datetime) -> None:
    """The upload, whose row says so already, needs its content no more; what nobody else needs is removed."""
    blobs.release(tx, upload.sha256, upload.id, now)
    if not store.content_in_use(tx, upload.workspace_id, upload.sha256):
        store.drop_extraction(tx, upload.workspace_id, upload.sha256)
        store.drop_unused_sets(tx, upload.workspace_id, upload.sha256)
