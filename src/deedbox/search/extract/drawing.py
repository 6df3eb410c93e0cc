"""The text of drawings, which presentations consist of and other documents hold: shapes and diagrams."""

from lxml import etree

from deedbox.search.extract.text import clean
from deedbox.search.extract.word_xml import local

_CHARACTERS = {"br": " ", "tab": "\t"}


def line(paragraph: etree._Element) -> str:
    """The paragraph as one line."""
    pieces = []
    for element in paragraph.iter("{*}t", *(f"{{*}}{name}" for name in _CHARACTERS)):
        pieces.append(_CHARACTERS.get(local(element.tag)) or element.text or "")
    return " ".join(clean("".join(pieces)).split())
