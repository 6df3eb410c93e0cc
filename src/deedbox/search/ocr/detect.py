"""Where the lines of text stand on a picture: what the detection model marks, as rectangles that may be turned."""

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from deedbox.search import limits

Pixels: TypeAlias = NDArray[np.float32]
Runs: TypeAlias = NDArray[np.int64]

_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_SPREAD = np.array([0.229, 0.224, 0.225], np.float32)
_STEP = 32
"""The model takes sides that are multiples of it."""
_MARKED = 0.2
"""So likely to be text a pixel must be."""
_SURE = 0.4
"""So likely to be text a line must be on average."""
_GROWTH = 1.4
"""The model marks the core of a line: the line is larger by its area times this, over its girth."""
_LEAST_PIXELS = 12
_LEAST_HEIGHT = 2.5
_LONG = 5.0
"""A line so many times as long as high tells its own direction; a shorter one takes that of the page."""


class LineBox(NamedTuple):
    """A rectangle around its middle, in pixels of the picture, turned clockwise by an angle in radians."""

    x: float
    y: float
    width: float
    height: float
    angle: float

    def corners(self, begin: float = 0.0, end: float = 1.0) -> list[tuple[float, float]]:
        """Of the part between two fractions of its length: top left, top right, bottom right, bottom left."""
        along = (math.cos(self.angle), math.sin(self.angle))
        first, last, half = (begin - 0.5) * self.width, (end - 0.5) * self.width, self.height / 2
        places = ((first, -half), (last, -half), (last, half), (first, half))
        return [
            (self.x + by * along[0] - down * along[1], self.y + by * along[1] + down * along[0]) for by, down in places
        ]


def prepare(picture: Image.Image) -> tuple[Pixels, float, float]:
    """The picture as the model takes it, and how many of its pixels stand for one of the model's, each way."""
    scale = min(1.0, limits.OCR_DETECTION_SIDE / max(picture.size))
    width, height = (max(_STEP, round(side * scale / _STEP) * _STEP) for side in picture.size)
    small = picture.resize((width, height), Image.Resampling.BILINEAR)
    # The models were trained on blue, green, red.
    values: Pixels = (np.asarray(small, np.float32)[:, :, ::-1] / np.float32(255) - _MEAN) / _SPREAD
    return values.transpose(2, 0, 1)[None], picture.width / width, picture.height / height


def rows(likely: Pixels, across: float, down: float) -> list[list[LineBox]]:
    """The lines in the model's answer, in pixels of the picture: row by row from the top, each row from the left."""
    begin, end, row, label = _components(likely > _MARKED)
    order = np.argsort(label, kind="stable")
    begin, end, row, label = begin[order], end[order], row[order], label[order]
    edges = np.flatnonzero(np.diff(label)) + 1
    found = list[tuple[Runs, Runs, Runs]]()
    for some in np.split(np.arange(len(label)), edges) if len(label) else ():
        runs = (begin[some], end[some], row[some])
        if (runs[1] - runs[0]).sum() >= _LEAST_PIXELS and _average(likely, runs) >= _SURE:
            found.append(runs)
        if len(found) == limits.OCR_PAGE_LINES:
            break
    angles = [_direction(runs, across, down) for runs in found]
    long = sorted(angle for angle, length in angles if length >= _LONG)
    page = long[len(long) // 2] if long else 0.0
    made = [
        _rectangle(runs, across, down, angle if length >= _LONG else page)
        for runs, (angle, length) in zip(found, angles, strict=True)
    ]
    return _as_read([line for line in made if line is not None], page)


def _components(marked: NDArray[np.bool_]) -> tuple[Runs, Runs, Runs, Runs]:
    """The marked pixels as runs in rows: begin, end and row of each, and the least run that it hangs together with."""
    padded = np.zeros((marked.shape[0], marked.shape[1] + 2), np.int8)
    padded[:, 1:-1] = marked
    steps = np.diff(padded, axis=1)
    row, begin = np.nonzero(steps == 1)
    end = np.nonzero(steps == -1)[1]
    label = np.arange(len(row))
    starts = np.searchsorted(row, np.arange(marked.shape[0] + 1))
    over, under = list[Runs](), list[Runs]()
    for number in range(marked.shape[0] - 1):
        here, below = slice(starts[number], starts[number + 1]), slice(starts[number + 1], starts[number + 2])
        touch = (begin[here, None] < end[None, below]) & (begin[None, below] < end[here, None])
        pairs = np.nonzero(touch)
        over.append(pairs[0] + starts[number])
        under.append(pairs[1] + starts[number + 1])
    _join(label, np.concatenate(over or [label[:0]]), np.concatenate(under or [label[:0]]))
    return begin, end, row, label


def _join(label: Runs, over: Runs, under: Runs) -> None:
    """Gives all runs that touch, directly or by others, the label of the least of them."""
    while True:
        least = np.minimum(label[over], label[under])
        before = label.copy()
        np.minimum.at(label, label[over], least)
        np.minimum.at(label, label[under], least)
        label[:] = label[label]
        if np.array_equal(before, label):
            return


def _average(likely: Pixels, runs: tuple[Runs, Runs, Runs]) -> float:
    values = [likely[row, begin:end] for begin, end, row in zip(*runs, strict=True)]
    return float(np.concatenate(values).mean())


def _direction(runs: tuple[Runs, Runs, Runs], across: float, down: float) -> tuple[float, float]:
    """The angle of a line, by the middles of its columns, and how many times as long as high it is."""
    begin, end, row = runs
    left, right = int(begin.min()), int(end.max())
    count, total = np.zeros(right - left + 1), np.zeros(right - left + 1)
    for values, weight in ((count, np.ones(len(row))), (total, row.astype(float))):
        np.add.at(values, begin - left, weight)
        np.add.at(values, end - left, -weight)
    count, total = np.cumsum(count)[:-1], np.cumsum(total)[:-1]
    columns = np.flatnonzero(count > 0)
    height = float(np.sort(count[columns])[len(columns) // 2]) * down
    length = len(columns) * across
    if len(columns) < 2:
        return 0.0, 0.0
    x, y = columns * across, total[columns] / count[columns] * down
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return math.atan(slope), length / max(height, 1.0)


def _rectangle(runs: tuple[Runs, Runs, Runs], across: float, down: float, angle: float) -> LineBox | None:
    begin, end, row = runs
    # The corners of every run, along the line and at right angles to it.
    x = np.concatenate((begin, end, begin, end)) * across
    y = np.concatenate((row, row, row + 1, row + 1)) * down
    along, below = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    width, height = float(np.ptp(along)), float(np.ptp(below))
    if height < _LEAST_HEIGHT:
        return None
    middle, depth = float(along.min() + along.max()) / 2, float(below.min() + below.max()) / 2
    grown = width * height * _GROWTH / (width + height)
    return LineBox(
        middle * math.cos(angle) - depth * math.sin(angle),
        middle * math.sin(angle) + depth * math.cos(angle),
        width + grown,
        height + grown,
        angle,
    )


def _as_read(found: list[LineBox], angle: float) -> list[list[LineBox]]:
    """The lines in rows of the page as it would stand straight."""

    def depth(line: LineBox) -> float:
        return line.y * math.cos(angle) - line.x * math.sin(angle)

    made = list[list[LineBox]]()
    for line in sorted(found, key=depth):
        last = made[-1][0] if made else None
        if last and depth(line) - depth(last) <= min(line.height, last.height) / 2:
            made[-1].append(line)
        else:
            made.append([line])
    return [sorted(row, key=lambda line: line.x) for row in made]
