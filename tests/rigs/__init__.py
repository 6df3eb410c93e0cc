"""The fault and attack rigs: small in the ordinary run, in full size with `RIGS=full`."""

import os

import pytest

FULL = os.environ.get("RIGS") == "full"
only_in_full = pytest.mark.skipif(not FULL, reason="only in full size, RIGS=full: the ordinary run has its like")
