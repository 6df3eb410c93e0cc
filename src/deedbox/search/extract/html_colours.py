"""Text of a page in the colour of its background.

Colours are followed through the page's own style sheets and style attributes. Where either colour is not known (a
picture, a gradient, a sheet elsewhere, an element that lies over others), the text counts as visible."""

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from PIL import ImageColor
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from deedbox.search.extract.contrast import OPAQUE, WHITE, Colour, is_unseen
from deedbox.search.limits import (
    HTML_COLOUR_CHARS,
    HTML_COLOUR_MATCHES,
    HTML_COLOUR_RULES,
    HTML_COLOUR_STEPS,
    HTML_DEPTH,
)

BLACK: Colour = (0, 0, 0)
_DECLARATION = re.compile(r"([a-z-]{1,30})\s{0,9}:([^;]{0,500})")
_RELEVANT = re.compile(
    r"(?:^|[;\s])(?:color|background|position|text-shadow|mix-blend-mode|filter)[a-z-]{0,20}\s{0,9}:", re.I
)
_COLOURED = re.compile(r"(?<![a-z-])color\s{0,9}[:=]", re.IGNORECASE)
_ELSEWHERE = re.compile(r"<link[^>]{0,500}stylesheet|@import", re.IGNORECASE)
_PSEUDO = re.compile(r":(?:hover|focus|active|visited|target|before|after|:)", re.IGNORECASE)
_ID, _CLASS = re.compile(r"#[\w-]"), re.compile(r"\.[\w-]|\[|:(?!:)")
_TYPE = re.compile(r"(?:^|[\s>+~])[a-z]", re.IGNORECASE)
_OVER = ("absolute", "fixed", "sticky")
_OWN_COLOURS = {"a", "button", "input", "select", "option", "textarea", "mark"}
"""Elements whose colours a browser sets."""
_TABLES = {"table", "tr", "td", "th", "tbody", "thead", "tfoot", "body"}
Style: TypeAlias = dict[str, str]


class Shade(NamedTuple):
    """The colour of a text, with its opacity, and that of what lies behind it; None where it is not known."""

    text: Colour | None = BLACK
    alpha: int = OPAQUE
    behind: Colour | None = WHITE

    @property
    def hides(self) -> bool:
        known = self.text is not None and self.behind is not None
        return known and is_unseen(self.text or BLACK, self.behind or WHITE, self.alpha)


class Colours:
    """The colours that a page's rules and attributes give to its elements."""

    def __init__(self, page: LexborHTMLParser, text: str, rules: Iterable[tuple[str, str]]) -> None:
        self._styles: dict[int, Style] = {}
        self._layered = set[int]()
        """Elements in which others lie over one another, so that it is not known what is behind a text."""
        self.matter = _COLOURED.search(text) is not None
        self._first = Shade(behind=None if _ELSEWHERE.search(text) else WHITE)
        if self.matter:
            named = [(each, style) for each, style in rules if _RELEVANT.search(style)]
            self._apply(page, [(one.strip(), style) for each, style in named for one in each.split(",")], text)
            self._find_layers(page)

    def first(self) -> Shade:
        """What holds for the page before anything is said."""
        return self._first

    def of(self, node: LexborNode, tag: str, around: Shade) -> Shade:
        """The colours of the element's own text."""
        attributes = node.attributes
        own = self._styles.get(node.mem_id)
        written = attributes.get("style")
        if own is None and not attributes and tag not in _OWN_COLOURS and node.mem_id not in self._layered:
            return around
        style = {**(own or {}), **(declared_colour(written) if written else {})}
        if tag in _OWN_COLOURS:
            around = Shade(None, OPAQUE, None if tag != "a" else around.behind)
        if node.mem_id in self._layered or style.get("position") in _OVER:
            around = around._replace(behind=None)
        return _text(_background(around, style, attributes, tag), style, attributes, tag)

    def _apply(self, page: LexborHTMLParser, rules: list[tuple[str, str]], text: str) -> None:
        """Give each element what the rules say of it, the most specific last."""
        steps = len(rules) * text.count("<")
        if len(rules) > HTML_COLOUR_RULES or steps > HTML_COLOUR_STEPS:
            self.matter = False  # with half of the rules, a colour would be a guess
            return
        matches = 0
        for selector, style in sorted(rules, key=lambda each: _specificity(each[0])):
            if _PSEUDO.search(selector):
                continue
            with suppress(SelectolaxError, ValueError):
                said = declared_colour(style)
                for node in page.css(selector):
                    self._styles.setdefault(node.mem_id, {}).update(said)
                    matches += 1
            if matches > HTML_COLOUR_MATCHES:
                self.matter = False
                return

    def _find_layers(self, page: LexborHTMLParser) -> None:
        lifted = [node for node in page.css("[style]") if "position" in (node.attributes.get("style") or "")]
        by_rule = any(style.get("position") in _OVER for style in self._styles.values())
        for node in [*lifted, *(page.css("*") if by_rule else [])]:
            style = {**self._styles.get(node.mem_id, {}), **declared_colour(node.attributes.get("style") or "")}
            above, steps = node.parent, 0
            while style.get("position") in _OVER and above is not None and steps < HTML_DEPTH:
                if above.mem_id in self._layered:
                    break
                self._layered.add(above.mem_id)
                if "position" in self._styles.get(above.mem_id, {}) or "position" in (
                    above.attributes.get("style") or ""
                ):
                    break
                above, steps = above.parent, steps + 1


