"""Changes of an index in PostgreSQL, written in the transaction of the document or of a build."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from deedbox.kernel.db import Tx, Value
from deedbox.search.chunks.store import Logged
from deedbox.search.entries import entries
from deedbox.search.index import Change, Entry, analysis, bits, terms
from deedbox.search.index.postgres import postings
from deedbox.search.index.postgres.store import chunks as chunk_rows
from deedbox.search.index.postgres.store import indexes as index_rows
from deedbox.search.index.postgres.store import postings as posting_rows
from deedbox.search.index.postgres.store import terms as term_rows
from deedbox.search.index.postgres.store.chunks import UploadRow
from deedbox.search.index.postgres.store.indexes import IndexRow


def follow(tx: Tx, logged: Logged) -> None:
    """Brings the index as far as the log, in the transaction that changes the log.

    One that lacks something is left as it is: whoever asks it next, or a build, brings it up in the log's order."""
    place = (logged.workspace_id, logged.recipe)
    index = index_rows.find(tx, place)
    if (index.watermark if index else 0) != logged.before:
        return
    added: list[Entry] = []
    if logged.chunk_set_id is not None:
        added = entries(tx, logged.recipe, logged.chunk_set_id, index.dimensions if index else 0)
    if index is None:
        if not added:
            return
        index = index_rows.add(tx, place, len(added[0].vector) // 4)
    if _fitting(added, index.dimensions) and index_rows.move(tx, index, logged.before, logged.number):
        write(tx, index, [Change(logged.upload_id, added, logged.number)])


def write(tx: Tx, index: IndexRow, changes: Sequence[Change]) -> None:
    """Makes the changes; the last one of an upload is the true one."""
    last = {change.upload_id: change for change in changes}
    for change in last.values():
        if not _fitting(change.entries, index.dimensions):
            raise ValueError(f"a vector has not the {index.dimensions} dimensions of the index")
    gone = _remove(tx, index, list(last))
    come, following = _add(tx, index, [change for change in last.values() if change.entries])
    uploads = [(1, row) for row in come] + [(-1, row) for row in gone]
    if uploads:
        chunks = sum(sign * row.chunks for sign, row in uploads)
        words = sum(sign * row.words for sign, row in uploads)
        index_rows.count(tx, index, chunks, words, following)


def _fitting(added: Sequence[Entry], dimensions: int) -> bool:
    return all(len(entry.vector) == 4 * dimensions for entry in added)


def _remove(tx: Tx, index: IndexRow, upload_ids: list[str]) -> list[UploadRow]:
    """Takes out the chunks of those uploads that the index has."""
    found = chunk_rows.uploads(tx, index, upload_ids)
    if found:
        chunks = term_rows.terms_of_uploads(tx, index, found)
        rows = posting_rows.postings_at(tx, index, *postings.places(chunks))
        left = postings.without(rows, np.array([ordinal for ordinal, _ in chunks], np.int64))
        posting_rows.replace_postings(tx, index, left.terms, left.blocks, left.written)
        term_rows.remove_terms(tx, index, found)
        chunk_rows.remove_uploads(tx, index, found)
    return found


def _add(tx: Tx, index: IndexRow, changes: Sequence[Change]) -> tuple[list[UploadRow], int]:
    """The uploads that came, and the ordinal that comes next."""
    following, uploads, said = index.next, [], []
    chunks: list[Mapping[str, Value]] = []
    for change in changes:
        added = sorted(change.entries, key=lambda entry: entry.number)
        spoken = [terms.numbers(analysis.of_text(entry.text)) for entry in added]
        uploads.append(UploadRow(change.upload_id, following, len(spoken), sum(map(len, spoken))))
        for ordinal, entry, vector in zip(
            range(following, following + len(added)), added, _vectors(added), strict=True
        ):
            chunks.append({"ordinal": ordinal, "upload_id": change.upload_id, "number": entry.number, "vector": vector})
        following += len(added)
        said += spoken
    if uploads:
        new = postings.of_chunks(range(index.next, following), said)
        posting_rows.append_postings(tx, index, new.terms, new.blocks, new.written)
        chunk_rows.add_chunks(tx, index, chunks)
        written_terms = [each.astype("<u4").tobytes() for each in said]
        term_rows.add_terms(
            tx, index, [{"ordinal": at, "terms": each} for at, each in enumerate(written_terms, index.next)]
        )
        chunk_rows.add_uploads(tx, index, uploads)
    return uploads, following


def _vectors(added: Sequence[Entry]) -> list[str]:
    """The vectors at length 1, as text."""
    raw = np.frombuffer(b"".join(entry.vector for entry in added), "<f4").reshape(len(added), -1)
    return [written(row) for row in bits.unit(raw)]


def written(vector: bits.Floats) -> str:
    """A vector as pgvector reads it, to the last bit."""
    return msgspec.json.encode(vector.astype(np.float64).tolist()).decode()
