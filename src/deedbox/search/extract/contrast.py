"""How well text is seen on what lies behind it."""

from functools import lru_cache
from typing import TypeAlias

from deedbox.search.limits import VISIBLE_CONTRAST

Colour: TypeAlias = tuple[int, int, int]
WHITE: Colour = (255, 255, 255)
OPAQUE = 255
_CACHED = 4096


@lru_cache(_CACHED)
def is_unseen(text: Colour, behind: Colour, alpha: int = OPAQUE) -> bool:
    """Whether text of this colour and opacity cannot be told from what lies behind it."""
    mixed = [(above * alpha + below * (OPAQUE - alpha)) / OPAQUE for above, below in zip(text, behind, strict=True)]
    light, dark = sorted((_luminance(*mixed), _luminance(*behind)), reverse=True)
    return (light + 0.05) / (dark + 0.05) < VISIBLE_CONTRAST


def _luminance(*colour: float) -> float:
    """The relative luminance that WCAG defines."""
    parts = (part / OPAQUE for part in colour)
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
