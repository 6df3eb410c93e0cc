# mypy: disable-error-code="no-untyped-call"
"""Ways to change a sealed PDF, or the audit trail of a document, that must be seen; and the judges to see them."""

import asyncio
import io
import random
import re
import subprocess
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pikepdf
from msgspec import Struct, field
from msgspec.structs import replace
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign.validation import async_validate_pdf_signature
from pyhanko_certvalidator import ValidationContext

from deedbox.authority import issue
from deedbox.evidence import file
from deedbox.evidence.file import Evidence, SealedFileEvidence
from deedbox.pdf.seal import cms, timestamp_again
from deedbox.pdf.seal import pades as seal
from deedbox.pdf.seal.gap import find, traces
from deedbox.pdf.seal.timestamp import Timestamper
from deedbox.pdf.verify import sealed_form
from deedbox.pdf.verify.verify_pdf import verify
from tests.faults.updates import UPDATES, updated
from tests.pdf.pki import Holder
from tests.pdf.sealed import document, form

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
HEAD = "5e" * 32
DETECTED = {"altered", "unexplained"}

Judge = Callable[[bytes], str]


class Office:
    """An installation's certificates, and the seal that the product makes with them."""

    def __init__(self, name: str = "Example") -> None:
        began = NOW - timedelta(days=30)
        self.root = issue.make_root(name, now=began)
        self.issuing = issue.issue_intermediate(self.root, name, None, now=began)
        self.seal = issue.make_seal(self.issuing, name, None, now=began)
        self.timestamp_unit = issue.make_timestamp_unit(self.root, name, None, now=began)
        self.crls = [issue.make_crl(issuer, (), 1, timedelta(days=90), now=NOW) for issuer in (self.root, self.issuing)]
        self.roots = [self.root.der]
        self.identity = seal.SealIdentity(self.seal.key, self.seal.der, [self.issuing.der], self.crls)
        self.timestamper = Timestamper(cms.CmsSigner(self.timestamp_unit.key, self.timestamp_unit.der))

    def holder(self) -> Holder:
        """The root, as an issuer of certificates for anything."""
        return Holder(self.root.certificate, self.root.key)

    def bring(self, other: "Office", *, with_root: bool) -> None:
        """Seals from now on with a certificate from elsewhere, whose chain may end below its root."""
        above = [other.issuing.der, *([other.root.der] if with_root else [])]
        self.identity = seal.SealIdentity(other.seal.key, other.seal.der, above)
        self.roots = [self.root.der, above[-1]]

    def sealed(
        self, pdf: bytes, *, document_id: str = "doc_1", head: str = HEAD, timestamp: seal.Expected = "own"
    ) -> bytes:
        unit = None if timestamp == "none" else self.timestamper
        order = seal.SealParameters(
            room=seal.room_for(self.identity, self.timestamper.most_bytes),
            signed_at=NOW,
            certificates=[
                self.identity.certificate_der,
                *self.identity.chain_ders,
                self.timestamp_unit.der,
                self.root.der,
            ],
            crls=list(self.identity.crl_ders),
            document_id=document_id,
            audit_head=head,
            reason="All parties have signed",
            timestamp=timestamp,
        )
        making = seal.prepare(pdf, order)
        pieces = []
        while True:
            try:
                pieces.append(next(making))
            except StopIteration as end:
                prepared: seal.PreparedSeal = end.value
                break
        digits = seal.hex_contents(prepared, seal.cms_for(prepared.digest, self.identity, unit, NOW))
        whole = bytearray(b"".join(pieces))
        whole[prepared.contents_at : prepared.contents_at + prepared.contents_length] = digits
        return bytes(whole)

    def vouched(self, told: Evidence, pdf: bytes) -> Evidence:
        """The evidence as it is once this file was sealed: it names the file, and the seal's certificate vouches."""
        token = cms.own(sealed_form.read(pdf).cms_der).token or b""
        named = SealedFileEvidence(
            sha256=sha256(pdf).hexdigest(), size_bytes=len(pdf), timestamp_sha256=sha256(token).hexdigest()
        )
        told = replace(told, seal=replace(told.seal, files=[*told.seal.files, named]))
        digest = sha256(file.vouched_bytes(told)).digest()
        return replace(told, signature=b64encode(seal.cms_for(digest, self.identity, None, NOW)).decode())

    def verdict(self, pdf: bytes) -> str:
        return verify(pdf, self.roots, (), "2026-07-01T00:00:00Z").verdict

    def library_alone(self, pdf: bytes) -> str:
        """The seeded bug: what one gets who trusts the library's bottom line."""
        try:
            return asyncio.run(self._bottom_line(pdf))
        except Exception:  # the library refuses broken files with whatever exception comes up
            return "unexplained"

    async def _bottom_line(self, pdf: bytes) -> str:
        from asn1crypto import x509

        reader = PdfFileReader(io.BytesIO(pdf))
        found = [one for one in reader.embedded_signatures if one.sig_object_type == "/Sig"]
        if not found:
            return "unsigned"
        context = ValidationContext(
            trust_roots=[x509.Certificate.load(self.root.der)], moment=NOW, allow_fetching=False
        )
        statuses = [await async_validate_pdf_signature(one, context) for one in found]
        return "authentic" if all(status.bottom_line for status in statuses) else "altered"


