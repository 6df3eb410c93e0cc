"""Documents before they are sent: made, laid out, edited, deleted."""

import secrets
from collections.abc import Sequence
from datetime import datetime

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import sha256
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.kernel.ids import new_id
from deedbox.signing import audit, placing, printable, states, store
from deedbox.signing.document import Archive, Document, File, Party, Signer
from deedbox.signing.found import find
from deedbox.signing.papers import store as papers
from deedbox.signing.people import store as people
from deedbox.signing.placing import in_order
from deedbox.signing.wishes import NewDocument, NewField, NewFile, NewParty, NewSigner, Paper

_CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_CODE_GROUPS = 4


def create(tx: Tx, workspace_id: str, new: NewDocument, paper: Paper | None, actor: str, *, now: datetime) -> Document:
    """A draft; without paper, a document that waits until its files are converted."""
    check_parties(new.parties)
    document_id = new_id("doc", now)
    store.add_document(tx, _row(document_id, workspace_id, new, now))
    files = [_add_file(tx, document_id, position, file, now) for position, file in enumerate(new.files)]
    _add_parties(tx, workspace_id, document_id, new.parties, new.language, now)
    hashes = [file.sha256 for file in files]
    audit.record(tx, document_id, "document.created", actor, {"title": new.title, "files": hashes}, now=now)
    document = find(tx, workspace_id, document_id)
    return lay_out(tx, workspace_id, document, paper, now=now) if paper is not None else document


def lay_out(tx: Tx, workspace_id: str, document: Document, paper: Paper, *, now: datetime) -> Document:
    """The draft whose signers see this paper, with a field for everything that was asked for."""
    status = states.after(document.status, "lay_out")
    former = papers.file_hashes(tx, document.id)
    pdf = blobs.adopt(tx, paper.pdf, document.id, now)
    for file, made in zip(document.files, paper.files, strict=True):
        papers.lay_out_file(tx, file.id, pdf.sha256, *map(_json, (made.sizes, made.covers, made.removed)))
    for unused in former - papers.file_hashes(tx, document.id):
        blobs.release(tx, unused, document.id, now)
    if not store.change_document(tx, document.id, document.status, {"status": status}, now=instant(now)):
        raise states.refusal(find(tx, workspace_id, document.id).status)
    people.drop_fields(tx, document.id)
    laid = find(tx, workspace_id, document.id)
    wanted = [*wished_fields(tx, document.id), *(tag for file in paper.files for tag in file.tags)]
    for field in placing.fields(wanted, laid.files, paper.places, laid.parties, now):
        people.add_field(tx, document.id, field)
    return find(tx, workspace_id, document.id)


def wished_fields(tx: Tx, document_id: str) -> list[NewField]:
    """The fields that the sender asked for; text tags and places for signatures come with the paper."""
    return msgspec.json.decode(store.wished_fields(tx, document_id), type=list[NewField])


def edit(
    tx: Tx,
    workspace_id: str,
    draft: Document,
    parties: Sequence[NewParty] | None,
    fields: Sequence[NewField] | None,
    paper: Paper,
    actor: str,
    *,
    now: datetime,
) -> Document:
    """The draft with these parties and fields in place of its own, None leaving them; laid out on a paper for them."""
    document = find(tx, workspace_id, draft.id)
    states.after(document.status, "edit")
    if (document.parties, document.fields) != (draft.parties, draft.fields):
        raise Conflict("The draft was changed at this very moment. Look at it and try again.")
    changes: dict[str, Value] = {}
    if fields is not None:
        changes["wanted"] = _json(fields)
    if parties is not None:
        check_parties(parties)
        people.drop_fields(tx, draft.id)
        people.drop_parties(tx, draft.id)
        _add_parties(tx, workspace_id, draft.id, parties, document.language, now)
        changes |= _totals(parties)
    if not store.change_document(tx, draft.id, "draft", changes, now=instant(now)):
        raise states.refusal(find(tx, workspace_id, draft.id).status)
    changed = [name for name, given in (("fields", fields), ("parties", parties)) if given is not None]
    audit.record(tx, draft.id, "document.edited", actor, {"changed": changed}, now=now)
    return lay_out(tx, workspace_id, find(tx, workspace_id, draft.id), paper, now=now)


def fail(tx: Tx, workspace_id: str, document_id: str, reason: str, *, now: datetime) -> None:
    """Nothing can be made of the files: the document says why, and that is its end."""
    document = find(tx, workspace_id, document_id)
    changes: dict[str, Value] = {"status": states.after(document.status, "fail"), "error": reason}
    if store.change_document(tx, document_id, document.status, changes, now=instant(now)):
        audit.record(tx, document_id, "document.failed", audit.SERVER, {"reason": reason}, now=now)


def delete(tx: Tx, workspace_id: str, document_id: str, *, now: datetime) -> None:
    """A draft leaves nothing behind."""
    document = find(tx, workspace_id, document_id)
    states.after(document.status, "delete")
    for sha256_hex in papers.file_hashes(tx, document_id):
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
            printable.check(f"The name of {signer.email}", signer.name)
            if (signer.auth == "access_code") != (signer.access_code is not None):
                raise BadRequest(f"{signer.email}: access_code belongs to auth access_code, and to no other")


def _row(document_id: str, workspace_id: str, new: NewDocument, now: datetime) -> dict[str, Value]:
    at = instant(now)
    return {
        "id": document_id,
        "workspace_id": workspace_id,
        "title": new.title,
        "title_folded": store.folded(new.title),
        "status": "processing",
        "source": new.source,
        "external_id": new.external_id,
        "metadata": _json(new.metadata),
        "message": _json(new.message) if new.message else None,
        "language": new.language,
        **_totals(new.parties),
        "signers_signed": 0,
        "parties_completed": 0,
        "reminders": _json(new.reminders) if new.reminders else None,
        "expires_at": new.expires_at,
        "created_at": at,
        "updated_at": at,
        "archive": _json(Archive("disabled", 0, None, None)),
        "verification_code": _verification_code(),
        "wanted": _json(new.fields),
        "demand_timestamp": int(new.require_timestamp),
    }


def _totals(parties: Sequence[NewParty]) -> dict[str, Value]:
    return {"signers_total": sum(len(party.signers) for party in parties), "parties_total": len(parties)}


def _add_file(tx: Tx, document_id: str, position: int, file: NewFile, now: datetime) -> File:
    original = blobs.adopt(tx, file.original, document_id, now)
    made = File(new_id("fil", now), file.name, original.sha256, original.size_bytes, 0, position, [])
    papers.add_file(tx, document_id, made)
    return made


def _add_parties(
    tx: Tx, workspace_id: str, document_id: str, parties: Sequence[NewParty], language: str, now: datetime
) -> None:
    for number, party in enumerate(parties):
        _add_party(tx, workspace_id, document_id, party, language, in_order(now, number))


def _add_party(tx: Tx, workspace_id: str, document_id: str, party: NewParty, language: str, now: datetime) -> None:
    party_id = new_id("pty", now)
    signers = [_signer(party_id, one, language, in_order(now, number)) for number, one in enumerate(party.signers)]
    made = Party(
        party_id, party.name, party.order, party.rule, party.quorum, party.on_decline, "waiting", signers, None
    )
    people.add_party(tx, document_id, made, declared=party.declared)
    for signer, one in zip(signers, party.signers, strict=True):
        code_hash = sha256(f"{signer.id}:{one.access_code}") if one.access_code is not None else None
        people.add_signer(tx, workspace_id, document_id, signer, code_hash)


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
