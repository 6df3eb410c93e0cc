"""A workspace's colour: kept where it can be read on paper, else made darker or lighter until it can."""

from typing import NamedTuple, TypeAlias

READABLE = 4.5
"""The contrast that WCAG asks of text."""
OWN = "#1f5c4d"
"""That of Deedbox, where a workspace has none."""
LIGHT_PAPER = "#ffffff"
DARK_PAPER = "#1a212b"
_STEPS = 50
_TINT = 0.12
"""The part of the colour in the ground that lies softly behind it."""
_LIGHTS = ("#ffffff", "#06211a")
"""What is written on a button of the colour: of the two, the one that is read better."""

Colour: TypeAlias = str
"""#rrggbb, in small letters."""


class AccentShade(NamedTuple):
    """The colour as a light or a dark page shows it."""

    accent: Colour
    on_accent: Colour
    soft: Colour


def light(colour: Colour) -> AccentShade:
    return _shade(colour, LIGHT_PAPER, "#000000")


def dark(colour: Colour) -> AccentShade:
    return _shade(colour, DARK_PAPER, "#ffffff")


def contrast(one: Colour, other: Colour) -> float:
    """From 1, the same, to 21, black on white, as WCAG 2 reckons it."""
    less, more = sorted((_luminance(one), _luminance(other)))
    return (more + 0.05) / (less + 0.05)


def _shade(colour: Colour, paper: Colour, towards: Colour) -> AccentShade:
    accent = colour if contrast(colour, paper) >= READABLE else _readable(colour, paper, towards)
    tints = (_mixed(paper, accent, _TINT * (1 - step / _STEPS)) for step in range(_STEPS + 1))
    soft = next(each for each in tints if contrast(accent, each) >= READABLE)
    return AccentShade(accent, max(_LIGHTS, key=lambda each: contrast(each, accent)), soft)


def _readable(colour: Colour, paper: Colour, towards: Colour) -> Colour:
    """The nearest step towards black or white that is read on paper, and on its own tint."""
    steps = (_mixed(colour, towards, step / _STEPS) for step in range(_STEPS + 1))
    return next(each for each in steps if contrast(each, _mixed(paper, each, _TINT)) >= READABLE)


def _mixed(one: Colour, other: Colour, part: float) -> Colour:
    """The one with this part of the other."""
    pairs = zip(_parts(one), _parts(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


def _luminance(colour: Colour) -> float:
    red, green, blue = (_linear(each / 255) for each in _parts(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _parts(colour: Colour) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour.removeprefix("#")))
