"""Small files that ask a verifier for much work: each makes a count large that costs time each."""

import hashlib
import zlib
from collections.abc import Callable, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from deedbox.pdf.seal import cms
from deedbox.pdf.seal.cms import CmsSigner
from tests.pdf.pki import DER, ISSUED, YEAR, Authority

_PAGES = [b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"]
_SIGNATURE = (
    b"<< /Type /Sig /Filter /Adobe.PPKLite /SubFilter /ETSI.CAdES.detached"
    b" /ByteRange [0 %09d %09d %09d] /Contents <%b> >>"
)


def byte_ranges(count: int = 1300) -> bytes:
    """A damaged file with so many byte ranges about one signature."""
    head, digits = b"%PDF-1.7\n", _signer().signed_data(cms.DATA, None, bytes(32)).hex().encode()
    end = len(head) + len(digits) + 2
    ranges = b"".join(b"/ByteRange [0 %d %d %d]\n" % (len(head), end, 100 + one) for one in range(count))
    return head + b"<" + digits + b">" + ranges


def field_tree(depth: int = 22) -> bytes:
    """Each field has the next one as its child twice."""
    fields = [b"<< /T (a) /Kids [%d 0 R %d 0 R] >>" % (number + 1, number + 1) for number in range(4, 4 + depth)]
    value = 4 + depth + 1
    signature = b"<< /Type /Sig /Filter /A /ByteRange [0 1 2 3] /Contents <00> >>"
    return _pdf([_catalog([4]), *_PAGES, *fields, b"<< /FT /Sig /T (x) /V %d 0 R >>" % value, signature])


def signatures(count: int = 400) -> bytes:
    """So many fields with one and the same signature."""
    return _signed(_signer(), count)


def certificates(count: int = 250) -> bytes:
    """A signature with so many certificates of one name, none of which issued another."""
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(count)]
    return _signed(_signer([_certificate("Same", "Same", key, key, number) for number, key in enumerate(keys, 1)]))


def issuers(count: int = 9) -> bytes:
    """A signature with so many certificates, each of which issued each other."""
    key = ec.generate_private_key(ec.SECP256R1())
    ring = [_certificate("Ring", "Ring", key, key, number) for number in range(1, count + 1)]
    leaf = _certificate("Leaf", "Ring", key, key, count + 1)
    signer = CmsSigner(key, leaf)
    signer._certificates = cms._carried({leaf, *ring})
    return _signed(signer)


def objects(count: int = 20_000_000) -> bytes:
    """A table of so many objects in a few kilobytes."""
    return _table(b"[1 1 1]", count, bytes(3 * count))


def objects_of_nothing(count: int = 900_000_000) -> bytes:
    """A table of so many objects in no bytes."""
    return _table(b"[0 0 0]", count, b"")


BOMBS: dict[str, Callable[[], bytes]] = {
    one.__name__: one
    for one in (byte_ranges, field_tree, signatures, certificates, issuers, objects, objects_of_nothing)
}


def _signer(others: Sequence[bytes] = ()) -> CmsSigner:
    authority = Authority("Bomb")
    made = CmsSigner(authority.seal.key, authority.seal.der)
    made._certificates = cms._carried({authority.seal.der, *others})
    return made


def _certificate(
    name: str, issuer: str, key: ec.EllipticCurvePrivateKey, issuing: ec.EllipticCurvePrivateKey, number: int
) -> bytes:
    builder = x509.CertificateBuilder().public_key(key.public_key()).serial_number(number)
    builder = builder.subject_name(_name(name)).issuer_name(_name(issuer))
    made = builder.not_valid_before(ISSUED).not_valid_after(ISSUED + YEAR).sign(issuing, hashes.SHA256())
    return made.public_bytes(DER)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _signed(signer: CmsSigner, fields: int = 1) -> bytes:
    """A file with a true signature, to which so many fields lead."""
    room = 2 * len(signer.signed_data(cms.DATA, None, bytes(32))) + 64
    numbers = range(5, 5 + fields)
    written = [b"<< /FT /Sig /T (x%d) /V 4 0 R >>" % number for number in numbers]

    def file(start: int, end: int, size: int, digits: bytes) -> bytes:
        signature = _SIGNATURE % (start, end, size - end, digits.ljust(room, b"0"))
        return _pdf([_catalog(numbers), *_PAGES, signature, *written])

    empty = file(0, 0, 0, b"")
    start = empty.index(b"/Contents <") + len(b"/Contents ")
    end = start + room + 2
    draft = file(start, end, len(empty), b"")
    digest = hashlib.sha256(draft[:start] + draft[end:]).digest()
    return file(start, end, len(empty), signer.signed_data(cms.DATA, None, digest).hex().encode())


def _catalog(fields: Sequence[int]) -> bytes:
    named = b" ".join(b"%d 0 R" % number for number in fields)
    return b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [%b] /SigFlags 3 >> >>" % named


def _pdf(objects: Sequence[bytes]) -> bytes:
    data, rows = b"%PDF-1.7\n", b"0000000000 65535 f \n"
    for number, body in enumerate(objects, 1):
        rows += b"%010d 00000 n \n" % len(data)
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    size = len(objects) + 1
    table = b"xref\n0 %d\n%btrailer\n<< /Size %d /Root 1 0 R >>\n" % (size, rows, size)
    return data + table + b"startxref\n%d\n%%%%EOF\n" % len(data)


def _table(widths: bytes, count: int, content: bytes) -> bytes:
    packed = zlib.compress(content, 9)
    head = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    about = b"/Type /XRef /Size %d /W %b /Index [5 %d] /Root 1 0 R" % (count + 5, widths, count)
    stream = b"4 0 obj\n<< %b /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream\nendobj\n"
    return head + stream % (about, len(packed), packed) + b"startxref\n%d\n%%%%EOF\n" % len(head)
