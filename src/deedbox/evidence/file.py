"""The evidence file of a document: canonical JSON that says who signed what and how, and can be checked with no server.

Four things hold it together. Every audit row is tied to those before by its hash. One row's detail has, under
`statement_sha256`, the hash of the statement: the file's `format`, `document`, `parties` and `signers`. And the head
of the chain at the moment of sealing is inside the sealed PDF, under the seal's signature; that PDF begins with the
bytes of the file with its marks. What became of the sealing, the hashes of the sealed file and of its time-stamp, is
younger than the seal: for that, and for everything else, the seal's certificate vouches by the signature. So whoever
trusts the seal can trust each line of this file.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from deedbox.evidence import chain
from deedbox.evidence.canonical import canonical
from deedbox.evidence.canonical import sha256 as canonical_sha256
from deedbox.kernel import limits
from deedbox.kernel.clock import Instant
from deedbox.kernel.errors import BadRequest

FORMAT = "deedbox-evidence/1"
STATEMENT = "statement_sha256"
"""The key of an audit row's detail under which the statement's hash stands."""

Kind: TypeAlias = Literal["typed", "drawn", "uploaded"]
Role: TypeAlias = Literal["signer", "approver", "cc"]
Identity: TypeAlias = Literal["mailed_link", "kept_link", "embedded_link", "in_person", "email_code", "access_code"]
"""How it was checked who acts: by a link mailed to them alone, by one that was kept for the sender to pass on, by the
word of the sender's system, by someone who handed them the device, or by a code."""


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the evidence; a field that the format does not know makes the file unreadable, not ignored."""


class Bytes(Record, frozen=True):
    sha256: str
    size_bytes: int


class EarlierSignatureEvidence(Record, frozen=True):
    """A signature that was in a file when it came; the PDF that the signers saw shows how it looked."""

    kind: Literal["signature", "timestamp"]
    signer: str
    """As its certificate names the signer; whether that certificate is to be trusted was not judged."""
    issuer: str
    signed_at: Instant | None
    """As the signer says."""
    timestamped_at: Instant | None
    """As the time-stamp says."""
    valid: bool
    """It fitted the bytes that it was about, and nothing was done to the file later that it does not allow."""
    covers_entire_file: bool
    problem: str | None
    """Why it was not valid."""


class OriginalEvidence(Record, frozen=True):
    """A file as the sender gave it."""

    id: str
    name: str
    sha256: str
    size_bytes: int
    signatures: list[EarlierSignatureEvidence] = []
    pages: int | UnsetType = UNSET
    """Its pages in the prepared PDF. Evidence from before this was recorded lacks it, as all that may be unset here."""
    removed: list[str] | UnsetType = UNSET
    """What was taken out of it because it could have changed the face of the sealed file."""


class AttachmentEvidence(Record, frozen=True):
    """A file that a signer gave for a field; the marked PDF has its pages behind those of the prepared one."""

    field_id: str
    signer_id: str
    name: str
    sha256: str
    size_bytes: int
    prepared: Bytes
    """The PDF that was made of it."""
    pages: list[int]
    """Those of the marked PDF that are its pages, from 1."""


class FieldEvidence(Record, frozen=True):
    """What a field asked for, so that the values and marks of the signers can be read."""

    id: str
    type: str
    label: str | None
    group: str | None
    """Of a radio button: the question to which its label is an answer."""
    original_id: str
    """The file on which it stands."""
    page: int
    """Of that file, from 1."""


class SenderEvidence(Record, frozen=True):
    """Who asked for the signatures."""

    name: str
    company: str
    email: str | None


class DocumentEvidence(Record, frozen=True):
    id: str
    title: str
    originals: list[OriginalEvidence]
    prepared: Bytes
    """The PDF that the signers saw."""
    marked: Bytes
    """The same with everything that was filled in; the sealed PDF begins with these bytes."""
    attachments: list[AttachmentEvidence] = []
    """What the signers gave, in the order in which it was joined behind the prepared PDF."""
    sender: SenderEvidence | UnsetType = UNSET
    fields: list[FieldEvidence] | UnsetType = UNSET


class PartyEvidence(Record, frozen=True):
    id: str
    name: str
    order: int
    rule: Literal["all", "any", "quorum"]
    quorum: int | None
    status: str


class ConsentEvidence(Record, frozen=True):
    text: str
    sha256: str
    at: Instant


class MarkEvidence(Record, frozen=True):
    """A signer's mark in one signature or initials field."""

    field_id: str
    kind: Kind
    text: str | None
    image_sha256: str | None
    """Of an uploaded signature, or one drawn as an image: the hash of the image as it was kept."""
    strokes_sha256: str | None = None
    """Of a signature that was drawn as strokes: the hash of the file that has them, with their force and time."""
    hand: str | None = None
    """Of a typed signature: the name of the hand in which it is written, if one was chosen."""


class VoucherEvidence(Record, frozen=True):
    """The API key with which the sender's system got the link: whoever holds it vouches for the person."""

    key_id: str
    key_name: str


class Host(Record, frozen=True):
    """Who handed over the device, and so vouches for the person."""

    person_id: str
    name: str


