"""The facts of a document whose signers are done, as its certificate and its evidence tell them."""

import hashlib
from typing import Any

import msgspec

from deedbox.authority import issue
from deedbox.evidence import file as proof
from deedbox.evidence.chain import TrailEntry
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.pdf.seal.pades import SealIdentity
from deedbox.signing.action_context import document_of
from deedbox.signing.initials import by_hand
from deedbox.signing.model import Document, Field, Packet, Party, Signer, WorkspaceBrand, attached_pages, first_page
from deedbox.signing.parties import own_fields
from deedbox.signing.store import audit, documents

_ACTS = ("signer.signed", "signer.approved", "signer.declined", "signer.delegated")
"""Of these, a person does one."""
_SHOWN = "document.viewed"
"""The row of a signer who had nothing to fill in the document: it was shown while others of the packet were signed."""


class Facts(msgspec.Struct, frozen=True):
    """Everything that is known of a document whose signers are done."""

    brand: WorkspaceBrand
    packet: Packet
    document: Document
    paper: Blob
    trail: list[TrailEntry]
    attached: list[Blob]
    """The PDFs that are joined behind the paper, in the order of the document's attachments."""


def gather(tx: Tx, workspace_id: str, document_id: str) -> Facts:
    packet, document = document_of(tx, workspace_id, document_id)
    if document.paper_sha256 is None:
        raise NotFound("The document has no file")
    return Facts(
        brand=documents.brand(tx, workspace_id),
        packet=packet,
        document=document,
        paper=blobs.demand(tx, document.paper_sha256),
        trail=audit.trail(tx, document_id),
        attached=[blobs.demand(tx, one.paper_sha256) for one in document.attachments],
    )


def up_to(facts: Facts, head: str) -> Facts:
    """The same with the trail up to the row with this hash: what came after it is not in the seal."""
    rows = [entry.hash for entry in facts.trail].index(head) + 1
    return msgspec.structs.replace(facts, trail=facts.trail[:rows])


class EvidenceStatement(msgspec.Struct, frozen=True):
    """What the evidence says beside the trail, and the hash by which the trail vouches for it."""

    document: proof.DocumentEvidence
    parties: list[proof.PartyEvidence]
    signers: list[proof.SignerEvidence]
    sha256: str


def statement(facts: Facts, marked: Blob) -> EvidenceStatement:
    document = proof.DocumentEvidence(
        id=facts.document.id,
        title=facts.document.title,
        originals=[
            proof.OriginalEvidence(
                id=file.id,
                name=file.name,
                sha256=file.sha256,
                size_bytes=file.size_bytes,
                signatures=[
                    msgspec.convert(one, proof.EarlierSignatureEvidence, from_attributes=True)
                    for one in file.signatures
                ],
                pages=file.pages,
                removed=[*file.removed],
            )
            for file in facts.document.files
        ],
        prepared=proof.Bytes(sha256=facts.paper.sha256, size_bytes=facts.paper.size_bytes),
        attachments=_attachments(facts.document),
        marked=proof.Bytes(sha256=marked.sha256, size_bytes=marked.size_bytes),
        sender=proof.SenderEvidence(
            name=facts.packet.sender, company=facts.packet.company, email=facts.packet.sender_email
        ),
        fields=[
            proof.FieldEvidence(
                id=field.id,
                type=field.type,
                label=field.label,
                group=field.group,
                original_id=field.file_id,
                page=field.page,
            )
            for field in facts.document.fields
        ],
    )
    parties = [
        proof.PartyEvidence(
            id=party.id,
            name=party.name,
            order=party.order,
            rule=party.rule,
            quorum=party.quorum,
            status=party.status,
        )
        for party in facts.packet.parties
    ]
    signers = [_proved(facts, party, as_in(facts, signer)) for party, signer in facts.packet.signers()]
    return EvidenceStatement(document, parties, signers, proof.statement_sha256(document, parties, signers))


def evidence(
    statement: EvidenceStatement,
    facts: Facts,
    files: list[proof.SealedFileEvidence],
    identity: SealIdentity,
    root_pem: bytes,
) -> proof.Evidence:
    """The evidence of the document, with the trail up to the moment of sealing; nobody vouches for it yet."""
    chain = [identity.certificate_der, *identity.chain_ders]
    return proof.Evidence(
        format=proof.FORMAT,
        document=statement.document,
        parties=statement.parties,
        signers=statement.signers,
        audit=facts.trail,
        head=facts.trail[-1].hash,
        seal=proof.SealEvidence(
            files=files,
            certificates=[issue.pem([der]).decode() for der in chain if issue.pem([der]) != root_pem],
            root=root_pem.decode(),
        ),
        signature="",
    )