def declared_colour(style: str) -> Style:
    """The properties of a rule or a style attribute; of two, what comes last counts, and what is important."""
    found, important = Style(), set[str]()
    for name, value in _DECLARATION.findall(style.lower()):
        is_important = "!important" in value
        if is_important or name not in important:
            found[name] = value.replace("!important", "").strip()
        important |= {name} if is_important else set()
    return found


def _background(around: Shade, style: Style, attributes: dict[str, str | None], tag: str) -> Shade:
    said = style.get("background-color") or style.get("background")
    if said is None and tag in _TABLES:
        said = attributes.get("bgcolor")
    picture = attributes.get("background") if tag in _TABLES else None
    if picture or any(name in style for name in ("background-image", "mix-blend-mode", "filter", "background-clip")):
        picture = picture or style.get("background-image", "unknown")
    if picture and picture != "none":
        return around._replace(behind=None)
    if said is None or said in ("none", "transparent", "inherit", "initial", "unset"):
        return around
    colour = _colour(said)
    return around._replace(behind=colour[:3] if colour and colour[3] == OPAQUE else None)


def _text(shade: Shade, style: Style, attributes: dict[str, str | None], tag: str) -> Shade:
    if "text-shadow" in style or "-webkit-text-stroke" in style:
        return shade._replace(text=None)
    said = style.get("color") or (attributes.get("color") if tag == "font" else None)
    said = said or (attributes.get("text") if tag == "body" else None)
    if said is None or said in ("inherit", "currentcolor", "unset"):
        return shade
    colour = _colour(said)
    return shade._replace(text=colour[:3] if colour else None, alpha=colour[3] if colour else OPAQUE)


def _colour(said: str) -> tuple[int, int, int, int] | None:
    """The colour with its opacity; None if it cannot be told."""
    if said == "transparent":
        return (*BLACK, 0)
    try:
        colour = ImageColor.getrgb(_rgb(said)) if len(said) <= HTML_COLOUR_CHARS else ()
    except ValueError:
        return None
    if len(colour) == 3:
        return (colour[0], colour[1], colour[2], OPAQUE)
    return (colour[0], colour[1], colour[2], colour[3]) if len(colour) == 4 else None


def _rgb(said: str) -> str:
    """rgb() and rgba() with opacity from 0 to 1, as the library writes them with whole numbers."""
    if not said.startswith("rgb"):
        return said
    parts = re.findall(r"[\d.]{1,9}%?", said)
    if len(parts) not in (3, 4):
        raise ValueError(said)
    sizes = [OPAQUE] * 3 + [1]
    values = [
        float(one[:-1]) / 100 if one.endswith("%") else float(one) / size
        for one, size in zip(parts, sizes, strict=False)
    ]
    whole = [round(min(one, 1) * OPAQUE) for one in values]
    return f"{'rgba' if len(whole) == 4 else 'rgb'}({','.join(map(str, whole))})"


def _specificity(selector: str) -> tuple[int, int, int]:
    return len(_ID.findall(selector)), len(_CLASS.findall(selector)), len(_TYPE.findall(selector))
