"""The metadata of a file: told in one place, and without a claim that marks and a seal would make untrue."""

from collections.abc import Iterator
from typing import Any

import pikepdf
from lxml import etree
from pikepdf import Dictionary

from deedbox.kernel import limits as shared_limits
from deedbox.pdf import limits

_CLAIMS = (
    "http://www.aiim.org/pdfa/ns/id/",
    "http://www.aiim.org/pdfua/ns/id/",
    "http://www.aiim.org/pdfe/ns/id/",
    "http://www.npes.org/pdfx/ns/id/",
    "http://www.npes.org/pdfvt/ns/id/",
)
"""The namespaces in which a file says that it keeps to PDF/A, PDF/UA, PDF/E, PDF/X or PDF/VT."""
_CLAIMS_IN_INFO = ("/GTS_PDFXVersion", "/GTS_PDFXConformance", "/ISO_PDFEVersion")
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_SAME = {
    "/Title": f"{_DUBLIN_CORE}title",
    "/Author": f"{_DUBLIN_CORE}creator",
    "/Subject": f"{_DUBLIN_CORE}description",
    "/Keywords": "{http://ns.adobe.com/pdf/1.3/}Keywords",
    "/Creator": "{http://ns.adobe.com/xap/1.0/}CreatorTool",
    "/Producer": "{http://ns.adobe.com/pdf/1.3/}Producer",
}
"""What Info and XMP both tell."""

CLAIM = "its claim to keep to a standard such as PDF/A, which marks and a seal would make untrue"


def settle(pdf: pikepdf.Pdf) -> tuple[str, ...]:
    """Takes out XMP, of which Info keeps what it did not have: two sources could contradict each other.

    What comes back names the claim that was in it, for the sender."""
    info = pdf.trailer.get("/Info")
    claims = [name for name in _CLAIMS_IN_INFO if isinstance(info, Dictionary) and name in info]
    for name in claims:
        del pdf.trailer.Info[name]
    xmp = pdf.Root.get("/Metadata")
    if xmp is not None:
        del pdf.Root["/Metadata"]
    data = _read(xmp)
    for name, text in _told(data):
        if name not in pdf.docinfo:
            pdf.docinfo[name] = text
    return (CLAIM,) if claims or any(claim.encode() in data for claim in _CLAIMS) else ()


def _read(xmp: Any) -> bytes:
    if not isinstance(xmp, pikepdf.Stream) or len(xmp.read_raw_bytes()) > limits.XMP_BYTES:
        return b""
    try:
        data = bytes(xmp.read_bytes())
    except pikepdf.PdfError:
        return b""
    # Its markup is ASCII in every encoding that it may have.
    return data.replace(b"\0", b"") if b"\0" in data[:8] else data


def _told(data: bytes) -> Iterator[tuple[str, str]]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(data.strip(), parser) if data.strip() else None
    except (etree.XMLSyntaxError, ValueError):
        return
    for description in root.iter(f"{_RDF}Description") if root is not None else ():
        for name, tag in _SAME.items():
            element = description.find(tag)
            told = description.get(tag) if element is None else "; ".join(_texts(element))
            if text := " ".join((told or "").split())[: shared_limits.TITLE_CHARS]:
                yield name, text


def _texts(element: Any) -> list[str]:
    """The text of the element, or of each item of the list that is in it."""
    items = list(element.iter(f"{_RDF}li"))
    return [text for one in items or [element] if (text := "".join(one.itertext()).strip())]
