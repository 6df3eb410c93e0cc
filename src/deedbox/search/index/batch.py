"""Changes on their way into an index."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from deedbox.search.index import ChunkEntry, IndexChange, analysis, bits, files, terms
from deedbox.search.index.bits import Floats, Vectors
from deedbox.search.index.files import IndexManifest, Record, Tails
from deedbox.search.index.terms import ChunkTerms, Numbers
from deedbox.search.index.words import WordIndex


@dataclass(slots=True)
class IndexStep:
    """The difference between two states of an index."""

    first: int
    """The ordinal of the first new name."""
    names: list[str] = field(default_factory=list)
    ordinals: dict[str, int | None] = field(default_factory=dict)
    """The new ordinals of uploads; None for one that has no vectors any more."""
    dead: list[int] = field(default_factory=list)
    rows: list[Record] = field(default_factory=list)
    growth: int = 0
    """How many uploads more have vectors."""

    def add(self, upload_id: str, old: int | None, *, living: bool) -> int:
        """The new ordinal of an upload; that which it had dies."""
        ordinal = self.first + len(self.names)
        self.names.append(upload_id)
        self.ordinals[upload_id] = ordinal if living else None
        self.growth += living - (old is not None)
        if old is not None:
            self.dead.append(old)
        return ordinal

    def added(self, floats: Floats, stream: Numbers) -> Vectors:
        """The new rows, with the files of floats and terms as they are now."""
        rows = np.concatenate([np.zeros(0, files.record(floats.shape[1])), *self.rows])
        positions = np.arange(len(floats) - len(rows), len(floats), dtype=np.uint32)
        lengths = rows["terms"].astype(np.int64)
        begins = len(stream) - lengths.sum() + np.cumsum(lengths) - lengths
        return Vectors(
            rows["code"], rows["upload"], rows["number"], positions, floats, ChunkTerms(begins, rows["terms"], stream)
        )


class Batch:
    """Changes on their way: written to the files and given to the words, and not yet true."""

    def __init__(
        self, folder: Path, manifest: IndexManifest, words: WordIndex, names: list[str], known: dict[str, int]
    ) -> None:
        self._words, self._known, self._dimensions = words, known, manifest.dimensions
        self.tails = Tails(folder, manifest)
        self.step = IndexStep(len(names))

    def take(self, change: IndexChange) -> None:
        """The new entries of an upload, under a new ordinal; those of its old ordinal die."""
        old = self.step.ordinals.get(change.upload_id, self._known.get(change.upload_id))
        if old is not None:
            self._words.drop(old)
        elif not change.entries:
            return
        ordinal = self.step.add(change.upload_id, old, living=bool(change.entries))
        self.tails.name([change.upload_id])
        if change.entries:
            self._add(ordinal, change.entries)

    def abandon(self) -> None:
        self.tails.abandon()

    def _add(self, ordinal: int, entries: list[ChunkEntry]) -> None:
        dimensions = self._dimensions
        if any(len(entry.vector) != 4 * dimensions for entry in entries):
            raise ValueError(f"a vector has not the {dimensions} dimensions of the index")
        entries = sorted(entries, key=lambda entry: entry.number)
        raw = np.frombuffer(b"".join(entry.vector for entry in entries), "<f4").reshape(len(entries), -1)
        floats = bits.unit(raw)
        numbers: Numbers = np.array([entry.number for entry in entries], np.uint32)
        uploads = np.full(len(entries), ordinal, np.uint32)
        spoken = [analysis.of_entry(entry) for entry in entries]
        said = [terms.numbers(each) for each in spoken]
        lengths: Numbers = np.array([len(each) for each in said], np.uint32)
        rows = files.records(uploads, numbers, lengths, bits.pack(floats), dimensions)
        self.tails.write(rows, floats, np.concatenate(said))
        self.step.rows.append(rows)
        words = analysis.said(entries)
        for entry, each in zip(entries, spoken, strict=True):
            self._words.add(ordinal, entry.number, each, words if entry is entries[0] else ())
