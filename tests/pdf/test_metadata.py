"""What is told of a file is told once, and is no claim that marks and a seal would break."""

import io

import pikepdf
import pytest
from pikepdf import Dictionary

from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.seal import metadata
from tests.pdf.papers import add_page, drained, lines, saved

XMP = """<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" {namespaces}
 xmp:CreatorTool="Writer">{more}
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Mietvertrag für Łódź</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li><rdf:li>Bob</rdf:li></rdf:Seq></dc:creator>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
CLAIMS = {
    "PDF/A": ('xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/"', "<pdfaid:part>2</pdfaid:part>"),
    "PDF/UA": ('xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/" pdfuaid:part="1"', ""),
    "PDF/X": ('xmlns:pdfxid="http://www.npes.org/pdfx/ns/id/"', "<pdfxid:GTS_PDFXVersion>x</pdfxid:GTS_PDFXVersion>"),
}


def taken(xmp: bytes | None, **info: str) -> tuple[pikepdf.Pdf, tuple[str, ...]]:
    with pikepdf.new() as pdf:
        add_page(pdf, lines("A contract"))
        if xmp is not None:
            pdf.Root["/Metadata"] = pdf.make_stream(xmp)
        if info:
            pdf.trailer["/Info"] = pdf.make_indirect(Dictionary({f"/{name}": text for name, text in info.items()}))
        made, known = drained(intake.take_in(saved(pdf)))
    return pikepdf.open(io.BytesIO(made)), known.removed


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-be"])
@pytest.mark.parametrize("standard", CLAIMS)
def test_a_claim_to_keep_to_a_standard_is_removed_and_named(standard: str, encoding: str) -> None:
    namespaces, more = CLAIMS[standard]
    pdf, removed = taken(XMP.format(namespaces=namespaces, more=more).encode(encoding))
    assert removed == (metadata.CLAIM,)
    assert "/Metadata" not in pdf.Root


def test_a_claim_in_the_older_place_is_removed_too() -> None:
    pdf, removed = taken(None, GTS_PDFXVersion="PDF/X-3:2003", Title="Lease")
    assert removed == (metadata.CLAIM,)
    assert (str(pdf.docinfo["/Title"]), "/GTS_PDFXVersion" in pdf.docinfo) == ("Lease", False)


def test_what_only_xmp_tells_is_kept_and_where_both_tell_it_the_one_that_viewers_show() -> None:
    pdf, removed = taken(XMP.format(namespaces="", more="").encode(), Author="Carl")
    told = {name: str(pdf.docinfo[name]) for name in ("/Title", "/Author", "/Creator")}
    assert told == {"/Title": "Mietvertrag für Łódź", "/Author": "Carl", "/Creator": "Writer"}
    assert removed == ()


@pytest.mark.parametrize(
    "xmp",
    [
        b"", b"<", b"\xff\xfe", b"<a>" * 10_000, b"x" * 2_000_000,
        b'<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><a>&c;&c;&c;</a>',
        b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    ],
)  # fmt: skip
def test_metadata_that_nobody_can_read_is_left_out(xmp: bytes) -> None:
    pdf, removed = taken(xmp)
    assert ("/Metadata" in pdf.Root, removed, "/Title" in pdf.docinfo) == (False, (), False)