def originals(count: int, seed: int = 15) -> Iterator[bytes]:
    """Different PDFs: several pages, a form, object streams, attachments."""
    chance = random.Random(seed)
    for number in range(count):
        kind = number % 4
        if kind == 1:
            yield form()
        elif kind == 2:
            yield _packed(document(1 + number % 7, f"Lease {number}"))
        else:
            yield document(1 + number % 5, f"Deed {number}", filler=chance.randrange(0, 5000) if kind == 3 else 0)


def _packed(data: bytes) -> bytes:
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(data)) as pdf:
        pdf.save(out, object_stream_mode=pikepdf.ObjectStreamMode.generate, linearize=False)
    return out.getvalue()


def flips(data: bytes, count: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """One byte changed at a time: a third in the signature, a third in its padding, a third anywhere else."""
    place = find(data, traces(data)[-1])
    digits = data[place.start + 1 : place.end - 1]
    used = place.start + 1 + len(digits.rstrip(b"0"))
    zones = [(place.start, used), (used, place.end), (0, len(data))]
    for number in range(count):
        begin, end = zones[number % 3]
        at = chance.randrange(begin, end)
        yield f"byte {at} of {len(data)}", data[:at] + bytes([_other(data[at], chance)]) + data[at + 1 :]


def bits(data: bytes, step: int) -> Iterator[tuple[str, bytes]]:
    """One bit of the signature changed at a time, in every so many of its bytes."""
    place = find(data, traces(data)[-1])
    whole = bytes.fromhex(data[place.start + 1 : place.end - 1].decode())
    for at in range(0, len(whole.rstrip(b"\0")), step):
        changed = _with(whole, at, bytes([whole[at] ^ 1 << at % 8]))
        yield f"bit {at % 8} of byte {at} of the signature", _with(data, place.start + 1, changed.hex().encode())


def _other(byte: int, chance: random.Random) -> int:
    letter = chr(byte)
    if letter.isascii() and letter.isalpha() and chance.random() < 0.3:
        return ord(letter.swapcase())
    return byte ^ 1 << chance.randrange(8) if chance.random() < 0.5 else (byte + chance.randrange(1, 256)) % 256


def attacks(office: Office, data: bytes, other: bytes) -> Iterator[tuple[str, bytes]]:
    """Every other way to make one sealed file say something else; `other` is a second sealed file."""
    for name, change in UPDATES.items():
        yield f"update: {name}", updated(data, change)
        yield f"update with a trusted timestamp: {name}", time_stamped(office, updated(data, change))
    yield from _after_the_end(data)
    yield from _signature_attacks(data, other)
    yield from _layouts(data, other)


def _after_the_end(data: bytes) -> Iterator[tuple[str, bytes]]:
    overlay = b"\n999 0 obj\n<< /Type /Page >>\nendobj\n"
    start = re.findall(rb"startxref\s+(\d+)", data)[-1]
    yield "junk after EOF", data + b"junk"
    yield "an end of line after EOF", data + b"\n"
    yield "zeros after EOF", data + bytes(100)
    yield "junk and a second EOF", data + b"junk\n%%EOF\n"
    yield "objects without xref", data + overlay
    yield "objects without xref, with EOF", data + overlay + b"startxref\n" + start + b"\n%%EOF\n"
    yield "content object again without xref", data + _content_again(data) + b"%%EOF\n"
    yield "an empty trailer", data + b"trailer\n<< >>\nstartxref\n" + start + b"\n%%EOF\n"
    yield "the whole file twice", data + data


def _content_again(data: bytes) -> bytes:
    with pikepdf.open(io.BytesIO(data)) as pdf:
        number = pdf.pages[0].Contents.objgen[0]
    body = b"BT /F1 24 Tf 72 600 Td (I owe nothing) Tj ET"
    return b"%d 0 obj\n<< /Length %d >>\nstream\n%b\nendstream\nendobj\n" % (number, len(body), body)


def _signature_attacks(data: bytes, other: bytes) -> Iterator[tuple[str, bytes]]:
    """Signatures emptied, wrapped, moved or lent by another file."""
    place = find(data, traces(data)[-1])
    size = place.end - place.start - 2
    foreign = find(other, traces(other)[-1])
    lent = other[foreign.start + 1 : foreign.end - 1][:size].ljust(size, b"0")
    yield "an empty signature", _with(data, place.start + 1, b"0" * size)
    yield "the signature of another file", _with(data, place.start + 1, lent)
    yield "upper-case digits", _with(data, place.start + 1, data[place.start + 1 : place.end - 1].upper())
    yield "one digit in upper case", _one_upper(data, place.start, place.end)
    for name, value in _RANGES.items():
        yield f"byte range {name}", _replaced(data, rb"/ByteRange \[[^\]]*\]", b"/ByteRange " + value)
    yield "no byte range", _replaced(data, rb"/ByteRange", b"/ByteRangX")
    yield "no contents", _replaced(data, rb"/Contents <", b"/Contentz <")
    yield "no form", _replaced(data, rb"/AcroForm", b"/AcroFoam")
    yield "no signature value", _replaced(data, rb"/FT /Sig", b"/FT /Sug")
    yield "another sub filter", _replaced(data, rb"/ETSI.CAdES.detached", b"/adbe.x509.rsa_sha1")
    yield "no DocMDP", _replaced(data, rb"/DocMDP", b"/DocMDQ")
    if data[int(re.findall(rb"startxref\s+(\d+)", data)[-1]) :].startswith(b"xref"):
        yield "wrapped", wrapped(data)


_RANGES = {
    "of nothing": b"[0 0 0 0]", "null": b"null", "negative": b"[0 -1 10 -1]", "of a part": b"[0 100 200 100]",
    "of one pair": b"[0 100]", "too long": b"[0 10 20 99999999]",
}  # fmt: skip


def _layouts(data: bytes, other: bytes) -> Iterator[tuple[str, bytes]]:
    place = find(data, traces(data)[-1])
    yield "something before the header", b"%junk\n" + data
    yield "cut in the middle", data[: len(data) // 2]
    yield "cut before EOF", data[:-6]
    yield "cut in the signature", data[: place.start + 50]
    yield "the signature taken out", data[: place.start] + data[place.end :]
    yield "the first half of another file", other[: len(other) // 2] + data[len(data) // 2 :]


def wrapped(data: bytes) -> bytes:
    """Signature wrapping: what was signed is all there, moved apart, and a new dictionary says where it is now.

    The table of objects is put where the signed end of the file says that it is, and leads to other content."""
    _, size, end, rest = traces(data)[-1]
    table = int(re.findall(rb"startxref\s+(\d+)", data)[-1])
    rows = dict(re.findall(rb"^(\d+) 1\n(\d{10} \d{5} n )$", data[table:], re.MULTILINE))
    trailer = data[data.index(b"trailer", table) : data.index(b"startxref", table)]
    number = re.findall(rb"(\d+) 0 obj\n<< /Type /Sig ", data)[-1]
    with pikepdf.open(io.BytesIO(data)) as pdf:
        content = b"%d" % pdf.pages[0].Contents.objgen[0]
    evil = _content_again(data)
    rows |= {number: b"0" * 10 + b" 00000 n ", content: b"0" * 10 + b" 00000 n "}
    objects_at = table + len(_table(rows, trailer))
    rows |= {content: b"%010d 00000 n " % objects_at, number: b"%010d 00000 n " % (objects_at + len(evil))}
    again = b"%b 0 obj\n<< /Type /Sig /Filter /Adobe.PPKLite /SubFilter /ETSI.CAdES.detached /ByteRange [0 %d %010d %d]"
    rest_of_it = b" /Contents " + data[size:end] + b" >>\nendobj\n%>"
    moved = objects_at + len(evil) + len(again % (number, size, 0, rest)) + len(rest_of_it)
    evil += again % (number, size, moved, rest) + rest_of_it
    return data[:table] + _table(rows, trailer) + evil + data[end:]


def _table(rows: dict[bytes, bytes], trailer: bytes) -> bytes:
    return b"xref\n" + b"".join(b"%b 1\n%b\n" % row for row in sorted(rows.items())) + trailer


def _with(data: bytes, at: int, piece: bytes) -> bytes:
    return data[:at] + piece + data[at + len(piece) :]


def _one_upper(data: bytes, begin: int, end: int) -> bytes:
    at = next(at for at in range(begin + 1, end) if chr(data[at]).isalpha())
    return _with(data, at, data[at : at + 1].upper())


def _replaced(data: bytes, pattern: bytes, text: bytes) -> bytes:
    """The last match overwritten, padded to its length where there is room, so that offsets stay."""
    match = list(re.finditer(pattern, data))[-1]
    return data[: match.start()] + text.ljust(match.end() - match.start()) + data[match.end() :]


def restamped(data: bytes, unit: Timestamper, at: datetime) -> bytes:
    """With another time-stamp in the gap: whoever has the file can ask an authority for one."""
    found = timestamp_again.last_seal(data, 0)
    return _with(data, found.contents_at, found.with_timestamp(unit.token(found.digest, at)))


def time_stamped(office: Office, data: bytes) -> bytes:
    """With a document time-stamp from the installation's own unit, which stamps whatever it is asked to."""
    from asn1crypto import tsp
    from pyhanko.sign import PdfTimeStamper
    from pyhanko.sign.timestamps import TimeStamper

    class InProcess(TimeStamper):
        async def async_request_tsa_response(self, req: tsp.TimeStampReq) -> tsp.TimeStampResp:
            return tsp.TimeStampResp.load(office.timestamper.answer(req.dump(), NOW))

    return PdfTimeStamper(InProcess()).timestamp_pdf(IncrementalPdfFileWriter(io.BytesIO(data)), "sha256").getvalue()  # type: ignore[no-any-return]


class Score(Struct):
    """What a judge saw."""

    tried: int = 0
    missed: list[str] = field(default_factory=list)
    verdicts: dict[str, int] = field(default_factory=dict)

    def judge(self, name: str, verdict: str, expected: set[str]) -> None:
        self.tried += 1
        self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
        if verdict not in expected:
            self.missed.append(f"{name}: {verdict}")

    def line(self, what: str) -> str:
        told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.verdicts.items()))
        return f"R15 {what}: {self.tried} files, {len(self.missed)} wrong ({told})"


def pdfsig_says(path: Path, data: bytes) -> bool | None:
    """Whether pdfsig finds one valid signature about the whole document; None when it finds no signature."""
    path.write_bytes(data)
    told = subprocess.run(["pdfsig", "-nocert", str(path)], capture_output=True, text=True, timeout=60, check=False)
    valid = told.stdout.count("Signature Validation:")
    if not valid or "not yet been verified" in told.stdout:
        return None
    return "Signature is Valid." in told.stdout and "  - Total document signed" in told.stdout
