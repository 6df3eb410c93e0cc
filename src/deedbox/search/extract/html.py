"""A page of HTML as it reads: blocks on lines of their own, tables row by row, nothing that a browser hides."""

import re
from contextlib import suppress

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.charset import decode
from deedbox.search.extract.html_colours import Colours, Shade, declared_colour
from deedbox.search.extract.html_lines import Lines
from deedbox.search.extract.text import clean
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import HTML_CHARSET_BYTES, HTML_DEPTH, HTML_HIDING_RULES, HTML_TAG_ATTRIBUTES

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})", re.IGNORECASE)
_TEXT = "-text"
_TAG = re.compile(
    r"""<(?:(!--)|(/?)([a-zA-Z][^\s/>]*+)((?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')|=)*+))""",
)
_HIDDEN_STYLE = re.compile(
    r"(?:^|[;{\s])(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}(?:hidden|collapse)"
    r"|opacity\s{0,9}:\s{0,9}0?\.?0{1,9}(?![\d.])|font-size\s{0,9}:\s{0,9}0(?![\d.])"
    r"|(?:text-indent|left|top)\s{0,9}:\s{0,9}-\d{4,9}|clip\s{0,9}:\s{0,9}rect\(\s{0,9}0"
    r"|clip-path\s{0,9}:\s{0,9}inset\(\s{0,9}(?:50|100)%)",
    re.IGNORECASE,
)
_ZERO = re.compile(r"(?:0|0?\.0)(?:\.?0{0,9})[a-z%]{0,4}")
_SIZES = ("height", "max-height", "width", "max-width")
_NO_SCALE = re.compile(
    r"(?:^|\s)scale(?:3d|x|y)?\(\s{0,9}(?:0?\.?0{0,9}\s{0,9}[,)]|[\d.]{1,9}\s{0,9},\s{0,9}0?\.?0{0,9}\s{0,9}[,)])"
)
_HIDING = re.compile(
    r"\shidden|display\s{0,9}:|visibility\s{0,9}:|\srole\s{0,9}=|opacity\s{0,9}:|font-size\s{0,9}:\s{0,9}0"
    r"|:\s{0,9}-\d{4}|clip|overflow|scale",
    re.IGNORECASE,
)
_RULE = re.compile(r"([^{}]{1,500})\{([^{}]{0,5000})\}")
_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_STATEMENT_END, _BRACE = re.compile(r"[{;]"), re.compile(r"[{}]")
_OF_ALL_PAGES = re.compile(r"[*]|(?:html|body)\s*")
"""Selectors that name the page as a whole."""
"""Without a word of this a page hides no element, and no element's attributes need to be looked at."""
_LEADS_ELSEWHERE = {"navigation", "menu", "menubar", "search"}
"""The roles of what leads through a site and is not the page's own."""
_AROUND = {"header", "footer", "aside"}
_LINKS = 3
"""So many links and nothing else, beside the page's text, lead elsewhere too."""
_RAW = {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"}
# These do not nest, or end by themselves.
_FLAT = {
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "html", "head", "body", "p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot",
    "colgroup", "caption", "rt", "rp",
}  # fmt: skip
_DROPPED = {
    "script", "style", "template", "nav", "iframe", "noembed", "noframes", "object", "svg", "canvas", "audio", "video",
    "datalist", "head", "-comment", "annotation", "annotation-xml",
}  # fmt: skip
_OF_FRACTION = {"mn", "mi", "mo", "mtext", "mrow", "msup", "msub", "msqrt", "mfrac", "mstyle"}
"""What a formula can have above and below the line of a fraction."""


def read(data: bytes, *, titled: bool = True) -> Extraction:
    """The page, after its title if that is to be told."""
    declared = _CHARSET.search(data, 0, HTML_CHARSET_BYTES)
    text = clean(decode(data, "html", declared[1].decode("ascii") if declared else None))
    _scan(text)
    page = LexborHTMLParser(text)
    lines = Lines()
    if titled and page.head and (title := page.head.css_first("title")):
        lines.say(title.text())
        lines.end_block()
    if page.body:
        hiding = _HIDING.search(text) is not None
        rules = _rules(page)
        colours = Colours(page, text, rules)
        _walk(page.body, lines, _hidden_by_rules(page, rules) if hiding else set(), colours, hiding=hiding)
    return lines.finish()


def _rules(page: LexborHTMLParser) -> list[tuple[str, str]]:
    """Selectors and style of the page's own style sheets, without rules for some screens or for paper."""
    sheets = "\n".join(node.text() for node in page.css("style"))
    return [(selector.strip(), style) for selector, style in _RULE.findall(_always(_COMMENT.sub("", sheets)))]


def _hidden_by_rules(page: LexborHTMLParser, rules: list[tuple[str, str]]) -> set[int]:
    """The elements that the rules hide, by their places in memory; no rule makes visible what another has hidden."""
    selectors = [selector for selector, style in rules if _hides(style)]
    found = set[int]()
    for selector in selectors[:HTML_HIDING_RULES]:
        if not _OF_ALL_PAGES.fullmatch(selector):
            with suppress(SelectolaxError, ValueError):
                found.update(node.mem_id for node in page.css(selector))
    return found


def _always(sheet: str) -> str:
    """The rules that always hold: without those of @media and the like."""
    kept, at = list[str](), 0
    while (begin := sheet.find("@", at)) >= 0:
        kept.append(sheet[at:begin])
        end = _STATEMENT_END.search(sheet, begin)
        at, depth = end.end() if end else len(sheet), 1 if end and end.group() == "{" else 0
        while depth and (brace := _BRACE.search(sheet, at)):
            at, depth = brace.end(), depth + (1 if brace.group() == "{" else -1)
        at = len(sheet) if depth else at
    return "".join([*kept, sheet[at:]])


def _scan(text: str) -> None:
    """BadRequest for a page whose nesting or attributes would cost the parser quadratic time."""
    depth, open_tags, at = 0, dict[str, int](), 0
    while tag := _TAG.search(text, at):
        at = tag.end()
        comment, closing, name, rest = tag.groups()
        if comment:
            at = _after(text, "-->", at)
            continue
        name = name.lower()
        if len(rest) > HTML_TAG_ATTRIBUTES and len(rest.split(None, HTML_TAG_ATTRIBUTES)) > HTML_TAG_ATTRIBUTES:
            raise BadRequest(f"A tag of this page has more than {HTML_TAG_ATTRIBUTES:,} attributes")
        if name in _RAW and not closing:
            at = _after(text, f"</{name}", at)
        elif name not in _FLAT and not rest.endswith("/"):
            before = open_tags.get(name, 0)
            open_tags[name] = max(before - 1, 0) if closing else before + 1
            depth += open_tags[name] - before
        if depth > HTML_DEPTH:
            raise BadRequest(f"The elements of this page are nested more than {HTML_DEPTH:,} deep")


def _after(text: str, mark: str, at: int) -> int:
    """Where the mark ends that comes next, in any case; the end of the text if there is none."""
    found = re.compile(re.escape(mark), re.IGNORECASE).search(text, at)
    return found.end() if found else len(text)


def _walk(body: LexborNode, lines: Lines, hidden: set[int], colours: Colours, *, hiding: bool) -> None:
    """Depth first without recursion: hostile pages are deep."""
    node: LexborNode | None = body
    depth, shades = 0, [_around(body, colours)]
    while node is not None:
        child, tag = None, node.tag
        if tag == _TEXT:
            words = node.text_content or ""
            if shades[depth].hides and words.strip():
                lines.hide(len(" ".join(words.split())))
                words = " "
            lines.say(words)
        elif tag is None or tag in _DROPPED:
            pass
        elif hiding and (node.mem_id in hidden or _hidden(node)):
            lines.hide(len(" ".join(node.text().split())))
        elif not _is_apart(node, tag, hiding=hiding):
            if tag in _OF_FRACTION and _is_below(node):
                lines.say("/")
            lines.begin(tag, node)
            child = node.child
            if child is None:
                lines.end(tag)
        if child is not None:
            del shades[depth + 1 :]
            shades.append(colours.of(node, str(tag), shades[depth]) if colours.matter else shades[depth])
            node, depth = child, depth + 1
            continue
        while node is not None and depth and node.next is None:
            node, depth = node.parent, depth - 1
            if node is not None:
                lines.end(str(node.tag))
        node = node.next if node is not None and depth else None


def _around(body: LexborNode, colours: Colours) -> Shade:
    """The colours that the page's root gives to its body."""
    root = body.parent
    return colours.of(root, "html", colours.first()) if colours.matter and root is not None else colours.first()


def _is_below(node: LexborNode) -> bool:
    """Whether this stands below the line of a fraction."""
    above = node.prev
    while above is not None and above.tag == _TEXT:
        above = above.prev
    return above is not None and node.parent is not None and node.parent.tag == "mfrac"


def _is_apart(node: LexborNode, tag: str, *, hiding: bool) -> bool:
    """Whether it leads elsewhere and is not the page's own text."""
    if hiding and (node.attributes.get("role") or "").lower() in _LEADS_ELSEWHERE:
        return True
    return tag in ("ul", "ol") and _leads_elsewhere(node)


def _hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    return bool(attributes) and ("hidden" in attributes or _hides(attributes.get("style") or ""))


def _hides(style: str) -> bool:
    """Whether these declarations hide an element: it is not displayed, is out of sight, or has no size."""
    if _HIDDEN_STYLE.search(style):
        return True
    if "scale" not in style and "overflow" not in style:
        return False
    said = declared_colour(style)
    if _NO_SCALE.search(said.get("transform", "")) or _ZERO.fullmatch(said.get("scale", "").split(" ")[0]):
        return True
    clipped = any(
        said.get(name, "").startswith(("hidden", "clip")) for name in ("overflow", "overflow-x", "overflow-y")
    )
    # What is in the padding shows, as in the usual frame for a film.
    padded = any(name.startswith("padding") and re.search("[1-9]", value) for name, value in said.items())
    return clipped and not padded and any(_ZERO.fullmatch(said.get(name, "")) for name in _SIZES)


def _leads_elsewhere(node: LexborNode) -> bool:
    """Whether this is a list of links in the page's head, foot or margin."""
    above, around = node.parent, False
    while above is not None and not around:
        if above.tag in ("ul", "ol", "main", "article"):  # of a list in a list, the outer one was looked at
            return False
        around, above = above.tag in _AROUND, above.parent
    links = node.css("a") if around else []
    words = "".join(node.text().split()) if len(links) >= _LINKS else ""
    return bool(words) and len("".join("".join(link.text().split()) for link in links)) >= len(words)
