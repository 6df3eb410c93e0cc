"""The name of how chunks are made: what was made by another name is stale."""

CHUNKER = 1
"""Grows when the same text is cut otherwise than before."""


def named(model: str, fingerprint: str, size: int, overlap: int) -> str:
    return f"{model}@{fingerprint[:16]} chunks:{CHUNKER}/{size}/{overlap}"


def vectors_of(recipe: str) -> str:
    """The model's part of the name: where it is the same, vectors can be compared, however the text was cut."""
    return recipe.partition(" chunks:")[0]
