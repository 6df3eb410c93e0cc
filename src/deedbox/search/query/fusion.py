"""One ranking of two: by words and by meaning."""

import math
from collections.abc import Sequence

from deedbox.search import limits
from deedbox.search.index import Candidate, Hit

DENSE_WEIGHT = 0.55
WORDS_WEIGHT = 0.45
_DIGITS = 12


def fuse(candidates: Sequence[Candidate], asked: int = limits.LEG_CANDIDATES) -> list[Hit]:
    """One ranking of two, best first: each leg was asked for so many candidates.

    BM25 and cosine have no common scale, so a score counts by its distance from the mean, in standard deviations."""
    unlisted = _unlisted([each.bm25 for each in candidates if each.bm25 is not None], asked)
    near = _z_scores([each.cosine for each in candidates])
    said = _z_scores([unlisted if each.bm25 is None else each.bm25 for each in candidates])
    # By the negative, so that what scores the same stands in the order of upload and chunk. Rounded, because the last
    # digits are errors of the arithmetic: -1.0000000000000002 for the worse of two.
    ranked = sorted(
        (round(-DENSE_WEIGHT * cosine - WORDS_WEIGHT * bm25, _DIGITS), each.upload_id, each.number, each.cosine)
        for each, cosine, bm25 in zip(candidates, near, said, strict=True)
    )
    return [Hit(upload_id, number, -score, cosine) for score, upload_id, number, cosine in ranked]


def _unlisted(listed: Sequence[float], asked: int) -> float:
    """The BM25 score of a chunk that is not among the best by its words."""
    # If the list is whole, it has none of the words. If not, its score lies anywhere between that and the least.
    return min(listed) / 2 if len(listed) >= asked else 0.0


def _z_scores(scores: Sequence[float]) -> list[float]:
    """How many standard deviations each score lies above the mean; 0 where all are the same."""
    if not scores:
        return []
    # Exact sums: they do not depend on the order in which the chunks came.
    mean = math.fsum(scores) / len(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    # A spread that is only rounding would blow up differences that mean nothing.
    if spread <= 1e-9 * max(1.0, abs(mean)):
        return [0.0] * len(scores)
    return [(score - mean) / spread for score in scores]
