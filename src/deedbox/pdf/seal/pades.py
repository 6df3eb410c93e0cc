"""The seal of a finished document: PAdES, one revision with its validation data, and no change allowed after it.

A sandbox prepares the file and leaves a gap; the server, which holds the key, makes the bytes for the gap."""

import hashlib
import re
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.seal import cms
from deedbox.pdf.seal import pdf_values as notation
from deedbox.pdf.seal.cms import CmsSigner, DistantKey, PrivateKey
from deedbox.pdf.seal.timestamp import Timestamper

if TYPE_CHECKING:
    from deedbox.pdf.seal.revision import Opened, Revision

FIELD = "Seal"
PRIVATE = "/Deedbox"
"""The entry of the signature dictionary: `/Document`, `/Part`, `/Audit`, `/Timestamp` say what is sealed, and how."""
_SUB_FILTER = b"/ETSI.CAdES.detached"
_NO_CHANGES = (
    b"[<< /Type /SigRef /TransformMethod /DocMDP /TransformParams << /Type /TransformParams /P 1 /V /1.2 >> >>]"
)
_RANGE_DIGITS = 12
_VERSION = re.compile(r"(\d)\.(\d)")


Expected: TypeAlias = Literal["own", "any", "none"]
"""The time-stamp that a seal says it has: of the server's own unit at the very time that the seal tells, of whichever
authority (or the own one, made as before), or none. It stands under the signature, so that nobody takes it away."""


Part: TypeAlias = Literal["document", "certificate"]
"""What of a document is sealed: itself, or its certificate of completion, so that one is not taken for the other."""


class SealParameters(msgspec.Struct, frozen=True, kw_only=True):
    """What a seal is to say, how much room its signature needs, and what is needed to verify it later."""

    room: int
    signed_at: datetime
    certificates: list[bytes] = []
    crls: list[bytes] = []
    document_id: str = ""
    audit_head: str = ""
    name: str = ""
    reason: str = ""
    location: str = ""
    timestamp: Expected = "own"
    part: Part = "document"


class PreparedSeal(msgspec.Struct, frozen=True):
    """Where the gap is (`contents_at` is the first of its hex digits), and the digest of all the rest.

    The last piece of the prepared file begins with the bracket before the gap."""

    size: int
    contents_at: int
    contents_length: int
    byte_range: tuple[int, int, int, int]
    digest: bytes


class SealIdentity:
    """Who seals: key, certificate, the certificates above it, and the CRLs that cover them all, or none."""

    def __init__(
        self,
        key: PrivateKey | DistantKey,
        certificate_der: bytes,
        chain_ders: Sequence[bytes],
        crl_ders: Sequence[bytes] = (),
    ) -> None:
        self.key = key
        self.certificate_der = certificate_der
        self.chain_ders = tuple(chain_ders)
        self.crl_ders = tuple(crl_ders)

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.certificate_der).hexdigest()

    @cached_property
    def signer(self) -> CmsSigner:
        return CmsSigner(self.key, self.certificate_der, self.chain_ders)


class PendingSignature:
    """A seal's signature that waits for its time-stamp."""

    def __init__(self, digest: bytes, identity: SealIdentity) -> None:
        self._signer = identity.signer
        self._attributes = self._signer.attributes(cms.DATA, digest)
        self._signature = self._signer.sign(self._attributes)

    @property
    def digest(self) -> bytes:
        """What a time-stamp has to be made for."""
        return hashlib.sha256(self._signature).digest()

    def with_timestamp(self, token: bytes | None) -> bytes:
        """The CMS, with the token if there is one."""
        unsigned = cms.timestamp_attribute(token) if token is not None else b""
        return self._signer.assembled(cms.DATA, None, self._attributes, self._signature, unsigned)


def cms_for(digest: bytes, identity: SealIdentity, timestamper: Timestamper | None, now: datetime) -> bytes:
    """The CMS that signs a prepared file's digest, with a time-stamp made in process."""
    signature = PendingSignature(digest, identity)
    return signature.with_timestamp(timestamper.token(signature.digest, now) if timestamper is not None else None)


