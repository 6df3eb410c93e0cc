"""The embedded index: a folder with the vectors, the words, and a manifest that says how far they go."""

import contextlib
import os
import threading
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Code, Unavailable
from deedbox.search.index import Candidate, Change, Entry, Hit, IndexUnusable, bits, files, terms
from deedbox.search.index.bits import Floats, Vectors
from deedbox.search.index.files import Manifest, Tails
from deedbox.search.index.terms import Numbers, Terms
from deedbox.search.index.word_search import Match, WordSearch
from deedbox.search.index.words import WordIndex

_beside = ThreadPoolExecutor(limits.SEARCH_THREADS, thread_name_prefix="words")
_Place: TypeAlias = tuple[int, int]
"""The ordinal of an upload and the number of one of its chunks."""


@dataclass(frozen=True, slots=True)
class _View:
    """The state of the index that a search sees; a change makes a new one."""

    vectors: Vectors
    said: WordSearch
    names: list[str]

    def near(self, vector: Floats, top: int, allowed: list[int] | None) -> list[Match]:
        found = self.vectors.near(vector, top, None if allowed is None else np.array(allowed, np.uint32))
        matches = zip(found.scores.tolist(), found.uploads.tolist(), found.numbers.tolist(), strict=True)
        return self._cut(list(matches), top)

    def by_words(self, query: str, top: int, allowed: list[int] | None) -> list[Match]:
        return self._cut(self.said.best(query, top, None if allowed is None else set(allowed)), top)

    def cosines(self, vector: Floats, places: Collection[_Place]) -> dict[_Place, float]:
        uploads, numbers = np.array(list(places), np.uint32).reshape(-1, 2).T
        return dict(zip(places, self.vectors.cosines(vector, uploads, numbers).tolist(), strict=True))

    def hits(self, matches: Iterable[Match]) -> list[Hit]:
        """Best first."""
        return [Hit(self.names[ordinal], number, score) for score, ordinal, number in self._ranked(matches)]

    def _cut(self, matches: list[Match], top: int) -> list[Match]:
        return matches if len(matches) <= top else self._ranked(matches)[:top]

    def _ranked(self, matches: Iterable[Match]) -> list[Match]:
        names = self.names
        return sorted(matches, key=lambda match: (-match[0], names[match[1]], match[2]))