class SignerEvidence(Record, frozen=True):
    id: str
    party_id: str
    name: str
    email: str
    role: Role
    """Of an approver, all that is said of signing is true of approving; a cc does neither."""
    status: str
    delegated_to: str | None
    """The signer who took this one's place."""
    consent: ConsentEvidence | None
    marks: list[MarkEvidence]
    values: dict[str, str]
    """The values that were filled in, by field."""
    identity: Identity | None
    vouched_by: VoucherEvidence | None
    hosted_by: Host | None
    seen_sha256: str | None
    """The prepared PDF, if any page of it was served to this signer."""
    seen_pages: list[int]
    """The pages of it that were, from 1."""
    signed_sha256: str | None
    address: str | None
    user_agent: str | None
    signed_at: Instant | None
    """The server's time."""


class SealedFileEvidence(Record, frozen=True):
    """A file that the document's seal is in: the sealed one, and the same with another time-stamp."""

    sha256: str
    size_bytes: int
    timestamp_sha256: str | None


class SealEvidence(Record, frozen=True):
    files: list[SealedFileEvidence]
    certificates: list[str]
    """PEM, the seal's own first, without the root."""
    root: str


class Evidence(Record, frozen=True):
    format: str
    document: DocumentEvidence
    parties: list[PartyEvidence]
    signers: list[SignerEvidence]
    audit: list[chain.TrailEntry]
    head: str
    seal: SealEvidence
    signature: str
    """Base64 of a detached CMS by which the seal's certificate vouches for all the rest (`vouched_bytes`)."""


_EVIDENCE = msgspec.json.Decoder(Evidence)


def statement_sha256(
    document: DocumentEvidence, parties: Sequence[PartyEvidence], signers: Sequence[SignerEvidence]
) -> str:
    """The hash of the statement: the detail of the last audit row before sealing has it under STATEMENT."""
    return canonical_sha256(_plain({"format": FORMAT, "document": document, "parties": parties, "signers": signers}))


def encode(evidence: Evidence) -> bytes:
    """The evidence file."""
    return canonical(_plain(evidence))


def vouched_bytes(evidence: Evidence) -> bytes:
    """What the signature is about: the evidence file as it is with an empty signature."""
    return encode(msgspec.structs.replace(evidence, signature=""))


def parse(data: bytes) -> Evidence:
    """The content of an evidence file, whether true or not; BadRequest when it is none."""
    if len(data) > limits.EVIDENCE_BYTES:
        raise BadRequest("The evidence file is too large")
    try:
        form = _FORM.decode(data).format
        if form != FORMAT:
            raise BadRequest(f"The evidence file has the format {form!r}; this version reads {FORMAT!r}")
        evidence = _EVIDENCE.decode(data)
        written = encode(evidence)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise BadRequest(f"This is not an evidence file: {error}") from error
    if written != data:
        # A second key of the same name, or another order, would let two readers see two files in one.
        raise BadRequest("The evidence file is not in its canonical form: another program rewrote it")
    return evidence


def problems(evidence: Evidence) -> list[str]:
    """Why the file contradicts itself, in sentences; empty when it does not. Offline, and without the PDF."""
    found = []
    bad = chain.check(evidence.document.id, evidence.audit, evidence.head)
    if bad is not None:
        missing = bad > len(evidence.audit)
        found.append(f"Audit row {bad} is {'missing' if missing else 'not as it was written'}.")
    if evidence.audit and STATEMENT not in evidence.audit[-1].detail:
        found.append("The audit trail goes on after the row that was sealed.")
    if _stated(evidence.audit) != statement_sha256(evidence.document, evidence.parties, evidence.signers):
        found.append("What the file says of the document and its signers is not what the audit trail vouches for.")
    for signer in evidence.signers:
        found += _signer_problems(signer)
    return found


def is_of(evidence: Evidence, pdf: bytes) -> bool:
    """Whether the sealed PDF begins with the file that the evidence names, the one with its marks."""
    marked = evidence.document.marked
    return hashlib.sha256(memoryview(pdf)[: marked.size_bytes]).hexdigest() == marked.sha256


def is_sealed_in(evidence: Evidence, head: str | None) -> bool:
    """Whether the head that a seal has inside is that of this audit trail: its last row, the one with the statement."""
    return head is not None and head == evidence.head and [head] == [entry.hash for entry in evidence.audit[-1:]]


def names(evidence: Evidence, sha256: str, timestamp_sha256: str | None) -> bool:
    """Whether this is a file that was given out with the document's seal, with this time-stamp in it."""
    return (sha256, timestamp_sha256) in [(one.sha256, one.timestamp_sha256) for one in evidence.seal.files]


class _Form(Struct):
    format: str


_FORM = msgspec.json.Decoder(_Form)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _stated(entries: Sequence[chain.TrailEntry]) -> str | None:
    stated = [entry.detail[STATEMENT] for entry in entries if STATEMENT in entry.detail]
    return str(stated[-1]) if stated else None


def _signer_problems(signer: SignerEvidence) -> list[str]:
    consent = signer.consent
    if consent is None:
        return [f"{signer.id} signed without consent."] if signer.signed_at else []
    if hashlib.sha256(consent.text.encode("utf-8")).hexdigest() != consent.sha256:
        return [f"The consent text of {signer.id} is not the one that its hash stands for."]
    return []
