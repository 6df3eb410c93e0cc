"""The blocks of text in one part of a Word document, in reading order."""

import io
from collections.abc import Iterator

import msgspec
from lxml import etree

from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.text import clean
from deedbox.search.extract.word_numbers import Numbers, ParagraphNumbering, place_of
from deedbox.search.extract.word_styles import BODY_LEVEL, HiddenText, outline_level
from deedbox.search.extract.word_xml import local, refuse_document_type, value

_STRUCTURE = ("p", "tr", "tc", "tbl")
_CHARACTERS = {"br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
# A drawing stands twice in the file, the second time for old readers; a moved or deleted passage is where
# it no longer is, and a changed setting is what it no longer is.
_SKIPPED = ("Fallback", "moveFrom", "del", "pPrChange")
_SETTINGS = ("pStyle", "outlineLvl", "numPr")
_BELOW = "den"
"""What stands below the line of a fraction."""
_WATCHED = [f"{{*}}{name}" for name in (*_STRUCTURE, *_CHARACTERS, *_SKIPPED, *_SETTINGS, "t", "tab", _BELOW)]


class WordBlock(msgspec.Struct):
    """A paragraph, or a row of a table."""

    text: str
    heading: bool = False
    tight: bool = False
    """Belongs to the block before it if that is tight too: a row, or an item of a list."""
    hidden: int = 0
    """Characters in it that Word does not show."""


class _Paragraph:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.level: int | None = None
        self.style: str | None = None
        self.place: ParagraphNumbering | None = None
        self.hidden = 0

    def block(self, number: str) -> WordBlock:
        text = clean("".join(self.pieces)).strip()
        if text and number:
            text = f"{clean(number)} {text}"
        heading = self.level is not None and self.level < BODY_LEVEL and bool(text)
        return WordBlock(text, heading, self.place is not None and not heading, self.hidden)


class _Reader:
    """Takes the elements of a part as they begin and end; `done` holds the blocks that are complete."""

    def __init__(self, levels: dict[str, int], numbers: Numbers, hidden: HiddenText) -> None:
        self._hidden = hidden
        self.done: list[WordBlock] = []
        self._levels = levels
        self._numbers = numbers
        self._paragraphs: list[_Paragraph] = []
        self._outer: list[list[WordBlock]] = []
        self._skipping = 0

    def begin(self, name: str) -> None:
        if name in _SKIPPED:
            self._skipping += 1
        elif self._skipping:
            return
        elif name == "p":
            self._paragraphs.append(_Paragraph())
        elif name in ("tr", "tc"):
            self._outer.append(self.done)
            self.done = []
        elif name == _BELOW and self._paragraphs:
            self._paragraphs[-1].pieces.append("/")

    def end(self, name: str, element: etree._Element) -> None:
        if name in _SKIPPED:
            self._skipping -= 1
            element.clear()
        elif self._skipping:
            return
        elif name == "p":
            ended = self._paragraphs.pop()
            self.done.append(ended.block(self._numbers.next(ended.place, ended.style)))
            element.clear()
        elif name in ("tr", "tc"):
            self._close(name)
            element.clear()
        elif name == "tbl":
            element.clear()
        elif self._paragraphs:
            self._inside(self._paragraphs[-1], name, element)

    def take(self) -> list[WordBlock]:
        """The blocks that are complete, once; none while a table is open."""
        if self._outer:
            return []
        done, self.done = self.done, []
        return done

    def _close(self, name: str) -> None:
        inner, self.done = self.done, self._outer.pop()
        texts, hidden = [" ".join(block.text.split()) for block in inner], sum(block.hidden for block in inner)
        if name == "tc":
            self.done.append(WordBlock(" ".join(filter(None, texts)), hidden=hidden))
        elif any(texts) or hidden:
            self.done.append(WordBlock(" | ".join(texts) if any(texts) else "", tight=True, hidden=hidden))

    def _inside(self, paragraph: _Paragraph, name: str, element: etree._Element) -> None:
        if name == "t":
            if self._hidden.holds(paragraph.style, element.getparent()):
                paragraph.hidden += len(element.text or "")
            else:
                paragraph.pieces.append(element.text or "")
        elif name in _CHARACTERS:
            paragraph.pieces.append(_CHARACTERS[name])
        elif name == "tab":
            # The same name declares a tab stop; only in a run it is a character.
            if local(getattr(element.getparent(), "tag", None)) == "r":
                paragraph.pieces.append("\t")
        elif name == "pStyle":
            paragraph.style = value(element)
            paragraph.level = self._levels.get(paragraph.style or "")
        elif name == "outlineLvl":
            level = outline_level(value(element))
            paragraph.level = paragraph.level if level is None else level
        elif name == "numPr":
            paragraph.place = place_of(element)


def blocks(xml: bytes, levels: dict[str, int], numbers: Numbers, hidden: HiddenText) -> Iterator[WordBlock]:
    """The paragraphs and rows of the part; XMLSyntaxError where it is broken, BadRequest if it is not Word's."""
    reader = _Reader(levels, numbers, hidden)
    events = etree.iterparse(
        io.BytesIO(xml),
        events=("start", "end"),
        tag=_WATCHED,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    checked = False
    for event, element in events:
        if not checked:
            _check_root(element.getroottree().getroot())
            checked = True
        if event == "start":
            reader.begin(local(element.tag))
            continue
        reader.end(local(element.tag), element)
        yield from reader.take()
    _check_root(events.root)


def _check_root(root: etree._Element) -> None:
    refuse_document_type(root)
    if "wordprocessingml" not in root.tag:
        raise wrong_kind("docx", "not a Word document")