class LocalIndex:
    """An Index in a folder of its own, for one process. Raises IndexUnusable when the folder has to be made anew,
    IndexInUse while it is open elsewhere."""

    def __init__(self, folder: Path, dimensions: int, recipe: str) -> None:
        self._folder = folder
        self._writing = threading.Lock()
        self._looking = threading.Lock()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as opening:
            opening.callback(os.close, files.lock(folder))
            known = files.read_manifest(folder)
            if known is not None and (known.dimensions, known.recipe) != (dimensions, recipe):
                raise IndexUnusable(f"The index was made by {known.recipe} with {known.dimensions} dimensions.")
            self._words = WordIndex(folder / files.WORDS)
            opening.callback(self._words.close)
            self._manifest = known or self._begun(dimensions, recipe)
            self._unfinished = False
            self._open()
            self._closing = opening.pop_all()

    @property
    def watermark(self) -> int:
        return self._manifest.watermark

    @property
    def size(self) -> int:
        return len(self._view.vectors)

    @property
    def size_bytes(self) -> int:
        total = 0
        for file in self._folder.rglob("*"):
            # Merges remove files of the words at any moment.
            with contextlib.suppress(FileNotFoundError):
                total += file.stat().st_size
        return total

    def look(self, tx: Tx) -> None:
        """Nobody else changes it while it is open."""

    def apply(self, changes: Iterable[Change], watermark: int, since: int | None = None) -> None:  # noqa: ARG002
        """Makes the changes visible to the next search, and durable together with the new watermark."""
        with self._writing, _disk():
            if self._unfinished:
                self._words.reopen()
                self._words.forget_from(len(self._names))
            self._unfinished = True
            batch = _Batch(self._folder, self._manifest, self._words, self._names, self._ordinals)
            try:
                for change in changes:
                    batch.take(change)
                self._finish(batch, watermark)
            finally:
                batch.abandon()
            self._unfinished = False
            self._rewrite_if_due()

    def near(self, vector: Floats, top: int, only: Collection[str] | None = None) -> list[Hit]:
        """The nearest chunks by cosine, best first, ties by upload id and number; `only` of these, none lost."""
        view, allowed = self._look(only)
        if top < 1 or (allowed is not None and not allowed):
            return []
        return view.hits(view.near(np.asarray(vector), top, allowed))

    def words(self, query: str, top: int, only: Collection[str] | None = None) -> list[Hit]:
        """The best chunks by BM25, best first, ties by upload id and number; `only` of these, none lost."""
        view, allowed = self._look(only)
        if top < 1 or (allowed is not None and not allowed):
            return []
        return view.hits(view.by_words(query, top, allowed))

    def candidates(self, vector: Floats, query: str, top: int, only: Collection[str] | None = None) -> list[Candidate]:
        """The hits of `near` and `words` at one moment, each chunk once, with the exact cosine of all; in no order."""
        view, allowed = self._look(only)
        if top < 1 or (allowed is not None and not allowed):
            return []
        asked = np.asarray(vector)
        # Beside each other: both run outside of the interpreter's lock, and each takes about as long as the other.
        saying = _beside.submit(view.by_words, query, top, allowed)
        near = {match[1:]: match[0] for match in view.near(asked, top, allowed)}
        said = {match[1:]: match[0] for match in saying.result()}
        near |= view.cosines(asked, said.keys() - near.keys())
        return [Candidate(view.names[place[0]], place[1], cosine, said.get(place)) for place, cosine in near.items()]

    def close(self) -> None:
        """Lets go of the folder, so that it can be opened again."""
        with self._writing:
            self._closing.close()

    def _begun(self, dimensions: int, recipe: str) -> Manifest:
        self._words.forget_from(0)
        manifest = Manifest(recipe=recipe, dimensions=dimensions, words_opstamp=self._words.opstamp)
        # Files of an index whose manifest was lost are none of this one's.
        files.remove_others(self._folder, -1)
        files.write_manifest(self._folder, manifest)
        return manifest

    def _open(self) -> None:
        loaded = files.load(self._folder, self._manifest)
        files.remove_others(self._folder, self._manifest.generation)
        self._names, self._ordinals = loaded.names, loaded.ordinals
        opstamp = self._words.opstamp
        # The words are committed before the manifest: a crash in between leaves them ahead, never behind.
        if opstamp < self._manifest.words_opstamp:
            raise IndexUnusable("The word index is older than the manifest says.")
        self._words.forget_from(len(loaded.names))
        said = WordSearch(self._words.searcher(), loaded.vectors, len(loaded.ordinals))
        if opstamp == self._manifest.words_opstamp and said.size != len(loaded.vectors):
            raise IndexUnusable(f"The word index has {said.size} chunks, the vectors {len(loaded.vectors)}.")
        self._view = _View(loaded.vectors, said, loaded.names)

    def _look(self, only: Collection[str] | None) -> tuple[_View, list[int] | None]:
        """The present state, and the ordinals in it of the uploads that may answer."""
        with self._looking:
            if only is None:
                return self._view, None
            known = self._ordinals
            return self._view, [known[upload_id] for upload_id in only if upload_id in known]

    def _finish(self, batch: "_Batch", watermark: int) -> None:
        manifest = self._manifest
        if batch.names:
            parts = batch.tails.finish()
            files.flush_folder(self._folder)
            self._words.commit()
            manifest = msgspec.structs.replace(manifest, words_opstamp=self._words.opstamp, **parts)
        manifest = msgspec.structs.replace(manifest, watermark=watermark)
        vectors, searcher = self._view.vectors, None
        if batch.names:
            added = batch.added(files.open_floats(self._folder, manifest), files.open_terms(self._folder, manifest))
            vectors, searcher = vectors.changed(batch.dead, added), self._words.searcher()
        files.write_manifest(self._folder, manifest)
        with self._looking:
            self._manifest = manifest
            self._names += batch.names
            for upload_id, ordinal in batch.ordinals.items():
                if ordinal is None:
                    self._ordinals.pop(upload_id, None)
                else:
                    self._ordinals[upload_id] = ordinal
            if searcher is not None:
                said = WordSearch(searcher, vectors, len(self._ordinals))
                self._view = _View(vectors, said, self._names)

    def _rewrite_if_due(self) -> None:
        alive, stored = self.size, len(self._view.vectors.floats)
        if stored >= limits.REWRITE_ROWS and stored > 2 * alive:
            # The change is durable already; a rewrite for which the disk has no room can wait.
            with contextlib.suppress(OSError):
                self._rewrite()

    def _rewrite(self) -> None:
        """Writes the same index without dead rows."""
        old = self._view.vectors
        manifest = msgspec.structs.replace(
            self._manifest,
            generation=self._manifest.generation + 1,
            rows=files.Part(),
            floats=files.Part(),
            terms=files.Part(),
            names=files.Part(),
        )
        tails = Tails(self._folder, manifest)
        try:
            for begin in range(0, len(old), limits.RESCORE_ROWS):
                block = slice(begin, begin + limits.RESCORE_ROWS)
                lengths, dimensions = old.terms.lengths[block], manifest.dimensions
                rows = files.records(old.uploads[block], old.numbers[block], lengths, old.codes[block], dimensions)
                tails.write(rows, old.floats[old.positions[block]], old.terms.of_rows(block))
            # Ordinals stay, because the words know them: the gone leave an empty line.
            tails.name(name if self._ordinals.get(name) == at else "" for at, name in enumerate(self._names))
            manifest = msgspec.structs.replace(manifest, **tails.finish())
        finally:
            tails.abandon()
        files.flush_folder(self._folder)
        loaded = files.load(self._folder, manifest)
        files.write_manifest(self._folder, manifest)
        with self._looking:
            self._manifest, self._names, self._ordinals = manifest, loaded.names, loaded.ordinals
            self._view = _View(loaded.vectors, self._view.said.beside(loaded.vectors), loaded.names)
        files.remove_others(self._folder, manifest.generation)


