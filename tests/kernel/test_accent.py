"""A workspace's colour can be read on every page, whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deedbox.kernel import accent

COLOURS = st.integers(0, 0xFFFFFF).map(lambda number: f"#{number:06x}")


def test_contrast_is_that_of_wcag() -> None:
    assert accent.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert accent.contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert accent.contrast("#ffffff", "#777777") == pytest.approx(4.48, abs=0.01)


def test_a_colour_that_can_be_read_stays_as_it_is() -> None:
    assert accent.light("#1f5c4d").accent == "#1f5c4d"
    assert accent.light("#767676").accent == "#767676"
    assert accent.light("#777777").accent != "#777777"
    assert accent.dark("#5fc2a8").accent == "#5fc2a8"


@given(COLOURS)
def test_every_colour_ends_readable_on_paper_on_its_tint_and_under_its_words(colour: str) -> None:
    for shade, paper in ((accent.light(colour), accent.LIGHT_PAPER), (accent.dark(colour), accent.DARK_PAPER)):
        assert accent.contrast(shade.accent, paper) >= 4.5
        assert accent.contrast(shade.accent, shade.soft) >= 4.5
        assert accent.contrast(shade.on_accent, shade.accent) >= 4.5
