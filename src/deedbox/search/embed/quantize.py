"""A vector as one bit for each component."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


def quantize(vector: "NDArray[np.float32] | Sequence[float]") -> str:
    """Lowercase hex: bit i is set when component i is above zero, the first in the most significant bit of the first
    byte, the last byte filled up with zeros."""
    import numpy as np

    return np.packbits(np.asarray(vector) > 0).tobytes().hex()
