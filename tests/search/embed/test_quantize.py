"""Bits that other systems read in the same order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deedbox.search.embed.quantize import quantize


def test_the_golden_vector() -> None:
    assert quantize([1, -1, 0, 2, -3, 0.5, 0, 0, -1, 1]) == "9440"


@pytest.mark.parametrize(
    ("vector", "bits"), [([1.0], "80"), ([0.0] * 8, "00"), ([1e-30] * 8, "ff"), ([-0.0] * 7 + [1], "01"), ([], "")]
)
def test_a_bit_is_set_only_above_zero(vector: list[float], bits: str) -> None:
    assert quantize(vector) == bits


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=400))
def test_every_component_has_its_bit_and_the_rest_is_zero(vector: list[float]) -> None:
    bits = "".join(f"{byte:08b}" for byte in bytes.fromhex(quantize(np.array(vector, np.float32))))
    assert bits == "".join("1" if value > 0 else "0" for value in vector).ljust(-(-len(vector) // 8) * 8, "0")
