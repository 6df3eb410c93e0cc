"""The embedded index: a folder with the vectors, the words, and a manifest that says how far they go."""

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import tantivy

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.search import limits
from deedbox.search.index import ANYTHING, Candidate, Hit, IndexChange, IndexUnusable, Legs, Sieve, bits, files, lock
from deedbox.search.index.batch import Batch, IndexStep
from deedbox.search.index.bits import Floats, Vectors
from deedbox.search.index.files import IndexManifest
from deedbox.search.index.rewrite import rewritten
from deedbox.search.index.view import IndexView
from deedbox.search.index.word_search import WordSearch
from deedbox.search.index.words import WordIndex, WordReader, empty_searcher

T = TypeVar("T")
_beside = ThreadPoolExecutor(limits.SEARCH_THREADS, thread_name_prefix="words")


class LocalIndex:
    """An Index in a folder of its own. Raises IndexUnusable when the folder has to be made anew.

    One that another writes seems empty until it is claimed."""

    def __init__(self, folder: Path, dimensions: int, recipe: str) -> None:
        self._folder = folder
        self._writing = threading.Lock()
        self._looking = threading.Lock()
        self._closing = contextlib.ExitStack()
        self._words: WordIndex | None = None
        """While this is the one that writes."""
        self._reader: WordReader | None = None
        self._unfinished = False
        self.writes = False
        self.identity = ""
        self._nothing = IndexManifest(identity="", recipe=recipe, dimensions=dimensions)
        nothing = files.Loaded(bits.empty(dimensions), [], {})
        self._show(self._nothing, nothing, WordSearch(empty_searcher(), nothing.vectors, 0))
        held = lock.take(folder)
        if held is not None:
            try:
                self._begin_writing(held)
            except BaseException:
                self._closing.close()
                raise

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

    def claim(self) -> bool:
        """Whether this is the one that writes the index: from now on, if no other is. If another is, searches see
        what that one has written by now."""
        with self._writing:
            if not self.writes:
                held = lock.take(self._folder)
                if held is None:
                    self._read()
                else:
                    self._begin_writing(held)
            return self.writes

    def look(self, tx: Tx) -> None:
        """Who claims it sees what another has written."""

    def apply(self, changes: Iterable[IndexChange], watermark: int, since: int | None = None) -> None:  # noqa: ARG002
        """Makes the changes visible to the next search, and durable together with the new watermark."""
        with self._writing, _disk():
            words = self._words
            if words is None:
                raise Unavailable("The search index is closed.")
            if self._unfinished:
                words.reopen()
                words.forget_from(len(self._names))
            self._unfinished = True
            batch = Batch(self._folder, self._manifest, words, self._names, self._ordinals)
            try:
                for change in changes:
                    batch.take(change)
                self._finish(words, batch, watermark)
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

    def words(self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING) -> list[Hit]:
        """The best chunks by BM25 that pass the sieve, best first, ties by upload id and number; `only` of these."""
        view, allowed = self._look(only)
        if top < 1 or (allowed is not None and not allowed):
            return []
        return view.hits(view.by_words(query, top, allowed, sieve))

    def corrected(self, words: Collection[str], only: Collection[str] | None = None) -> dict[str, str]:
        """The words that were meant, of those that are in none of these uploads."""
        view, allowed = self._look(only)
        return view.said.corrected(words, None if allowed is None else set(allowed))

    def candidates(
        self, vector: Floats, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> list[Candidate]:
        """The hits of `near` and `words` at one moment, each chunk once, with the exact cosine of all; in no order."""
        view, allowed = self._look(only)
        if top < 1 or (allowed is not None and not allowed):
            return []
        asked = np.asarray(vector)
        # Beside each other: both run outside of the interpreter's lock, and each takes about as long as the other.
        saying = _beside.submit(copy_context().run, view.by_words, query, top, allowed, sieve)
        near = view.near(asked, top, allowed)
        return view.candidates(asked, near, saying.result())

    def by_words(
        self, query: str, top: int, only: Collection[str] | None = None, sieve: Sieve = ANYTHING
    ) -> Callable[[Floats], list[Candidate]]:
        """The candidates of a vector that is not known yet: of this moment, with the words looked up already."""
        view, allowed = self._look(only)
        if top < 1 or (allowed is not None and not allowed):
            return lambda _: []
        said = view.by_words(query, top, allowed, sieve)
        return lambda vector: view.candidates(np.asarray(vector), view.near(np.asarray(vector), top, allowed), said)

    def search(
        self,
        query: str,  # noqa: ARG002
        prepare: Callable[[Legs], Callable[[Floats | None], T]],
    ) -> Callable[[Floats | None], T]:
        """What `prepare` returns: the words are looked up now."""
        return prepare(self)

    def close(self) -> None:
        """Lets go of the folder, so that another can write the index."""
        with self._writing:
            self.writes, self._words = False, None
            self._closing.close()

    def discard(self) -> None:
        """Leaves nothing of the index, and lets go of the folder; for the one that writes it."""
        with self._writing:
            if self._words is not None:
                self._words.close()
            if self.writes:
                lock.remove(self._folder)
        self.close()

    def _begin_writing(self, held: int) -> None:
        """Opens the index to write it. Also if it is unusable, no other writes it until this one is closed; after any
        other failure the next claim tries again."""
        self._closing.callback(os.close, held)
        self.writes = True
        try:
            self._open_to_write()
        except IndexUnusable:
            raise
        except BaseException:
            self.writes = False
            self._closing.close()
            raise

    def _open_to_write(self) -> None:
        known = self._known_manifest()
        words = WordIndex(self._folder / files.WORDS)
        self._closing.callback(words.close)
        if known is None:
            known = self._begun(words)
        self.identity = known.identity
        loaded = files.load(self._folder, known)
        files.remove_others(self._folder, known.generation)
        opstamp = words.opstamp
        # The words are committed before the manifest: a crash in between leaves them ahead, never behind.
        if opstamp < known.words_opstamp:
            raise IndexUnusable("The word index is older than the manifest says.")
        words.forget_from(len(loaded.names))
        said = WordSearch(words.searcher(), loaded.vectors, len(loaded.ordinals))
        if opstamp == known.words_opstamp:
            _check_same(said, loaded.vectors)
        self._show(known, loaded, said)
        self._words = words

    def _begun(self, words: WordIndex) -> IndexManifest:
        words.forget_from(0)
        manifest = msgspec.structs.replace(self._nothing, identity=files.new_identity(), words_opstamp=words.opstamp)
        # Files of an index whose manifest was lost are none of this one's.
        files.remove_others(self._folder, -1)
        files.write_manifest(self._folder, manifest)
        return manifest

    def _read(self) -> None:
        """Sees what the one that writes has finished."""
        manifest = self._known_manifest()
        if manifest is None or manifest == self._manifest:
            return
        self.identity = manifest.identity
        try:
            self._read_up_to(manifest)
        except IndexUnusable:
            # Files go when the index is rewritten or begun anew: there is another manifest then, for the next look.
            if self._known_manifest() == manifest:
                raise

    def _read_up_to(self, manifest: IndexManifest) -> None:
        known = self._manifest
        if self._reader is None or known.identity != manifest.identity:
            self._reader = WordReader(self._folder / files.WORDS)
        searcher = self._reader.searcher(manifest.words_opstamp)
        if searcher is None:
            return  # a change is just being finished
        if (known.identity, known.generation) == (manifest.identity, manifest.generation):
            step = self._step_to(manifest)
            view = self._after(step, manifest, lambda: searcher)
            _check_same(view.said, view.vectors)
            self._advance(manifest, step, view)
        else:
            loaded = files.load(self._folder, manifest)
            said = WordSearch(searcher, loaded.vectors, len(loaded.ordinals))
            _check_same(said, loaded.vectors)
            self._show(manifest, loaded, said)

    def _step_to(self, manifest: IndexManifest) -> IndexStep:
        """What the one that writes has added to the files."""
        names, rows = files.difference(self._folder, self._manifest, manifest)
        step = IndexStep(len(self._names), rows=[rows])
        living = set(rows["upload"].tolist())
        for ordinal, name in enumerate(names, step.first):
            step.add(name, step.ordinals.get(name, self._ordinals.get(name)), living=ordinal in living)
        return step

    def _known_manifest(self) -> IndexManifest | None:
        known, wanted = files.read_manifest(self._folder), self._nothing
        if known is not None and (known.dimensions, known.recipe) != (wanted.dimensions, wanted.recipe):
            raise IndexUnusable(f"The index was made by {known.recipe} with {known.dimensions} dimensions.")
        return known

    def _look(self, only: Collection[str] | None) -> tuple[IndexView, list[int] | None]:
        """The present state, and the ordinals in it of the uploads that may answer."""
        with self._looking:
            if only is None:
                return self._view, None
            known = self._ordinals
            return self._view, [known[upload_id] for upload_id in only if upload_id in known]

    def _show(self, manifest: IndexManifest, loaded: files.Loaded, said: WordSearch) -> None:
        with self._looking:
            self._manifest, self._names, self._ordinals = manifest, loaded.names, loaded.ordinals
            self._view = IndexView(loaded.vectors, said, loaded.names)

    def _finish(self, words: WordIndex, batch: Batch, watermark: int) -> None:
        manifest = msgspec.structs.replace(self._manifest, watermark=watermark)
        if batch.step.names:
            parts = batch.tails.finish()
            files.flush_folder(self._folder)
            words.commit()
            manifest = msgspec.structs.replace(manifest, words_opstamp=words.opstamp, **parts)
        view = self._after(batch.step, manifest, words.searcher)
        files.write_manifest(self._folder, manifest)
        self._advance(manifest, batch.step, view)

    def _after(self, step: IndexStep, manifest: IndexManifest, searcher: Callable[[], tantivy.Searcher]) -> IndexView:
        """What searches see after this step."""
        if not step.names:
            return self._view
        added = step.added(files.open_floats(self._folder, manifest), files.open_terms(self._folder, manifest))
        vectors, uploads = self._view.vectors.changed(step.dead, added), len(self._ordinals) + step.growth
        return IndexView(vectors, WordSearch(searcher(), vectors, uploads), self._names)

    def _advance(self, manifest: IndexManifest, step: IndexStep, view: IndexView) -> None:
        with self._looking:
            self._manifest, self._view = manifest, view
            self._names += step.names
            for upload_id, ordinal in step.ordinals.items():
                if ordinal is None:
                    self._ordinals.pop(upload_id, None)
                else:
                    self._ordinals[upload_id] = ordinal

    def _rewrite_if_due(self) -> None:
        alive, stored = self.size, len(self._view.vectors.floats)
        if stored >= limits.REWRITE_ROWS and stored > 2 * alive:
            # The change is durable already; a rewrite for which the disk has no room can wait.
            with contextlib.suppress(OSError):
                self._rewrite()

    def _rewrite(self) -> None:
        """Writes the same index without dead rows."""
        # Ordinals stay, because the words know them: the gone leave an empty line.
        kept = (name if self._ordinals.get(name) == at else "" for at, name in enumerate(self._names))
        manifest = rewritten(self._folder, self._manifest, self._view.vectors, kept)
        loaded = files.load(self._folder, manifest)
        files.write_manifest(self._folder, manifest)
        self._show(manifest, loaded, self._view.said.beside(loaded.vectors))
        files.remove_others(self._folder, manifest.generation)


def _check_same(said: WordSearch, vectors: Vectors) -> None:
    if said.size != len(vectors):
        raise IndexUnusable(f"The word index has {said.size} chunks, the vectors {len(vectors)}.")


@contextlib.contextmanager
def _disk() -> Iterator[None]:
    """A disk that is full or failing raises Unavailable."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            "The search index cannot be written (disk full, read-only or failing); free some space and try again.",
            code=ErrorCode.STORAGE_FULL,
        ) from error
