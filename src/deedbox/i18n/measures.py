"""Sizes and spans of time as one says them on the pages for those who run a workspace."""

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_SPANS = ((86_400, "day", "days"), (3_600, "hour", "hours"), (60, "minute", "minutes"), (1, "second", "seconds"))


def size(number: int) -> str:
    """So many bytes, in the unit in which they are read best: 1.4 MB."""
    value, unit = float(number), 0
    while value >= 1000 and unit < len(_UNITS) - 1:  # 1,000 KB is nearly a MB, and is said so
        value, unit = value / 1024, unit + 1
    return f"{number} {_UNITS[0]}" if unit == 0 else f"{_figures(value)} {_UNITS[unit]}"


def span(seconds: float) -> str:
    """So long, in the largest unit of which it has one: 3.5 hours."""
    for length, one, more in _SPANS:
        if seconds >= length:
            said = _figures(seconds / length)
            return f"{said} {one if said == '1' else more}"
    return f"{_figures(seconds)} {_SPANS[-1][2]}"


def _figures(value: float) -> str:
    """With two figures that count, and no more than tell something: 1.4, 14, 140."""
    return f"{value:.1f}".removesuffix(".0") if value < 10 else f"{value:,.0f}"