class _Batch:
    """Changes on their way: written to the files and given to the words, and not yet true."""

    def __init__(
        self, folder: Path, manifest: Manifest, words: WordIndex, names: list[str], known: dict[str, int]
    ) -> None:
        self._words, self._known, self._first, self._dimensions = words, known, len(names), manifest.dimensions
        self._rows: list[files.Record] = []
        self.tails = Tails(folder, manifest)
        self.names: list[str] = []
        self.ordinals: dict[str, int | None] = {}
        self.dead: list[int] = []

    def take(self, change: Change) -> None:
        """The new entries of an upload, under a new ordinal; those of its old ordinal die."""
        old = self.ordinals.get(change.upload_id, self._known.get(change.upload_id))
        if old is not None:
            self._words.drop(old)
            self.dead.append(old)
        elif not change.entries:
            return
        ordinal = self._first + len(self.names)
        self.names.append(change.upload_id)
        self.tails.name([change.upload_id])
        self.ordinals[change.upload_id] = ordinal if change.entries else None
        if change.entries:
            self._add(ordinal, change.entries)

    def added(self, floats: Floats, stream: Numbers) -> Vectors:
        """The new rows, with the files of floats and terms as they are now."""
        rows = np.concatenate([np.zeros(0, files.record(floats.shape[1])), *self._rows])
        positions = np.arange(len(floats) - len(rows), len(floats), dtype=np.uint32)
        lengths = rows["terms"].astype(np.int64)
        begins = len(stream) - lengths.sum() + np.cumsum(lengths) - lengths
        return Vectors(
            rows["code"], rows["upload"], rows["number"], positions, floats, Terms(begins, rows["terms"], stream)
        )

    def abandon(self) -> None:
        self.tails.abandon()

    def _add(self, ordinal: int, entries: list[Entry]) -> None:
        dimensions = self._dimensions
        if any(len(entry.vector) != 4 * dimensions for entry in entries):
            raise ValueError(f"a vector has not the {dimensions} dimensions of the index")
        entries = sorted(entries, key=lambda entry: entry.number)
        raw = np.frombuffer(b"".join(entry.vector for entry in entries), "<f4").reshape(len(entries), -1)
        floats = bits.unit(raw)
        numbers: Numbers = np.array([entry.number for entry in entries], np.uint32)
        uploads = np.full(len(entries), ordinal, np.uint32)
        said = [terms.of_text(entry.text) for entry in entries]
        lengths: Numbers = np.array([len(each) for each in said], np.uint32)
        rows = files.records(uploads, numbers, lengths, bits.packed(floats), dimensions)
        self.tails.write(rows, floats, np.concatenate(said))
        self._rows.append(rows)
        for entry in entries:
            self._words.add(ordinal, entry.number, entry.text)


def stored_watermark(folder: Path, dimensions: int, recipe: str) -> int:
    """How far the index in the folder goes, without opening it; 0 when it is to be built anew."""
    try:
        known = files.read_manifest(folder)
    except IndexUnusable:
        return 0
    return known.watermark if known and (known.dimensions, known.recipe) == (dimensions, recipe) else 0


@contextlib.contextmanager
def _disk() -> Iterator[None]:
    """A disk that is full or failing raises Unavailable."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            "The search index cannot be written (disk full, read-only or failing); free some space and try again.",
            code=Code.STORAGE_FULL,
        ) from error
