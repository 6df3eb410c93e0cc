"""An index written anew without its dead rows."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from deedbox.search import limits
from deedbox.search.index import files
from deedbox.search.index.bits import Vectors
from deedbox.search.index.files import IndexManifest, Tails


def rewritten(folder: Path, manifest: IndexManifest, living: Vectors, names: Iterable[str]) -> IndexManifest:
    """The manifest of the next generation, whose files are durable, and true once it is written."""
    following = msgspec.structs.replace(
        manifest,
        generation=manifest.generation + 1,
        rows=files.NOTHING,
        floats=files.NOTHING,
        terms=files.NOTHING,
        names=files.NOTHING,
    )
    tails = Tails(folder, following)
    try:
        for begin in range(0, len(living), limits.RESCORE_ROWS):
            block = slice(begin, begin + limits.RESCORE_ROWS)
            lengths, codes = living.terms.lengths[block], living.codes[block]
            rows = files.records(living.uploads[block], living.numbers[block], lengths, codes, manifest.dimensions)
            tails.write(rows, living.floats[living.positions[block]], living.terms.of_rows(block))
        tails.name(names)
        following = msgspec.structs.replace(following, **tails.finish())
    finally:
        tails.abandon()
    files.flush_folder(folder)
    return following
