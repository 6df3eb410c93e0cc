"""Changes of an index in PostgreSQL, written in the transaction of the document or of a build."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from deedbox.kernel.db import Tx, Value
from deedbox.search.chunks.store import Logged
from deedbox.search.index import ChunkEntry, IndexChange, analysis, bits, terms
from deedbox.search.index.postgres import postings
from deedbox.search.index.postgres.store import chunks as chunk_rows
from deedbox.search.index.postgres.store import indexes as index_rows
from deedbox.search.index.postgres.store import postings as posting_rows
from deedbox.search.index.postgres.store import terms as term_rows
from deedbox.search.index.postgres.store import words as word_rows
from deedbox.search.index.postgres.store.chunks import UploadRow
from deedbox.search.index.postgres.store.indexes import IndexRow
from deedbox.search.indexing.entries import entries


def follow(tx: Tx, logged: Logged) -> None:
    """Brings the index as far as the log, in the transaction that changes the log.

    One that lacks something is left as it is: whoever asks it next, or a build, brings it up in the log's order."""
    place = (logged.workspace_id, logged.recipe)
    index = index_rows.find(tx, place)
    if (index.watermark if index else 0) != logged.before:
        return
    added: list[ChunkEntry] = []
    if logged.chunk_set_id is not None:
        dimensions = index.dimensions if index else 0
        added = entries(tx, logged.recipe, logged.upload_id, logged.chunk_set_id, dimensions)
    if index is None:
        if not added:
            return
        index = index_rows.add(tx, place, len(added[0].vector) // 4)
    if _fitting(added, index.dimensions) and index_rows.move(tx, index, logged.before, logged.number):
        write(tx, index, [IndexChange(logged.upload_id, added, logged.number)])


def write(tx: Tx, index: IndexRow, changes: Sequence[IndexChange]) -> None:
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


def _fitting(added: Sequence[ChunkEntry], dimensions: int) -> bool:
    return all(len(entry.vector) == 4 * dimensions for entry in added)


def _remove(tx: Tx, index: IndexRow, upload_ids: list[str]) -> list[UploadRow]:
    """Takes out the chunks of those uploads that the index has."""
    found = chunk_rows.uploads(tx, index, upload_ids)
    if found:
        chunks = term_rows.terms_of_uploads(tx, index, found)
        rows = posting_rows.postings_at(tx, index, *postings.places(chunks))
        left = postings.without(rows, np.array([ordinal for ordinal, _ in chunks], np.int64))
        posting_rows.replace_postings(tx, index, left.terms, left.blocks, left.written)
        _remove_words(tx, index, found)
        term_rows.remove_terms(tx, index, found)
        chunk_rows.remove_uploads(tx, index, found)
    return found


def _add(tx: Tx, index: IndexRow, changes: Sequence[IndexChange]) -> tuple[list[UploadRow], int]:
    """The uploads that came, and the ordinal that comes next."""
    following, uploads, said = index.next, [], []
    chunks: list[Mapping[str, Value]] = []
    ids = _word_ids(tx, index, changes)
    for change in changes:
        added = sorted(change.entries, key=lambda entry: entry.number)
        spoken = [terms.numbers(analysis.of_entry(entry)) for entry in added]
        length, words = sum(map(len, spoken)), ids[change.upload_id].astype("<u4").tobytes()
        uploads.append(UploadRow(change.upload_id, following, len(spoken), length, words))
        for ordinal, entry, vector in zip(
            range(following, following + len(added)), added, _vectors(added), strict=True
        ):
            chunks.append({"ordinal": ordinal, "upload_id": change.upload_id, "number": entry.number, "vector": vector})
        following += len(added)
        said += spoken
    if uploads:
        new = postings.of_chunks(range(index.next, following), said)
        posting_rows.append_postings(tx, index, new.terms, new.blocks, new.written)
        new = postings.of_uploads([row.begins for row in uploads], [ids[row.upload_id] for row in uploads])
        posting_rows.append_postings(tx, index, new.terms, new.blocks, new.written)
        chunk_rows.add_chunks(tx, index, chunks)
        written_terms = [each.astype("<u4").tobytes() for each in said]
        term_rows.add_terms(
            tx, index, [{"ordinal": at, "terms": each} for at, each in enumerate(written_terms, index.next)]
        )
        chunk_rows.add_uploads(tx, index, uploads)
    return uploads, following


def _word_ids(tx: Tx, index: IndexRow, changes: Sequence[IndexChange]) -> dict[str, terms.Numbers]:
    """The ids of the words of each upload."""
    said = {change.upload_id: analysis.said(change.entries) for change in changes}
    known = word_rows.add(tx, index, sorted({word for words in said.values() for word in words}))
    return {name: np.array([known[word] for word in words], np.uint32) for name, words in said.items()}


def _remove_words(tx: Tx, index: IndexRow, uploads: Sequence[UploadRow]) -> None:
    """Takes out the words of these uploads; those that no other has go."""
    said = [np.frombuffer(row.said, "<u4") for row in uploads]
    places = postings.of_uploads([row.begins for row in uploads], said)
    rows = posting_rows.postings_at(tx, index, places.terms, places.blocks)
    left = postings.without(rows, np.array([row.begins for row in uploads], np.int64))
    posting_rows.replace_postings(tx, index, left.terms, left.blocks, left.written)
    word_rows.remove_unsaid(tx, index, np.unique(np.concatenate(said)).tolist())


def _vectors(added: Sequence[ChunkEntry]) -> list[str]:
    """The vectors at length 1, as text."""
    raw = np.frombuffer(b"".join(entry.vector for entry in added), "<f4").reshape(len(added), -1)
    return [written(row) for row in bits.unit(raw)]


def written(vector: bits.Floats) -> str:
    """A vector as pgvector reads it, to the last bit."""
    return msgspec.json.encode(vector.astype(np.float64).tolist()).decode()