def room_for(identity: SealIdentity, token_bytes: int) -> int:
    """How many bytes to keep free for the CMS: as many as it can have at most, never as many as it had before."""
    return identity.signer.most_bytes + token_bytes


def hex_contents(prepared: PreparedSeal, cms_der: bytes) -> bytes:
    """The hex digits to be written at `contents_at`."""
    digits = cms_der.hex().encode()
    if len(digits) > prepared.contents_length:
        raise BadRequest(
            f"The signature has {len(cms_der)} bytes; the file has room for {prepared.contents_length // 2}"
        )
    return digits.ljust(prepared.contents_length, b"0")


def load() -> None:
    """Loads, while a sandbox still may, what `prepare` needs."""
    import deedbox.pdf.seal.revision  # noqa: F401


def prepare(data: bytes, order: SealParameters | dict[str, Any]) -> Generator[bytes, None, PreparedSeal]:
    """Yields the file with its seal, in which only the signature is missing. Only to be run in a sandbox.

    BadRequest if it is no PDF, encrypted, or signed already."""
    # Here and not above: the server process imports this module, and has no use for a PDF library.
    from deedbox.pdf.seal import revision

    wanted = msgspec.convert(order, SealParameters)
    file = revision.open_as_one_revision(data)
    _refuse_signed(file)
    added = revision.Revision(file)
    gap = _add_seal(added, file, wanted)
    tail = bytearray(added.finished())
    size, length = len(file.data) + len(tail), 2 * wanted.room
    span = (0, gap - 1, gap + length + 1, size - (gap + length + 1))
    _write_range(tail, gap - len(file.data), span)
    split = gap - 1 - len(file.data)
    digest = hashlib.sha256(file.data)
    digest.update(tail[:split])
    digest.update(tail[split + length + 2 :])
    for start in range(0, len(file.data), shared_limits.BLOB_CHUNK_BYTES):
        yield file.data[start : start + shared_limits.BLOB_CHUNK_BYTES]
    yield bytes(tail[:split])
    yield bytes(tail[split:])
    return PreparedSeal(size, gap, length, span, digest.digest())


def _add_seal(added: "Revision", file: "Opened", wanted: SealParameters) -> int:
    """Writes every object of the seal, its dictionary last; the offset of the gap in it."""
    from deedbox.pdf.seal import revision

    field, signature = added.reserve(), added.reserve()
    page = file.pdf.pages[0].obj
    entries = revision.entries(page)
    annotations = [*revision.elements(page.get("/Annots")), notation.reference(field)]
    added.add(notation.dictionary({**entries, "/Annots": notation.array(annotations)}), page.objgen)
    _add_field(added, file, field, signature)
    catalog = {
        **revision.entries(file.pdf.Root),
        **_extension(file),
        "/AcroForm": _form(added, file, field),
        "/DSS": _validation_data(added, wanted),
        "/Perms": b"<< /DocMDP %b >>" % notation.reference(signature),
    }
    added.add(notation.dictionary(catalog), file.pdf.Root.objgen)
    head, tail = signature_dictionary(wanted)
    start = added.at + len(b"%d %d obj\n" % signature) + len(head)
    added.add(head + b"0" * (2 * wanted.room) + tail, signature)
    return start


def _add_field(added: "Revision", file: "Opened", field: tuple[int, int], signature: tuple[int, int]) -> None:
    taken = {str(one.get("/T", "")) for one in _fields(file)}
    name = next(name for number in range(1, len(taken) + 2) if (name := _numbered(number)) not in taken)
    widget = {
        "/Type": b"/Annot",
        "/Subtype": b"/Widget",
        "/FT": b"/Sig",
        "/T": notation.text(name),
        "/V": notation.reference(signature),
        "/F": b"132",
        "/Rect": b"[0 0 0 0]",
        "/P": notation.reference(file.pdf.pages[0].obj.objgen),
    }
    added.add(notation.dictionary(widget), field)


def _numbered(number: int) -> str:
    return FIELD if number == 1 else f"{FIELD} {number}"


