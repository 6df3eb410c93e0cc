"""The numbers that Word writes before paragraphs by itself: "7.2", "(a)", "IV."."""

import re
from collections.abc import Iterator

import msgspec
from lxml import etree

from deedbox.search.extract.numerals import numeral
from deedbox.search.extract.word_xml import local, value

_LEVELS = 9
_PLACE = re.compile("%([1-9])")
_LONGEST = 60
"""Characters of a number: what is longer is no number."""
_CHAIN = 20


class ParagraphNumbering(msgspec.Struct, frozen=True):
    """What a paragraph or a style says of its number."""

    list_id: str | None = None
    level: int | None = None


class _Level(msgspec.Struct):
    start: int = 1
    form: str = "decimal"
    text: str = ""
    legal: bool = False
    """All numbers in it are decimal."""
    restarts: int | None = None
    """Begins again only after a level up to this one; 0: never."""
    style: str | None = None


class _List(msgspec.Struct):
    """A list of the document; several may count on with one form."""

    form_id: str
    levels: dict[int, _Level]
    begun: bool = False
    starts: dict[int, int] = {}
    """Where it begins anew, by level, once."""


class Numbers:
    """Counts as the paragraphs come."""

    def __init__(self, numbering: etree._Element | None, styles: etree._Element | None) -> None:
        self._by_style, self._parents = _styled(styles) if styles is not None else ({}, {})
        self._lists = _lists(numbering, self._by_style) if numbering is not None else {}
        self._counts: dict[str, dict[int, int]] = {}

    def next(self, place: ParagraphNumbering | None, style: str | None) -> str:
        """The number of the paragraph; empty if it has none or only a bullet."""
        of_style, styled = self._of_style(style)
        list_id = place.list_id if place and place.list_id is not None else of_style.list_id
        one = self._lists.get(list_id or "")
        if one is None:
            return ""
        level = place.level if place and place.level is not None else of_style.level
        if level is None:
            level = next((number for number, form in one.levels.items() if form.style and form.style == styled), 0)
        return self._count(one, level)

    def _of_style(self, style: str | None) -> tuple[ParagraphNumbering, str | None]:
        """What the style says, or the one that it is based on; and which of them said it."""
        for _ in range(_CHAIN):
            if style is None or style in self._by_style:
                break
            style = self._parents.get(style)
        return self._by_style.get(style or "", ParagraphNumbering()), style

    def _count(self, one: _List, level: int) -> str:
        counts = self._counts.setdefault(one.form_id, {})
        if not one.begun:
            one.begun = True
            for number, start in one.starts.items():
                counts[number] = start - 1
        form = one.levels.get(level, _Level())
        counts[level] = counts[level] + 1 if level in counts else form.start
        for deeper in [number for number in counts if number > level]:
            restarts = one.levels.get(deeper, _Level()).restarts
            if restarts is None or level < restarts:
                del counts[deeper]
        return self._written(one, level, counts)

    def _written(self, one: _List, level: int, counts: dict[int, int]) -> str:
        form = one.levels.get(level, _Level())
        if form.form in ("bullet", "none"):
            return ""

        def written(found: re.Match[str]) -> str:
            number = int(found[1]) - 1
            its = one.levels.get(number, _Level())
            return numeral(counts.setdefault(number, its.start), "decimal" if form.legal else its.form)

        text = " ".join(_PLACE.sub(written, form.text).split())
        return text if len(text) <= _LONGEST else ""


def place_of(element: etree._Element) -> ParagraphNumbering:
    """What a `numPr` says."""
    said = {local(part.tag): value(part) for part in element}
    level = _whole(said.get("ilvl"))
    return ParagraphNumbering(said.get("numId"), level if level is None or level < _LEVELS else None)


def _styled(styles: etree._Element) -> tuple[dict[str, ParagraphNumbering], dict[str, str]]:
    """What each style says of its number, and the style that it is based on."""
    places: dict[str, ParagraphNumbering] = {}
    parents: dict[str, str] = {}
    for style in styles:
        name = value(style, "styleId")
        for part in style if name else ():
            if local(part.tag) == "basedOn":
                parents[name or ""] = value(part) or ""
            for setting in part if local(part.tag) == "pPr" else ():
                if local(setting.tag) == "numPr":
                    places[name or ""] = place_of(setting)
    return places, parents


def _lists(numbering: etree._Element, by_style: dict[str, ParagraphNumbering]) -> dict[str, _List]:
    forms = {value(part, "abstractNumId") or "": part for part in _named(numbering, "abstractNum")}
    form_ids = {
        value(part, "numId") or "": next((value(one) or "" for one in _named(part, "abstractNumId")), "")
        for part in _named(numbering, "num")
    }
    levels = {name: _levels(form) for name, form in forms.items()}
    lists: dict[str, _List] = {}
    for part in _named(numbering, "num"):
        name = value(part, "numId") or ""
        form_id = form_ids[name]
        for link in _named(forms[form_id], "numStyleLink") if form_id in forms else ():
            linked = by_style.get(
                value(link) or "", ParagraphNumbering()
            ).list_id  # a style of lists says which form it has
            form_id = form_ids.get(linked or "", form_id)
        one = _List(form_id, dict(levels.get(form_id, {})))
        for override in _named(part, "lvlOverride"):
            _override(one, override)
        lists[name] = one
    return lists


def _override(one: _List, override: etree._Element) -> None:
    level = _whole(value(override, "ilvl"))
    if level is None:
        return
    one.levels.update(_levels(override))
    for start in _named(override, "startOverride"):
        number = _whole(value(start))
        if number is not None:
            one.starts = {**one.starts, level: number}


def _levels(form: etree._Element) -> dict[int, _Level]:
    levels: dict[int, _Level] = {}
    for part in _named(form, "lvl"):
        number = _whole(value(part, "ilvl"))
        if number is None or number >= _LEVELS:
            continue
        level = levels[number] = _Level()
        for setting in part:
            _set(level, local(setting.tag), value(setting))
    return levels


def _set(level: _Level, name: str, said: str | None) -> None:
    if name == "start":
        level.start = _whole(said) or 0
    elif name == "numFmt":
        level.form = said or "decimal"
    elif name == "lvlText":
        level.text = said or ""
    elif name == "isLgl":
        level.legal = said not in ("0", "false", "off")
    elif name == "lvlRestart":
        level.restarts = _whole(said)
    elif name == "pStyle":
        level.style = said


def _named(element: etree._Element, name: str) -> Iterator[etree._Element]:
    return (part for part in element if local(part.tag) == name)


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 6 else None
