"""What a signed document shows: marks on its pages, the lines of its certificate, and the evidence."""

import hashlib
from collections.abc import Mapping

import msgspec

from deedbox.authority import issue
from deedbox.evidence import file as proof
from deedbox.evidence.chain import Entry
from deedbox.kernel.blobs import Blob
from deedbox.pdf.completion import CertifiedEvent, CertifiedFile, CertifiedSigner, Completion
from deedbox.pdf.marks import Mark, Marks, Place
from deedbox.pdf.seal import SealIdentity
from deedbox.signing.acts import CONSENT, Signature, own_fields
from deedbox.signing.document import Document, Field, Party, Seal, Signer, first_page

_SHORT_ID = 8


class Facts(msgspec.Struct, frozen=True):
    """Everything that is known of a document whose signers are done."""

    workspace_id: str
    workspace_name: str
    document: Document
    prepared: Blob
    covers: Mapping[str, str]
    """Of each file, as JSON."""
    signatures: Mapping[str, Signature]
    trail: list[Entry]


class Statement(msgspec.Struct, frozen=True):
    """What the evidence says beside the trail, and the hash by which the trail vouches for it."""

    document: proof.Document
    parties: list[proof.Party]
    signers: list[proof.Signer]
    sha256: str


def marks(facts: Facts, images: Mapping[str, bytes]) -> Marks:
    """What is to be put on the pages."""
    found = [mark for field in facts.document.fields if (mark := _mark(facts, field)) is not None]
    covers = [
        msgspec.structs.replace(cover, page=first_page(facts.document, file_id) + cover.page)
        for file_id, text in facts.covers.items()
        for cover in msgspec.json.decode(text, type=list[Place])
    ]
    return Marks(tuple(found), tuple(covers), dict(images))


def _mark(facts: Facts, field: Field) -> Mark | None:
    if field.value is None:
        return None
    place = Place(first_page(facts.document, field.file_id) + field.page, field.x, field.y, field.w, field.h)
    if field.type not in ("signature", "initials"):
        ticked = field.type != "checkbox" or field.value == "true"
        return Mark(field.type, place, text=field.value) if ticked else None
    # Of a signature, the value is who signed.
    signer = _signers(facts.document)[field.value][1]
    signature = facts.signatures[field.value]
    text = signature.text or ""
    if field.type == "initials":
        text = "".join(word[0] for word in signer.name.split())
    image = signer.id if signature.image_sha256 is not None and field.type == "signature" else ""
    caption = (signer.name, signer.signed_at or "", signer.id[-_SHORT_ID:]) if field.type == "signature" else ()
    return Mark(field.type, place, text="" if image else text, image=image, caption=caption)


def statement(facts: Facts, stamped: Blob) -> Statement:
    document = proof.Document(
        id=facts.document.id,
        title=facts.document.title,
        originals=[
            proof.Original(id=file.id, name=file.name, sha256=file.sha256, size_bytes=file.size_bytes)
            for file in facts.document.files
        ],
        prepared=proof.Bytes(sha256=facts.prepared.sha256, size_bytes=facts.prepared.size_bytes),
        marked=proof.Bytes(sha256=stamped.sha256, size_bytes=stamped.size_bytes),
    )
    parties = [
        proof.Party(
            id=party.id,
            name=party.name,
            order=party.order,
            rule=party.rule,
            quorum=party.quorum,
            status=party.status,
        )
        for party in facts.document.parties
    ]
    signers = [_proved(facts, party, signer) for party, signer in _signers(facts.document).values()]
    return Statement(document, parties, signers, proof.statement_sha256(document, parties, signers))


def evidence(statement: Statement, facts: Facts, head: str, identity: SealIdentity, root_pem: bytes) -> proof.Evidence:
    """The evidence file of the document, with the trail up to the moment of sealing."""
    chain = [identity.certificate_der, *identity.chain_ders]
    return proof.Evidence(
        format=proof.FORMAT,
        document=statement.document,
        parties=statement.parties,
        signers=statement.signers,
        audit=facts.trail,
        head=head,
        seal=proof.Seal(
            certificates=[issue.pem([der]).decode() for der in chain if issue.pem([der]) != root_pem],
            root=root_pem.decode(),
        ),
    )


