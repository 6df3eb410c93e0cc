"""Arithmetic of vectors, the same in a sandbox and outside."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deedbox.kernel.errors import ServiceError

Vector = NDArray[np.float32]


def unit(vector: Vector) -> Vector:
    """The vector at length 1; an error if it has none, so that no NaN goes on."""
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0:
        raise ServiceError("The embedding model gave no vector for this text; install the model again or use another")
    return (vector / length).astype(np.float32)


def of_windows(found: Sequence[Vector]) -> Vector:
    """The vector of a text that was read in these windows."""
    # Opposite windows could cancel out to nothing; then the first one speaks.
    mean = np.mean(found, axis=0)
    return unit(mean if np.linalg.norm(mean) > 1e-6 else found[0])
