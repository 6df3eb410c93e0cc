"""The chunks of a set as an index takes them."""

from deedbox.kernel.db import Tx
from deedbox.search.chunks import store as chunk_store
from deedbox.search.embed import vectors_of
from deedbox.search.index import Entry


def entries(tx: Tx, recipe: str, set_id: str, dimensions: int) -> list[Entry]:
    """The chunks of a set, for an index of this recipe with vectors of so many dimensions."""
    # Chunks of a lost model are found by words only, until they are embedded anew: their vectors mean nothing here.
    foreign = None
    if vectors_of(chunk_store.recipe(tx, set_id) or "") != vectors_of(recipe):
        foreign = bytes(4 * dimensions)
    return [Entry(number, text, foreign or vector) for number, text, vector in chunk_store.chunk_vectors(tx, set_id)]
