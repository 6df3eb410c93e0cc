"""Sizes and spans as they are said."""

import pytest

from deedbox.i18n.measures import size, span
from deedbox.web.dashboard import charts


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 KB"),
        (1536, "1.5 KB"),
        (64 * 1024**2, "64 MB"),
        (5 * 1024**4, "5 TB"),
    ],
)
def test_a_size_is_said_in_the_unit_in_which_it_is_read_best(number: int, said: str) -> None:
    assert size(number) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 seconds"), (1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (5400, "1.5 hours"), (259_200, "3 days")],
)
def test_a_span_is_said_in_its_largest_unit(seconds: float, said: str) -> None:
    assert span(seconds) == said


@pytest.mark.parametrize(
    ("most", "top"), [(0, 2), (1, 2), (3, 4), (5, 6), (7, 8), (11, 12), (21, 30), (1001, 1200), (100_000, 100_000)]
)
def test_an_axis_ends_at_a_number_that_one_would_write(most: float, top: float) -> None:
    assert charts.nice(most) == top
    assert charts.nice_span(100_000) == 86400 * 2
    assert charts.nice_size(1536) == 2048


def test_bars_and_lines_stand_where_their_numbers_say() -> None:
    beside = charts.bars([[1, 0], [4, 2]], str)
    assert [(bar.series, bar.x, bar.y, bar.height) for bar in beside.bars] == [
        (0, 1.0, 75.0, 25.0),
        (1, 5.0, 0.0, 100.0),
        (1, 15.0, 50.0, 50.0),
    ]
    stacked = charts.bars([[1, None], [3, 2]], str, stacked=True)
    assert [(bar.series, bar.y, bar.height) for bar in stacked.bars] == [
        (0, 75.0, 25.0),
        (1, 0.0, 75.0),
        (1, 50.0, 50.0),
    ]
    drawn = charts.line([1, 2, None, 2], str, 2)
    assert drawn.path == "M5.0 50.0L15.0 0.0M35.0 0.0"
    assert len(drawn.dots) == 3