def completion(facts: Facts, sealed: Blob, seal: Seal, head: str, address: str, now: str) -> Completion:
    """What the certificate of completion tells."""
    document = facts.document
    code = document.verification_code or ""
    return Completion(
        title=document.title,
        document_id=document.id,
        verification_code=code,
        verification_url=f"{address}/api/v1/verify/{code}",
        completed_at=now,
        files=tuple(
            CertifiedFile(file.name, file.pages, file.sha256, sealed.sha256 if not file.position else "")
            for file in document.files
        ),
        signers=tuple(_certified(facts, party, signer) for party, signer in _signers(document).values()),
        events=tuple(_event(entry, document) for entry in facts.trail),
        chain_head=head,
        language=document.language,
        sender_name=facts.workspace_name,
        workspace=facts.workspace_name,
        created_at=document.created_at,
        sent_at=document.sent_at or "",
        seal_level=seal.level,
        seal_certificate=seal.certificate_fingerprint,
        seal_timestamp=now if seal.timestamped else "",
    )


def _signers(document: Document) -> dict[str, tuple[Party, Signer]]:
    return {signer.id: (party, signer) for party in document.parties for signer in party.signers}


def _act(facts: Facts, signer: Signer) -> dict[str, object]:
    """What the trail tells of the signer's signing."""
    for entry in facts.trail:
        if entry.act == "signer.signed" and entry.actor == signer.id:
            return dict(entry.detail)
    return {}


def _proved(facts: Facts, party: Party, signer: Signer) -> proof.Signer:
    signed, act = facts.signatures.get(signer.id), _act(facts, signer)
    fields = own_fields(facts.document, party, signer) if signed else []
    consent = None
    if signed and signer.signed_at:
        sha256 = hashlib.sha256(CONSENT.encode()).hexdigest()
        consent = proof.Consent(text=CONSENT, sha256=sha256, at=signer.signed_at)  # type: ignore[arg-type]
    return proof.Signer(
        id=signer.id,
        party_id=party.id,
        name=signer.name,
        email=signer.email,
        status=signer.status,
        consent=consent,
        marks=[
            proof.Mark(field_id=field.id, kind=signed.kind, text=signed.text, image_sha256=signed.image_sha256)
            for field in fields
            if signed and field.type in ("signature", "initials") and field.value == signer.id
        ],
        values={
            field.id: field.value
            for field in fields
            if field.value is not None and field.type not in ("signature", "initials")
        },
        identity="link" if signer.auth == "none" else signer.auth,
        seen_sha256=facts.prepared.sha256 if signed else None,
        signed_sha256=facts.prepared.sha256 if signed else None,
        address=str(act["address"]) if "address" in act else None,
        user_agent=str(act["user_agent"]) if "user_agent" in act else None,
        signed_at=signer.signed_at,  # type: ignore[arg-type]
    )


def _certified(facts: Facts, party: Party, signer: Signer) -> CertifiedSigner:
    signed, act = facts.signatures.get(signer.id), _act(facts, signer)
    return CertifiedSigner(
        id=signer.id,
        name=signer.name,
        email=signer.email,
        party=party.name,
        identity=signer.auth,
        status=signer.status,
        notified_at=signer.notified_at or "",
        viewed_at=signer.viewed_at or "",
        consented_at=signer.signed_at or "",
        signed_at=signer.signed_at or "",
        address=str(act.get("address", "")),
        user_agent=str(act.get("user_agent", "")),
        signature_text=(signed.text or "") if signed else "",
    )


def _event(entry: Entry, document: Document) -> CertifiedEvent:
    known = {signer.id: signer.name for _, signer in _signers(document).values()}
    told = entry.detail.get("signer")
    actor = known.get(entry.actor, entry.actor)
    detail = known.get(str(told), "") if told is not None else str(entry.detail.get("reason") or "")
    return CertifiedEvent(entry.at, entry.act, actor, detail, str(entry.detail.get("address", "")), entry.hash)
