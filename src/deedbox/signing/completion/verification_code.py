"""What a verification code stands for: enough to recognise the document, and no address of anyone."""

import unicodedata

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.signing import parties
from deedbox.signing.action_context import document_of
from deedbox.signing.completion import verify_sealed
from deedbox.signing.model import Document, Packet, Role
from deedbox.signing.store import audit, documents, sealed

_GROUP = 4
"""A code is written in groups of so many characters, with hyphens between."""


class VouchedSigner(msgspec.Struct, frozen=True):
    name: str
    """The signer's name."""
    role: Role
    """Whether the person signs or approves."""
    party: str
    """The party's name."""
    status: str
    """How far this person is; `shown` if the person signed others of the packet and had nothing to sign in this one."""
    signed_at: str | None
    """When the person signed; null until then."""


class Vouched(msgspec.Struct, frozen=True):
    """What a verification code stands for: enough to recognise the document, and no address of anyone."""

    code: str
    """The code that was asked for."""
    title: str
    """What the document is called."""
    status: str
    """Where it stands in its life."""
    completed_at: str | None
    """When it was sealed; null until then."""
    sha256: str | None
    """Of the sealed file."""
    earlier_sha256: list[str]
    """Of the same before it got another time-stamp: such a file is authentic too."""
    signers: list[VouchedSigner]
    """Who signs or approves it."""


def by_code(tx: Tx, code: str) -> Vouched:
    """The document with this code; NotFound for a code that was never given to anyone."""
    place = documents.by_verification_code(tx, _as_stored(code))
    packet, document = document_of(tx, *place) if place else (None, None)
    if packet is None or document is None or document.status == "draft":
        raise NotFound("No document has this verification code")
    return _vouched(tx, packet, document)


def _as_stored(typed: str) -> str:
    """The code as it is stored, however it was typed: in either case, with other separators or with none.

    Full-width letters, which some keyboards type, count as the plain ones."""
    plain = "".join(filter(str.isalnum, unicodedata.normalize("NFKC", typed[: limits.TYPED_CODE_CHARS]))).upper()
    return "-".join(plain[at : at + _GROUP] for at in range(0, len(plain), _GROUP))


def of_document(tx: Tx, document_id: str) -> Vouched | None:
    """What the code of this document stands for, for whoever holds the sealed file; None if it has none."""
    code = documents.verification_code(tx, document_id)
    return by_code(tx, code) if code else None


def _vouched(tx: Tx, packet: Packet, document: Document) -> Vouched:
    made, hashes = sealed.find(tx, document.id), verify_sealed.sealed_hashes(audit.trail(tx, document.id))
    sha256 = made.sha256 if made else None
    return Vouched(
        code=document.verification_code or "",
        title=document.title,
        status=document.status,
        completed_at=document.completed_at,
        sha256=sha256,
        earlier_sha256=[one for one in hashes if one != sha256],
        signers=[
            VouchedSigner(signer.name, signer.role, party.name, "shown", None)
            if parties.was_only_shown(packet, document, party, signer)
            else VouchedSigner(signer.name, signer.role, party.name, signer.status, signer.signed_at)
            for party, signer in packet.signers()
            if signer.counts
        ],
    )
