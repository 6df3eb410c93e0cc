"""A line of text on a page, as a reader of its text is told of it."""

import msgspec


class TextLine(msgspec.Struct, frozen=True, array_like=True):
    """Its place is in fractions of the page as it is displayed, from the top left corner."""

    text: str
    left: float = 0.0
    top: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    begins: bool = True
    """Whether a paragraph begins with it."""


kept_pages = msgspec.json.Decoder(list[list[TextLine]]).decode
"""The lines of each page, as they are kept."""
