"""How relevant a passage is to a question, from 0 to 1: a number that means the same whatever else was found."""

from deedbox.search.index import Hit

_DIGITS = 4


def from_cosine(cosine: float) -> float:
    return min(1.0, max(0.0, cosine))


def relevance(hit: Hit, share: float | None, *, dense: float, words: float) -> float:
    """By the part of the question's words that the passage has, by its cosine, or by both in the ranking's weights.

    It grows with each of them, and neither depends on the other passages, as the score does."""
    if hit.cosine is not None:
        found = dense * from_cosine(hit.cosine) + words * (share or 0.0)
    else:
        found = from_cosine(hit.score) if share is None else share
    return round(found, _DIGITS)
