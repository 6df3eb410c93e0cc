"""Which paragraph styles of a Word document are headings, whatever language its Word speaks."""

import re

from lxml import etree

from deedbox.search.extract.word_xml import local, value

_HEADING = re.compile(r"heading ?([1-9])")
_CHAIN = 20
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


def hidden(styles: etree._Element) -> frozenset[str]:
    """The ids of styles whose text is hidden."""
    return frozenset(
        name
        for style in styles
        if (name := value(style, "styleId")) and any(is_hidden(part) for part in style if local(part.tag) == "rPr")
    )


def is_hidden(settings: etree._Element) -> bool:
    """Whether these settings of a run hide its text."""
    return any(local(one.tag) == "vanish" and value(one) not in ("0", "false", "off") for one in settings)


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


def _inherited(name: str, own: dict[str, int | None], parents: dict[str, str]) -> int | None:
    for _ in range(_CHAIN):
        level = own.get(name)
        if level is not None or name not in parents:
            return level
        name = parents[name]
    return None