def _form(added: "Revision", file: "Opened", field: tuple[int, int]) -> bytes:
    """The form with one field more: a reference to it if it had a number, else itself."""
    from deedbox.pdf.seal import revision

    form: Any = file.pdf.Root.get("/AcroForm")
    old = revision.entries(form)
    fields = [*revision.elements(form.get("/Fields") if old else None), notation.reference(field)]
    grown = notation.dictionary({**old, "/Fields": notation.array(fields), "/SigFlags": b"3"})
    return added.add(grown, form.objgen) if old and form.objgen != (0, 0) else grown


def _validation_data(added: "Revision", wanted: SealParameters) -> bytes:
    store = {"/Type": b"/DSS"}
    for key, items in (("/Certs", wanted.certificates), ("/CRLs", wanted.crls)):
        if items:
            store[key] = notation.array([added.add_stream(item) for item in dict.fromkeys(items)])
    return added.add(notation.dictionary(store))


def _extension(file: "Opened") -> dict[str, bytes]:
    """What tells a reader that this form of signature is younger than PDF 1.7, which is demanded too."""
    from deedbox.pdf.seal import revision

    known = revision.entries(file.pdf.Root.get("/Extensions"))
    extensions = {**known, "/ESIC": b"<< /BaseVersion /1.7 /ExtensionLevel 5 >>"}
    match = _VERSION.match(file.pdf.pdf_version)
    older = match is None or (int(match[1]), int(match[2])) < (1, 7)
    return {"/Extensions": notation.dictionary(extensions), **({"/Version": b"/1.7"} if older else {})}


def signature_dictionary(wanted: SealParameters) -> tuple[bytes, bytes]:
    """What stands before the digits of the gap, and after them; the byte range is yet to be written."""
    moment = wanted.signed_at.astimezone(UTC).strftime("D:%Y%m%d%H%M%SZ")
    private = {
        "/Document": wanted.document_id, "/Part": wanted.part, "/Audit": wanted.audit_head,
        "/Timestamp": wanted.timestamp,
    }  # fmt: skip
    shown = {"/Name": wanted.name, "/Reason": wanted.reason, "/Location": wanted.location, "/M": moment}
    head = {
        "/Type": b"/Sig",
        "/Filter": b"/Adobe.PPKLite",
        "/SubFilter": _SUB_FILTER,
        **{key: notation.text(words) for key, words in shown.items() if words},
        PRIVATE: notation.dictionary({key: notation.text(words) for key, words in private.items() if words}),
        "/Reference": _NO_CHANGES,
        "/ByteRange": b"[0%b]" % (b" " * 3 * (_RANGE_DIGITS + 1)),
    }
    return notation.dictionary(head).removesuffix(b" >>") + b" /Contents <", b"> >>"


def _write_range(tail: bytearray, gap: int, span: tuple[int, int, int, int]) -> None:
    """Puts the numbers of the byte range, which are known last, into the space that was left before the gap."""
    numbers = range_digits(span)
    end = gap - len(b"] /Contents <")
    tail[end - len(numbers) : end] = numbers


def range_digits(span: tuple[int, int, int, int]) -> bytes:
    """The byte range but its first zero, in the space that it has."""
    return b"".join(b" %d" % number for number in span[1:]).ljust(3 * (_RANGE_DIGITS + 1))


def _refuse_signed(file: "Opened") -> None:
    if any(field.get("/FT") == "/Sig" and "/V" in field for field in _fields(file)):
        raise BadRequest("The PDF is signed already; another seal would break its signatures")


def _fields(file: "Opened") -> list[Any]:
    """Every field of the form, also those below others."""
    import pikepdf

    form = file.pdf.Root.get("/AcroForm")
    top = form.get("/Fields") if isinstance(form, pikepdf.Dictionary) else None
    waiting: list[Any] = list(top) if isinstance(top, pikepdf.Array) else []
    found: list[Any] = []
    seen: set[tuple[int, int]] = set()
    while waiting and len(found) < limits.FORM_FIELDS:
        field = waiting.pop()
        if not isinstance(field, pikepdf.Dictionary) or (field.objgen != (0, 0) and field.objgen in seen):
            continue
        seen.add(field.objgen)
        found.append(field)
        below = field.get("/Kids")
        waiting += list(below) if isinstance(below, pikepdf.Array) else []
    return found
