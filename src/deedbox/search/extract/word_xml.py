"""XML as an office document may hold it: without a document type, and with names in either of two namespaces."""

from lxml import etree

from deedbox.kernel.errors import BadRequest

WORD = "Word document"


def damage_error(noun: str) -> str:
    return f"This {noun} is damaged and cannot be read. Save it again from the program that created it."


DAMAGED = damage_error(WORD)


def parse(xml: bytes, noun: str = WORD) -> etree._Element:
    """The root of a small part; XMLSyntaxError if it is broken."""
    root = etree.fromstring(xml, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    refuse_document_type(root, noun)
    return root


def refuse_document_type(element: etree._Element, noun: str = WORD) -> None:
    """BadRequest if the part declares entities: the format forbids it, so they are there to do harm."""
    if element.getroottree().docinfo.doctype:
        raise BadRequest(damage_error(noun))


def local(tag: object) -> str:
    """The name of an element or attribute without its namespace: there are two, strict and transitional."""
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def value(element: etree._Element, name: str = "val") -> str | None:
    """The attribute of that name."""
    return next((str(text) for key, text in element.attrib.items() if local(key) == name), None)
