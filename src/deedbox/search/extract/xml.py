"""XML by its elements: a value with its name, a passage with all the text in it, attributes beside them."""

from collections.abc import Iterator

from lxml import etree

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.table import label_values
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.extract.word_xml import local
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import XML_WRITTEN_BYTES

ENTITIES = "This XML file declares entities, which can do harm. Save it without them."


def read(data: bytes) -> Extraction:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise wrong_kind("xml", "not well-formed XML") from error
    subset = root.getroottree().docinfo.internalDTD
    if subset is not None and next(iter(subset.iterentities()), None) is not None:
        raise BadRequest(ENTITIES)
    draft = TextBuilder()
    if len(data) > XML_WRITTEN_BYTES:  # too long to be written with its names in good time
        draft.add(clean("\n".join(filter(None, map(str.strip, root.itertext())))) + "\n")
        return draft.finish()
    for name, line in _lines(root):
        if name == "title":
            draft.head(clean(line.removeprefix("title: ")))
        draft.add(clean(line) + "\n")
    return draft.finish()


def _lines(element: etree._Element) -> Iterator[tuple[str, str]]:
    """The name of each element that has a line, and the line. The parser lets no element lie too deep for this."""
    name = local(element.tag)
    attributes = label_values(map(local, element.keys()), (" ".join(value.split()) for value in element.values()))
    if not len(element) or _is_passage(element):
        text = " ".join("".join(element.itertext()).split())
        if text or attributes:
            yield name, " | ".join(filter(None, [f"{name}: {text}" if text else name, attributes]))
        return
    if attributes:
        yield name, f"{name} | {attributes}"
    for part in element:
        yield from _lines(part)


def _is_passage(element: etree._Element) -> bool:
    """Whether there is text between the elements in it."""
    return bool((element.text or "").strip()) or any((part.tail or "").strip() for part in element)
