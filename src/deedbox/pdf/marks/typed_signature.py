"""Runs in a sandbox: a typed signature as a picture of paths, which needs no font where it is shown."""

from functools import cache

from deedbox.pdf.marks.fonts import HANDS, Hand, families
from deedbox.pdf.marks.typeset import Typesetter, script


def prepare() -> None:
    """Writes once in each hand, while a sandbox may still load what that needs."""
    for hand in HANDS:
        svg("Aa", hand)


def svg(text: str, hand: Hand) -> bytes:
    """The text in the hand in which it would be sealed."""
    return _template().draw({"text": text, "hands": families(hand), **script(text)})


@cache
def _template() -> Typesetter:
    return Typesetter("hand.typ")
