"""A signature as a hand draws it on a pad: loops, a dot, and a line under it."""

import math
from typing import Any


def drawn(width: int = 1000, height: int = 360, *, force: float = 0.0) -> dict[str, Any]:
    """Strokes as the signing page sends them."""
    return {"kind": "drawn", "width": width, "height": height, "strokes": strokes(width, height, force)}


def strokes(width: int = 1000, height: int = 360, force: float = 0.0) -> list[list[list[float]]]:
    loops = [_loop(step, width, height, force) for step in range(90)]
    line = [[width * (0.3 + 0.004 * step), height * 0.84, force, 1300.0 + 4 * step] for step in range(100)]
    return [loops, [[width * 0.75, height * 0.2, force, 1200.0]], line]


def _loop(step: int, width: int, height: int, force: float) -> list[float]:
    turn = step / 90 * 6 * math.pi
    x = width * (0.15 + 0.55 * step / 90 + 0.06 * math.sin(turn))
    y = height * (0.5 - 0.3 * math.cos(turn) * (1 - step / 140))
    swing = 0.5 + 0.5 * math.sin(turn / 2)
    return [round(x, 2), round(y, 2), round(force * swing, 3), round(12.0 * step + 60 * swing, 1)]
