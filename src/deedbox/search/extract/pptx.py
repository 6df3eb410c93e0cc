"""A presentation slide by slide: titles as headings, lists, tables, diagrams, and the notes of the speaker."""

from collections.abc import Iterator

from lxml import etree

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import drawing
from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.package import OfficePackage, open_package
from deedbox.search.extract.text import TextBuilder
from deedbox.search.extract.word_xml import local, parse, value
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import SLIDES

_NOUN = "presentation"
_NO_SLIDES = "a ZIP archive that is not a presentation"
_TITLES = ("title", "ctrTitle")
_OF_EVERY_SLIDE = ("sldNum", "dt", "ftr", "hdr")


def read(data: bytes) -> Extraction:
    with open_package(data, _NOUN) as package:
        return _read_slides(package)


def _read_slides(package: OfficePackage) -> Extraction:
    main = next(iter(package.related("", "officeDocument")), "ppt/presentation.xml")
    xml = package.read(main)
    root = parse(xml, _NOUN) if xml else None
    if root is None or "presentationml" not in str(root.tag):
        raise wrong_kind("pptx", _NO_SLIDES)
    related = package.relations(main)
    slides = [related[key][1] for element in root.iter("{*}sldId") if (key := _relation(element)) in related]
    if len(slides) > SLIDES:
        raise BadRequest(f"This presentation has more than {SLIDES:,} slides. Split it into parts.")
    draft, starts = TextBuilder(), []
    for name in slides:
        parts = _parts(package, name)
        if parts and value(parts[0], "show") in ("0", "false"):
            draft.hide(sum(len(text) for root in parts for text, _ in _blocks(root)))
            continue
        starts.append(draft.length)
        for root in parts:
            _write(draft, root)
    return draft.finish(starts)


def _relation(element: etree._Element) -> str:
    """The relation's name: the only `id` of the element that has a namespace."""
    return next((str(name) for key, name in element.attrib.items() if local(key) == "id" and "}" in key), "")


def _parts(package: OfficePackage, name: str) -> list[etree._Element]:
    """The slide with its diagrams and the notes of the speaker."""
    names = (name, *package.related(name, "diagramData"), *package.related(name, "notesSlide"))
    return [parse(xml, _NOUN) for part in names if (xml := package.read(part))]


def _is_hidden(shape: etree._Element) -> bool:
    return any(value(one, "hidden") in ("1", "true") for part in shape[:1] for one in part.iter("{*}cNvPr"))


def _write(draft: TextBuilder, root: etree._Element) -> None:
    for shape in [shape for shape in root.iter("{*}sp", "{*}graphicFrame", "{*}grpSp") if _is_hidden(shape)]:
        draft.hide(sum(len(drawing.line(paragraph)) for paragraph in shape.iter("{*}p")))
        if (parent := shape.getparent()) is not None:
            parent.remove(shape)
    for text, is_title in _blocks(root):
        if is_title:
            draft.head(text)
        draft.add(text + "\n")


def _blocks(root: etree._Element) -> Iterator[tuple[str, bool]]:
    """The lines of a slide in the order of the file: paragraphs, and tables row by row."""
    for element in root.iter("{*}tr", "{*}p"):
        if local(element.tag) == "tr":
            cells = [" ".join(" ".join(map(drawing.line, cell.iter("{*}p"))).split()) for cell in element.iter("{*}tc")]
            text, title = " | ".join(cells) if any(cells) else "", False
        elif next(element.iterancestors("{*}tr"), None) is not None:
            continue
        else:
            text, place = drawing.line(element), _placeholder(element)
            if place in _OF_EVERY_SLIDE:
                continue
            title = place in _TITLES
        if text:
            yield text, title


def _placeholder(paragraph: etree._Element) -> str | None:
    shape = next(paragraph.iterancestors("{*}sp"), None)
    mark = None if shape is None else next(shape.iter("{*}ph"), None)
    return None if mark is None else value(mark, "type")
