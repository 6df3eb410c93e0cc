# mypy: disable-error-code="no-untyped-call"
"""PDFs sealed under the authority of the tests, as the product seals them; and signed by stock pyHanko."""

import io
import random
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import pikepdf
from asn1crypto import crl
from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import PdfTimeStamper, signers
from pyhanko.sign.fields import MDPPerm, SigSeedSubFilter
from pyhanko.sign.timestamps import DummyTimeStamper
from pyhanko.sign.validation.dss import DocumentSecurityStore
from pyhanko_certvalidator.registry import SimpleCertificateStore

from deedbox.pdf.seal import pades as seal
from deedbox.pdf.seal.cms import CmsSigner
from deedbox.pdf.seal.pades import SealIdentity, SealParameters
from deedbox.pdf.seal.timestamp import Timestamper
from tests.pdf.issued import prepared
from tests.pdf.pki import ISSUED, Authority, Holder

SIGNED = ISSUED + timedelta(days=30)


def document(pages: int = 1, text: str = "An agreement", *, filler: int = 0) -> bytes:
    """A plain PDF; filler adds an attachment's worth of bytes that do not shrink."""
    pdf = pikepdf.new()
    for number in range(1, pages + 1):
        page = pdf.add_blank_page(page_size=(595, 842))
        content = f"BT /F1 24 Tf 72 720 Td ({text}, page {number}) Tj ET".encode()
        page.Contents = pdf.make_stream(content)
        font = pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=pdf.make_indirect(font)))
    if filler:
        pdf.attachments["filler.bin"] = random.Random(filler).randbytes(filler)
    out = io.BytesIO()
    pdf.save(out, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.disable)
    return out.getvalue()


