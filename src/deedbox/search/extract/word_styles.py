"""Which styles of a Word document are headings, whatever language its Word speaks, and which text its styles hide."""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

from lxml import etree

from deedbox.search.extract.word_xml import local, value
from deedbox.search.limits import WORD_STYLE_CHAIN

_HEADING = re.compile(r"heading ?([1-9])")
_HIDING = ("vanish", "specVanish")
_OFF = ("0", "false", "off")
T = TypeVar("T")
BODY_LEVEL = 10
"""The level of a paragraph that is no heading, where one is written."""


def headings(styles: etree._Element) -> dict[str, int]:
    """The level of each style that is a heading (a title is 0), by the style's id."""
    own: dict[str, int | None] = {}
    parents: dict[str, str] = {}
    for style in styles:
        name = value(style, "styleId")
        if local(style.tag) == "style" and name and value(style, "type") in (None, "paragraph"):
            own[name] = _level(style)
            parents[name] = next((value(part) or "" for part in style if local(part.tag) == "basedOn"), "")
    found = {name: _inherited(name, own, parents) for name in own}
    return {name: level for name, level in found.items() if level is not None and level < BODY_LEVEL}


class HiddenText:
    """Which text is hidden: by its run, by the styles of its run and paragraph, or by the document's defaults.

    Properties of a run come first. Hidden text is a toggle property: within a chain of styles the most derived one
    that sets it counts, and a character style that hides text in a hidden paragraph shows it."""

    def __init__(self, styles: etree._Element | None = None) -> None:
        self._own: dict[str, bool | None] = {}
        self._parents: dict[str, str] = {}
        self._default_names: dict[str, str] = {}
        self._found: dict[str, bool | None] = {}
        self._default = False
        for style in styles if styles is not None else ():
            if local(style.tag) == "docDefaults":
                self._default = any(_hides(_within(part, "rPr")) for part in style)
            elif local(style.tag) == "style" and (name := value(style, "styleId")):
                self._own[name] = _hides(_within(style, "rPr"))
                self._parents[name] = next((value(part) or "" for part in _within(style, "basedOn")), "")
                if value(style, "default") not in (None, *_OFF):
                    self._default_names[value(style, "type") or "paragraph"] = name

    def holds(self, paragraph: str | None, run: etree._Element | None) -> bool:
        """Whether the text of the run, in a paragraph of that style, is hidden."""
        settings = _within(run, "rPr") if run is not None else []
        direct = _hides(settings)
        if direct is not None:
            return direct
        named = next((value(one) for part in settings for one in _within(part, "rStyle")), None)
        levels = [self._of_style(paragraph, "paragraph"), self._of_style(named, "character")]
        return levels.count(True) == 1 if any(one is not None for one in levels) else self._default

    def _of_style(self, name: str | None, kind: str) -> bool | None:
        """What the style or the nearest one that it is based on says; None if none of them says anything."""
        name = name if name in self._own else self._default_names.get(kind, "")
        if name not in self._found:
            self._found[name] = _inherited(name, self._own, self._parents)
        return self._found[name]


def _within(element: etree._Element, name: str) -> list[etree._Element]:
    return [part for part in element if local(part.tag) == name]


def _hides(settings: Iterable[etree._Element]) -> bool | None:
    """Whether these settings of runs hide text; None if they say nothing of it."""
    said = [value(one) not in _OFF for part in settings for one in part if local(one.tag) in _HIDING]
    return any(said) if said else None


def _level(style: etree._Element) -> int | None:
    for part in style:
        if local(part.tag) == "name":
            name = (value(part) or "").lower()
            if name == "title":
                return 0
            if match := _HEADING.fullmatch(name):
                return int(match[1])
        if local(part.tag) == "pPr":
            for setting in part:
                if local(setting.tag) == "outlineLvl":
                    return outline_level(value(setting))
    return None


def outline_level(text: str | None) -> int | None:
    """The heading level for an outline level, which counts from 0."""
    return int(text) + 1 if text and text.isascii() and text.isdigit() and len(text) == 1 else None


def _inherited(name: str, own: Mapping[str, T | None], parents: Mapping[str, str]) -> T | None:
    for _ in range(WORD_STYLE_CHAIN):
        found = own.get(name)
        if found is not None or name not in parents:
            return found
        name = parents[name]
    return None
