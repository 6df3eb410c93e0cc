"""What was needed once goes back to the system."""

import ctypes

from deedbox.kernel import limits

_MMAP_THRESHOLD = -3
"""`M_MMAP_THRESHOLD` in glibc's malloc.h."""


def give_back_large() -> None:
    """From now on a large piece of memory is the system's again as soon as it is freed, where glibc manages it."""
    # Left alone, it learns to keep pieces of up to 32 MB in the heap of each thread that had one.
    if hasattr(malloc := ctypes.CDLL(None), "mallopt"):
        malloc.mallopt(_MMAP_THRESHOLD, limits.MEMORY_PIECE_BYTES)
