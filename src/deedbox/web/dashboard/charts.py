"""Charts as shapes: where each bar, line and dot stands in its plot. A template draws them, and writes beside them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

Numbers = Sequence[float | None]
Say = Callable[[float], str]

STEP = 10.0
"""How wide the place of a day or month is, in the plot's own units."""
HIGH = 100.0
"""How high the plot is; it is stretched to the room there is."""
_GAP = 2.0
_NICE = (1.2, 1.6, 2, 3, 4, 5, 6, 8, 10)
_NICE_SMALL = (2, 4, 6, 8, 10)
_NICE_SPANS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


class Bar(NamedTuple):
    series: int
    x: float
    y: float
    width: float
    height: float


class Plot(NamedTuple):
    """One pair of axes."""

    bars: list[Bar]
    path: str
    """The line through the numbers, broken where there is none."""
    dots: list[tuple[float, float]]
    marks: tuple[str, str]
    """What stands at the top and in the middle of the axis."""


def bars(series: Sequence[Numbers], say: Say, *, stacked: bool = False, top: float | None = None) -> Plot:
    """Bars beside each other for each place, or on top of each other."""
    sums = [sum(number or 0 for number in place) for place in zip(*series, strict=True)]
    highest = max(sums) if stacked else max((number or 0 for one in series for number in one), default=0)
    most = top or nice(highest)
    each = (STEP - _GAP) / (1 if stacked else len(series))
    made = []
    for index in range(len(sums)):
        floor = HIGH
        for number, one in enumerate(series):
            height = _round((one[index] or 0) / most * HIGH)
            x = index * STEP + _GAP / 2 + (0 if stacked else number * each)
            if height:
                made.append(Bar(number, _round(x), _round((floor if stacked else HIGH) - height), _round(each), height))
            floor -= height
    return Plot(made, "", [], (say(most), say(most / 2)))


def line(numbers: Numbers, say: Say, top: float) -> Plot:
    """A dot for each number, and a line between those of neighbours."""
    dots, path, joined = [], [], False
    for index, number in enumerate(numbers):
        if number is None:
            joined = False
            continue
        x, y = _round(index * STEP + STEP / 2), _round(HIGH - number / top * HIGH)
        path.append(f"{'L' if joined else 'M'}{x} {y}")
        dots.append((x, y))
        joined = True
    return Plot([], "".join(path), dots, (say(top), say(top / 2)))


def nice(most: float) -> float:
    """The next number that one would write on an axis; its half is one too."""
    size = 1.0
    while size * 10 < most:
        size *= 10
    return next(size * one for one in (_NICE_SMALL if size == 1 else _NICE) if size * one >= most)


def nice_span(seconds: float) -> float:
    """The same of a time: minutes, hours and days rather than thousands of seconds."""
    return next((float(one) for one in _NICE_SPANS if one >= seconds), 86400 * nice(seconds / 86400))


def nice_size(number: float) -> float:
    """The same of bytes."""
    unit = 1
    while number >= unit * 1000:
        unit *= 1024
    return unit * nice(number / unit)


def _round(value: float) -> float:
    return round(value, 2)
