"""The letters of a line of text: what the recognition model reads, and where on the line each word stands."""

import math
from typing import NamedTuple

import numpy as np
from PIL import Image

from deedbox.search import limits
from deedbox.search.ocr.detect import LineBox, Pixels

_HEIGHT = 48
_LEAST_WIDTH = 320
"""Pixels; the model reads no line that is smaller than so."""


class LineReading(NamedTuple):
    """The text of a line, how sure it is, and where each of its letters stands, in fractions of the line."""

    text: str
    sure: float
    places: list[float]


def cut_out(picture: Image.Image, line: LineBox) -> tuple[Pixels, float]:
    """The line as the model takes it, upright, and how much of that the line takes."""
    width = math.ceil(_HEIGHT * line.width / line.height)
    width = max(8, min(width, limits.OCR_LINE_PIXELS))
    top_left, top_right, bottom_right, bottom_left = line.corners()
    quad = (*top_left, *bottom_left, *bottom_right, *top_right)
    how = Image.Resampling.BICUBIC
    upright = picture.transform((width, _HEIGHT), Image.Transform.QUAD, quad, how, fillcolor="white")
    values = np.zeros((1, 3, _HEIGHT, max(width, _LEAST_WIDTH)), np.float32)
    values[0, :, :, :width] = np.asarray(upright, np.float32)[:, :, ::-1].transpose(2, 0, 1) / 127.5 - 1
    return values, width / values.shape[3]


def decode_line(chances: Pixels, letters: list[str], share: float) -> LineReading:
    """The likeliest letters, step by step along the line, of which the picture takes this share.

    A letter that goes on over several steps is one; between two of the same kind the model puts a blank, letter 0."""
    best = chances.argmax(axis=1)
    kept = (best != 0) & np.concatenate(([True], best[1:] != best[:-1]))
    steps = np.flatnonzero(kept)
    text = "".join(letters[number] for number in best[steps])
    sure = float(chances[steps, best[steps]].mean()) if len(steps) else 0.0
    return LineReading(text, sure, [min(1.0, (step + 0.5) / len(best) / share) for step in steps])
