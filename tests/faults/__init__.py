"""The fault and attack fault tests: small, or in full size with `FAULTS=full`."""

import os

import pytest

FULL = os.environ.get("FAULTS") == "full"
only_in_full = pytest.mark.skipif(not FULL, reason="only in full size, FAULTS=full: the small size has its like")
