"""Documents before they are sent: made, edited, deleted."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.blobs import Received
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.pdf.marks import Place
from deedbox.signing import audit, placing, states, store
from deedbox.signing.document import (
    Archive,
    Auth,
    Document,
    FieldType,
    File,
    Message,
    OnDecline,
    Party,
    Reminders,
    Rule,
    Signer,
    Source,
)
from deedbox.signing.found import find
from deedbox.signing.placing import in_order

_CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_CODE_GROUPS = 4


class NewSigner(msgspec.Struct, frozen=True):
    name: str
    email: str
    language: str | None = None
    auth: Auth = "none"
    access_code: str | None = None


class NewParty(msgspec.Struct, frozen=True):
    name: str
    signers: Sequence[NewSigner]
    order: int = 1
    rule: Rule = "all"
    quorum: int | None = None
    on_decline: OnDecline = "decline_document"
    declared: bool = True
    """Whether the request named the party; a lone signer has one that it did not."""


class NewField(msgspec.Struct, frozen=True):
    type: FieldType
    page: int
    x: float
    y: float
    w: float
    h: float
    file: int = 0
    signer: str | None = None
    """The e-mail address of the one who fills it."""
    party: str | None = None
    """Or the name of the party, any of whom does."""
    required: bool = True
    label: str | None = None
    default: str | None = None
    options: Sequence[str] = ()


class TakenFile(msgspec.Struct, frozen=True):
    """A file that was received, and made ready to be stamped and sealed."""

    name: str
    original: Received
    prepared: Received
    sizes: Sequence[tuple[float, float]]
    """Width and height of each page as it is displayed."""
    tags: Sequence[NewField] = ()
    """Fields that the text of the file itself places."""
    places: Sequence[Place] = ()
    """For the signatures of those who have no field."""
    covers: Sequence[Place] = ()
    """Where that text lies, which the stamp hides."""


class NewDocument(msgspec.Struct, frozen=True):
    title: str
    files: Sequence[TakenFile]
    parties: Sequence[NewParty]
    fields: Sequence[NewField] = ()
    message: Message | None = None
    metadata: Mapping[str, str] = {}
    external_id: str | None = None
    expires_at: str | None = None
    reminders: Reminders | None = None
    language: str = "en"
    source: Source = "api"


def create(tx: Tx, workspace_id: str, new: NewDocument, actor: str, *, now: datetime) -> Document:
    """A draft."""
    check_parties(new.parties)
    document_id = new_id("doc", now)
    store.add_document(tx, _row(document_id, workspace_id, new, now))
    files = [_add_file(tx, document_id, position, file, now) for position, file in enumerate(new.files)]
    parties = [
        _add_party(tx, workspace_id, document_id, party, new.language, in_order(now, number))
        for number, party in enumerate(new.parties)
    ]
    wanted = [*new.fields, *(tag for file in new.files for tag in file.tags)]
    for field in placing.fields(wanted, files, new.files[-1].places if new.files else (), parties, now):
        store.add_field(tx, document_id, field)
    hashes = [file.sha256 for file in files]
    audit.record(tx, document_id, "document.created", actor, {"title": new.title, "files": hashes}, now=now)
    return find(tx, workspace_id, document_id)


def without_field(parties: Sequence[NewParty], fields: Sequence[NewField]) -> int:
    """How many signers have no signature field among these."""
    signing = [field for field in fields if field.type == "signature"]
    emails = {field.signer.lower() for field in signing if field.signer}
    names = {field.party.casefold() for field in signing if field.party}
    return sum(
        signer.email not in emails and party.name.casefold() not in names
        for party in parties
        for signer in party.signers
    )


def delete(tx: Tx, workspace_id: str, document_id: str, *, now: datetime) -> None:
    """A draft leaves nothing behind."""
    document = find(tx, workspace_id, document_id)
    states.after(document.status, "edit")
    for sha256_hex in store.file_hashes(tx, document_id):
        blobs.release(tx, sha256_hex, document_id, now)
    if not store.drop_draft(tx, document_id):
        raise states.refusal(find(tx, workspace_id, document_id).status)


def check_parties(parties: Sequence[NewParty]) -> None:
    """Raises BadRequest for parties that could never sign."""
    emails = [signer.email for party in parties for signer in party.signers]
    if len(emails) > limits.DOCUMENT_SIGNERS:
        raise BadRequest(f"A document has at most {limits.DOCUMENT_SIGNERS} signers")
    if len(set(emails)) != len(emails):
        raise BadRequest("Two signers have the same e-mail address")
    for party in parties:
        if not party.signers:
            raise BadRequest(f"The party {party.name} has no signers")
        if party.rule == "quorum" and not 1 <= (party.quorum or 0) <= len(party.signers):
            raise BadRequest(f"The quorum of {party.name} must lie between 1 and its {len(party.signers)} signers")
        if party.rule != "quorum" and party.quorum is not None:
            raise BadRequest(f"The party {party.name} has a quorum, but its rule is {party.rule}")
        for signer in party.signers:
            if (signer.auth == "access_code") != (signer.access_code is not None):
                raise BadRequest(f"{signer.email}: access_code belongs to auth access_code, and to no other")


def _row(document_id: str, workspace_id: str, new: NewDocument, now: datetime) -> dict[str, str | int | None]:
    at = instant(now)
    return {
        "id": document_id,
        "workspace_id": workspace_id,
        "title": new.title,
        "title_folded": store.folded(new.title),
        "status": "draft",
        "source": new.source,
        "external_id": new.external_id,
        "metadata": _json(new.metadata),
        "message": _json(new.message) if new.message else None,
        "language": new.language,
        "signers_total": sum(len(party.signers) for party in new.parties),
        "signers_signed": 0,
        "parties_total": len(new.parties),
        "parties_completed": 0,
        "reminders": _json(new.reminders) if new.reminders else None,
        "expires_at": new.expires_at,
        "created_at": at,
        "updated_at": at,
        "archive": _json(Archive("disabled", 0, None, None)),
        "verification_code": _verification_code(),
    }


def _add_file(tx: Tx, document_id: str, position: int, file: TakenFile, now: datetime) -> File:
    original = blobs.adopt(tx, file.original, document_id, now)
    prepared = blobs.adopt(tx, file.prepared, document_id, now)
    made = File(new_id("fil", now), file.name, original.sha256, original.size_bytes, len(file.sizes), position)
    store.add_file(tx, document_id, made, prepared.sha256, _json(file.sizes), _json(file.covers))
    return made


def _add_party(tx: Tx, workspace_id: str, document_id: str, party: NewParty, language: str, now: datetime) -> Party:
    party_id = new_id("pty", now)
    signers = [_signer(party_id, one, language, in_order(now, number)) for number, one in enumerate(party.signers)]
    made = Party(
        party_id, party.name, party.order, party.rule, party.quorum, party.on_decline, "waiting", signers, None
    )
    store.add_party(tx, document_id, made, declared=party.declared)
    for signer, one in zip(signers, party.signers, strict=True):
        code_hash = sha256(f"{signer.id}:{one.access_code}") if one.access_code is not None else None
        store.add_signer(tx, workspace_id, document_id, signer, code_hash)
    return made


def _signer(party_id: str, one: NewSigner, language: str, now: datetime) -> Signer:
    return Signer(
        id=new_id("sgn", now),
        party_id=party_id,
        name=one.name,
        email=one.email,
        language=one.language or language,
        auth=one.auth,
        status="waiting",
        notified_at=None,
        viewed_at=None,
        signed_at=None,
        declined_at=None,
        decline_reason=None,
    )


def _verification_code() -> str:
    """Short enough to be typed, too long to be guessed: 78 bits."""
    groups = ["".join(secrets.choice(_CODE_ALPHABET) for _ in range(4)) for _ in range(_CODE_GROUPS)]
    return "-".join(groups)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
