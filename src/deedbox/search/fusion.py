"""Makes one ranking of two: BM25 and cosine have no common scale, so a score counts by its distance from the mean."""

import math
from collections.abc import Collection, Sequence
from typing import TypeAlias

from deedbox.kernel import limits
from deedbox.search.index import Hit

Place: TypeAlias = tuple[str, int]
"""An upload and the number of one of its chunks."""

DENSE_WEIGHT = 0.55
WORDS_WEIGHT = 0.45


def fused(dense: Sequence[Hit], words: Sequence[Hit], asked: int = limits.LEG_CANDIDATES) -> list[Hit]:
    """Every chunk of the lists, each asked for so many, with the weighted sum of its z-scores; best first."""
    near, said = _scores(dense), _scores(words)
    everywhere = near.keys() | said.keys()
    if len(said) < asked:
        # The list is whole: no other chunk has any of the words, which is a score too, and worth a lot.
        said = dict.fromkeys(everywhere, 0.0) | said
    near_z, said_z = _z_scores(near), _z_scores(said)
    near_least, said_least = _least(near_z.values()), _least(said_z.values())
    return ranked(
        [
            Hit(*place, DENSE_WEIGHT * near_z.get(place, near_least) + WORDS_WEIGHT * said_z.get(place, said_least))
            for place in everywhere
        ]
    )


def ranked(hits: Sequence[Hit]) -> list[Hit]:
    """Best first; what scores the same stands in the order of upload and chunk."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.upload_id, hit.number))


def _scores(hits: Sequence[Hit]) -> dict[Place, float]:
    return {(hit.upload_id, hit.number): hit.score for hit in hits}


def _z_scores(scores: dict[Place, float]) -> dict[Place, float]:
    """How many standard deviations each score lies above the mean; 0 where all are the same."""
    if not scores:
        return {}
    # Exact sums: they do not depend on the order in which the chunks came.
    mean = math.fsum(scores.values()) / len(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores.values()) / len(scores))
    # A spread that is only rounding would blow up differences that mean nothing.
    if spread <= 1e-9 * max(1.0, abs(mean)):
        return dict.fromkeys(scores, 0.0)
    return {place: (score - mean) / spread for place, score in scores.items()}


def _least(values: Collection[float]) -> float:
    return min(values, default=0.0)