def act_of(facts: Facts, signer: Signer) -> dict[str, Any]:
    """What the trail tells of the signer's signing, approving, declining, passing it on or being shown it."""
    for entry in facts.trail:
        if entry.act in (*_ACTS, _SHOWN) and entry.actor == signer.id:
            return dict(entry.detail)
    return {}


def shown_at(facts: Facts, signer: Signer) -> str | None:
    """When the document was shown to a signer who had nothing to fill in it; None for all others."""
    return next((entry.at for entry in facts.trail if entry.act == _SHOWN and entry.actor == signer.id), None)


def as_in(facts: Facts, signer: Signer) -> Signer:
    """The signer as far as this document goes: whoever was only shown it has not signed it."""
    if shown_at(facts, signer) is None:
        return signer
    return msgspec.structs.replace(signer, signed_at=None, signature=None, initials=None)


def consent_of(signer: Signer, act: dict[str, Any]) -> proof.ConsentEvidence | None:
    """What the signer or approver agreed to, in the words that were shown."""
    if signer.signed_at is None:
        return None
    text = str(act["consent"])
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    return proof.ConsentEvidence(text=text, sha256=sha256, at=act.get("consented_at", signer.signed_at))


def trail_since(facts: Facts, signer: Signer) -> list[TrailEntry]:
    """The trail since the signer's address is what it is: before it was corrected, someone else had their link."""
    corrected = [
        position
        for position, entry in enumerate(facts.trail)
        if entry.act == "signer.corrected" and entry.detail["signer"] == signer.id and "email" in entry.detail
    ]
    return facts.trail[max(corrected, default=0) :]


def list_seen_pages(facts: Facts, signer: Signer) -> list[int]:
    """The pages of the paper that the signer was served, by what the trail tells."""
    seen = set()
    for entry in trail_since(facts, signer):
        served = entry.act == "signer.page_viewed" and entry.actor == signer.id
        if served and entry.detail["prepared"] == facts.paper.sha256:
            seen.add(first_page(facts.document, str(entry.detail["file"])) + int(entry.detail["page"]))
    return sorted(seen)


def voucher_of(act: dict[str, Any]) -> proof.VoucherEvidence | None:
    """The key whose holder vouches for the signer: the one that made the link by which they came, code or no code."""
    if "key" not in act:
        return None
    return proof.VoucherEvidence(key_id=str(act["key"]["id"]), key_name=str(act["key"]["name"]))


def _attachments(document: Document) -> list[proof.AttachmentEvidence]:
    pages = attached_pages(document)
    return [
        proof.AttachmentEvidence(
            field_id=one.field_id,
            signer_id=one.signer_id,
            name=one.name,
            sha256=one.sha256,
            size_bytes=one.size_bytes,
            prepared=proof.Bytes(sha256=one.paper_sha256, size_bytes=one.paper_bytes),
            pages=[*pages[one.field_id]],
        )
        for one in document.attachments
    ]


def host_of(act: dict[str, Any]) -> proof.Host | None:
    """Who handed over the device on which the signer acted."""
    if "host" not in act:
        return None
    return proof.Host(person_id=str(act["host"]["id"]), name=str(act["host"]["name"]))


def signed_fields(facts: Facts, party: Party, signer: Signer) -> list[Field]:
    """The fields that the signer has filled in: of those of the whole party, what colleagues wrote is not theirs."""
    if signer.signature is None:
        return []
    shared = act_of(facts, signer).get("party_fields", [])
    return [field for field in own_fields(facts.document, party, signer) if not field.party_id or field.id in shared]


def _proved(facts: Facts, party: Party, signer: Signer) -> proof.SignerEvidence:
    act = act_of(facts, signer)
    fields = signed_fields(facts, party, signer)
    pages = list_seen_pages(facts, signer)
    return proof.SignerEvidence(
        id=signer.id,
        party_id=party.id,
        name=signer.name,
        email=signer.email,
        role=signer.role,
        status="shown" if shown_at(facts, signer) else signer.status,
        delegated_to=signer.delegated_to,
        consent=consent_of(signer, act),
        marks=[
            proof.MarkEvidence(
                field_id=field.id,
                kind=made.kind,
                text=made.text,
                hand=made.hand,
                image_sha256=made.image_sha256,
                strokes_sha256=made.strokes_sha256,
            )
            for field in fields
            if field.value == signer.id and (made := by_hand(signer, field.type)) is not None
        ],
        values={
            field.id: field.value
            for field in fields
            if field.value is not None and field.type not in ("signature", "initials")
        },
        identity=signer.identity,
        vouched_by=voucher_of(act),
        hosted_by=host_of(act),
        seen_sha256=facts.paper.sha256 if pages else None,
        seen_pages=pages,
        signed_sha256=facts.paper.sha256 if signer.signed_at else None,
        address=str(act["address"]) if "address" in act else None,
        user_agent=str(act["user_agent"]) if "user_agent" in act else None,
        signed_at=signer.signed_at,  # type: ignore[arg-type]
    )
