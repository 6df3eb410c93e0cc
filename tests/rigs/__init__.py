"""The fault and attack rigs: small, or in full size with `RIGS=full`."""

import os

import pytest

FULL = os.environ.get("RIGS") == "full"
only_in_full = pytest.mark.skipif(not FULL, reason="only in full size, RIGS=full: the small size has its like")