def with_dangling_reference(number: int = 900) -> bytes:
    """A PDF whose page shows an object that does not exist."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /XObject << /X %d 0 R >> >> >>" % number,
        b"<< /Length 5 >>\nstream\n/X Do\nendstream",
    ]
    data, offsets = b"%PDF-1.7\n", []
    for place, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (place, body)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(data)
    return data + b"xref\n0 5\n0000000000 65535 f \n" + rows + trailer


def filled_in(data: bytes, number: int = 900) -> bytes:
    """With the object that was missing, in an update that touches nothing else."""
    start = int(re.findall(rb"startxref\s+(\d+)", data)[-1])
    root = re.findall(rb"/Root (\d+) 0 R", data)[-1]
    body = b"<< /Type /XObject /Subtype /Form /BBox [0 0 595 842] /Length 17 >>\nstream\n0 0 595 842 re  f \nendstream"
    added = b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"xref\n%d 1\n%010d 00000 n \n" % (number, len(data))
    trailer = b"trailer\n<< /Size %d /Root %b 0 R /Prev %d >>\n" % (number + 1, root, start)
    return data + added + table + trailer + b"startxref\n%d\n%%%%EOF\n" % (len(data) + len(added))


def form() -> bytes:
    """A PDF with a text field."""
    pdf = pikepdf.open(io.BytesIO(document()))
    field = pdf.make_indirect(
        pikepdf.Dictionary(
            Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.Widget, FT=pikepdf.Name.Tx, T="amount", V="100",
            Rect=[72, 600, 200, 620], P=pdf.pages[0].obj,
        )
    )  # fmt: skip
    pdf.pages[0].Annots = pikepdf.Array([field])
    pdf.Root.AcroForm = pdf.make_indirect(pikepdf.Dictionary(Fields=pikepdf.Array([field])))
    out = io.BytesIO()
    pdf.save(out, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.disable)
    return out.getvalue()


def sealed(
    authority: Authority,
    data: bytes,
    *,
    at: datetime | None = SIGNED,
    signer: Holder | None = None,
    stamper: Holder | None = None,
    validation_data: bool = True,
) -> bytes:
    """The PDF sealed as the product seals it; without a time, without a time-stamp."""
    holder, unit = signer or authority.seal, stamper or authority.timestamper
    by_issuing = holder.certificate.issuer == authority.issuing.certificate.subject
    above = [authority.issuing.der] if by_issuing else []
    identity = SealIdentity(holder.key, holder.der, above)
    timestamper = Timestamper(CmsSigner(unit.key, unit.der))
    order = SealParameters(
        room=seal.room_for(identity, timestamper.most_bytes),
        signed_at=at or SIGNED,
        certificates=[holder.der, authority.issuing.der, authority.timestamper.der, authority.root.der],
        crls=authority.crls if validation_data else [],
        document_id="doc_1",
        audit_head="5e" * 32,
        timestamp="none" if at is None else "own" if stamper is None else "any",
    )
    pieces, place = prepared(data, order)
    made = seal.cms_for(place.digest, identity, timestamper if at else None, at or SIGNED)
    file = bytearray(b"".join(pieces))
    file[place.contents_at : place.contents_at + place.contents_length] = seal.hex_contents(place, made)
    return bytes(file)


def signed(
    authority: Authority,
    data: bytes,
    *,
    at: datetime | None = SIGNED,
    permission: MDPPerm | None = MDPPerm.NO_CHANGES,
    validation_data: bool = True,
) -> bytes:
    """The PDF signed by stock pyHanko, in much the same shape."""
    holder = authority.seal
    writer = IncrementalPdfFileWriter(io.BytesIO(data))
    if validation_data:
        certificates = [one.asn1 for one in (authority.root, authority.issuing, authority.timestamper, holder)]
        DocumentSecurityStore.supply_dss_in_writer(
            writer, sig_contents=None, certs=certificates, crls=authority.asn1_crls
        )
    registry = SimpleCertificateStore()
    registry.register_multiple([authority.issuing.asn1])
    simple = signers.SimpleSigner(holder.asn1, holder.asn1_key, registry)
    metadata = signers.PdfSignatureMetadata(
        field_name="Seal",
        md_algorithm="sha256",
        subfilter=SigSeedSubFilter.PADES,
        certify=permission is not None,
        docmdp_permissions=permission or MDPPerm.FILL_FORMS,
    )
    signer_of_pdf = signers.PdfSigner(metadata, simple, timestamper=None if at is None else timestamper(authority, at))
    return signer_of_pdf.sign_pdf(writer).getvalue()  # type: ignore[no-any-return]


def timestamper(authority: Authority, at: datetime = SIGNED, holder: Holder | None = None) -> DummyTimeStamper:
    used = holder or authority.timestamper
    registry = SimpleCertificateStore()
    registry.register_multiple([authority.root.asn1])
    return DummyTimeStamper(used.asn1, used.asn1_key, registry, fixed_dt=at)


def archived(
    authority: Authority,
    data: bytes,
    at: datetime = SIGNED + timedelta(days=30),
    crls: Sequence[bytes] = (),
    properties: Mapping[str, str] | None = None,
) -> bytes:
    """The sealed file with an archival update: more revocation lists, and a document time-stamp over everything."""
    writer = IncrementalPdfFileWriter(io.BytesIO(data))
    lists = [*authority.asn1_crls, *map(crl.CertificateList.load, crls)]
    DocumentSecurityStore.supply_dss_in_writer(writer, sig_contents=None, crls=lists)
    for key, value in (properties or {}).items():
        info = writer.trailer["/Info"]
        info[key] = generic.pdf_string(value)
        writer.update_container(info)
    return PdfTimeStamper(timestamper(authority, at)).timestamp_pdf(writer, "sha256").getvalue()  # type: ignore[no-any-return]


def with_lists(data: bytes, *crls: bytes) -> bytes:
    """The file with these revocation lists added, as pyHanko does, and no time-stamp; it notes itself at any rate."""
    writer = IncrementalPdfFileWriter(io.BytesIO(data))
    if crls:
        lists = [crl.CertificateList.load(one) for one in crls]
        DocumentSecurityStore.supply_dss_in_writer(writer, sig_contents=None, crls=lists)
    else:
        writer.set_info(writer.add_object(generic.DictionaryObject()))
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def updated(data: bytes, *names: str) -> bytes:
    """The file with an incremental update that sets /Lang; any more interesting update is made by the fault test."""
    writer = IncrementalPdfFileWriter(io.BytesIO(data))
    writer.root["/Lang"] = generic.pdf_string(" ".join(names) or "en")
    writer.update_root()
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
