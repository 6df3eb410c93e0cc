"""The chunks of a set as an index takes them."""

from deedbox.kernel.db import Tx
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed import vectors_of
from deedbox.search.index import ChunkEntry
from deedbox.search.library import store


def entries(tx: Tx, recipe: str, upload_id: str, set_id: str, dimensions: int) -> list[ChunkEntry]:
    """The chunks of a set that stands for an upload, for an index of this recipe with vectors of so many dimensions."""
    # Chunks of a lost model are found by words only, until they are embedded anew: their vectors mean nothing here.
    foreign = None
    if vectors_of(chunk_store.recipe(tx, set_id) or "") != vectors_of(recipe):
        foreign = bytes(4 * dimensions)
    name = name_of(store.answering_name(tx, upload_id) or "")
    return [
        ChunkEntry(number, text, foreign or vector, "" if at else name)
        for at, (number, text, vector) in enumerate(chunk_store.chunk_vectors(tx, set_id))
    ]


def name_of(filename: str) -> str:
    """The name by which a document is found: without its extension, which many have."""
    return filename.rpartition(".")[0] or filename
