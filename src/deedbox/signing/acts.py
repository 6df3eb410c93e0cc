"""What a signer does: look, fill in, sign, decline. One winner each: the write is the check."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from deedbox.kernel import jobs, limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing import audit, documents, parties, printable, states, store
from deedbox.signing.document import Decline, Document, Field, Party, Signer
from deedbox.signing.found import find, signer_of
from deedbox.signing.papers import store as papers
from deedbox.signing.people import store as people
from deedbox.signing.post import Post

FINALIZE_JOB = "finalize"
CONSENT = "I agree to sign this document electronically, and that my electronic signature is as binding as one by hand."
Kind: TypeAlias = Literal["typed", "drawn", "uploaded"]


class Signature(msgspec.Struct, frozen=True):
    """How the signer signed; of an image, its hash, under which it is stored."""

    kind: Kind
    text: str | None = None
    image_sha256: str | None = None


class Circumstances(msgspec.Struct, frozen=True):
    """Where an act came from, for the evidence."""

    address: str
    user_agent: str
    identity: str
    """How it was checked who acts."""


def own_fields(document: Document, party: Party, signer: Signer) -> list[Field]:
    """The fields that this signer fills."""
    return [field for field in document.fields if field.signer_id == signer.id or field.party_id == party.id]


def view(tx: Tx, workspace_id: str, document_id: str, signer_id: str, seen: Circumstances, *, now: datetime) -> None:
    """Notes that the signer has the document before them, once."""
    document = find(tx, workspace_id, document_id)
    _, signer = signer_of(document, signer_id)
    if document.status == "sent" and people.change_signer(
        tx, signer_id, "notified", {"status": "viewed", "viewed_at": instant(now)}
    ):
        audit.record(tx, document_id, "signer.viewed", signer.id, _told(seen), now=now)


def fill(
    tx: Tx, workspace_id: str, document_id: str, signer_id: str, values: Mapping[str, str], *, now: datetime
) -> None:
    """Keeps what the signer has filled in so far."""
    document, party, signer = _at_turn(tx, workspace_id, document_id, signer_id, now)
    for field in _checked(document, party, signer, values):
        people.keep_value(tx, field.id, signer_id, values[field.id])


def sign(
    tx: Tx,
    workspace_id: str,
    document_id: str,
    signer_id: str,
    signature: Signature,
    values: Mapping[str, str],
    seen: Circumstances,
    post: Post,
    *,
    now: datetime,
) -> Document:
    """The document, with the signature in it; the party's rule and the next party's turn follow from it."""
    document, party, signer = _at_turn(tx, workspace_id, document_id, signer_id, now)
    printable.check("Your signature", signature.text or "")
    _checked(document, party, signer, values)
    filled = {**people.values_of(tx, signer_id), **values}
    _settle_fields(tx, document, party, signer, filled, now)
    changes: dict[str, Value] = {
        "status": "signed",
        "signed_at": instant(now),
        "signature": msgspec.json.encode(signature).decode(),
    }
    if not people.change_signer(tx, signer_id, signer.status, changes):
        raise Conflict("You have already signed this document")
    if not store.change_document(tx, document_id, "sent", {}, now=instant(now), add=["signers_signed"]):
        raise states.refusal(find(tx, workspace_id, document_id).status)
    _record_signing(tx, document, signer, signature, seen, now)
    documents.emit(tx, workspace_id, "document.signed", document, _signer_told(signer), now=now)
    _follow_up(tx, workspace_id, document_id, party.id, post, now)
    return find(tx, workspace_id, document_id)


def decline(
    tx: Tx,
    workspace_id: str,
    document_id: str,
    signer_id: str,
    reason: str | None,
    seen: Circumstances,
    post: Post,
    *,
    now: datetime,
) -> Document:
    """The document, which this ends unless the party can do without the signer."""
    document, party, signer = _at_turn(tx, workspace_id, document_id, signer_id, now)
    changes: dict[str, Value] = {"status": "declined", "declined_at": instant(now), "decline_reason": reason}
    if not people.change_signer(tx, signer_id, signer.status, changes):
        raise Conflict("You have already acted on this document")
    audit.record(tx, document_id, "signer.declined", signer.id, {"reason": reason, **_told(seen)}, now=now)
    party, _ = signer_of(find(tx, workspace_id, document_id), signer_id)
    if parties.ends_the_document(party):
        people.change_party(tx, party.id, "active", {"status": "declined"})
        ending: dict[str, Value] = {
            "status": states.after(document.status, "decline"),
            "declined_at": instant(now),
            "decline": msgspec.json.encode(Decline(signer_id, reason)).decode(),
        }
        if not store.change_document(tx, document_id, "sent", ending, now=instant(now)):
            raise states.refusal(find(tx, workspace_id, document_id).status)
        told = {**_signer_told(signer), "reason": reason}
        documents.end(tx, workspace_id, document, "document.declined", told, post, now=now)
    return find(tx, workspace_id, document_id)


def _at_turn(
    tx: Tx, workspace_id: str, document_id: str, signer_id: str, now: datetime
) -> tuple[Document, Party, Signer]:
    """The document with the signer whose turn it is; Conflict, with its own sentence, if it is not."""
    document = find(tx, workspace_id, document_id)
    party, signer = signer_of(document, signer_id)
    if signer.status == "signed":
        raise Conflict("You have already signed this document")
    if signer.status == "declined":
        raise Conflict("You have declined to sign this document")
    if documents.is_due(document, now):
        raise states.refusal("expired")
    states.after(document.status, "sign")
    if signer.status == "canceled":
        raise Conflict("Your signature is no longer needed: others of your party have signed")
    if party.status != "active":
        raise Conflict("It is not your turn yet: others sign before you")
    return document, party, signer


def _checked(document: Document, party: Party, signer: Signer, values: Mapping[str, str]) -> list[Field]:
    """The fields that the values are for; BadRequest for a field of someone else, or a value it cannot have."""
    known = {field.id: field for field in own_fields(document, party, signer)}
    for field_id, value in values.items():
        field = known.get(field_id)
        if field is None:
            raise BadRequest(f"{field_id} is not one of your fields")
        _check_value(field, value)
    return [known[field_id] for field_id in values]


def _check_value(field: Field, value: str) -> None:
    name = field.label or field.id
    if len(value) > limits.FIELD_VALUE_CHARS:
        raise BadRequest(f"{name}: at most {limits.FIELD_VALUE_CHARS} characters")
    printable.check(name, value)
    if field.type == "select" and value not in field.options:
        raise BadRequest(f"{name}: choose one of {', '.join(field.options)}")
    if field.type == "checkbox" and value not in ("true", "false"):
        raise BadRequest(f"{name}: a checkbox is true or false")
    if field.type == "number" and not _is_number(value):
        raise BadRequest(f"{name}: {value} is not a number")


def _is_number(text: str) -> bool:
    return text.strip().lstrip("+-").replace(".", "", 1).replace(",", "").isdecimal()


def _settle_fields(
    tx: Tx, document: Document, party: Party, signer: Signer, filled: Mapping[str, str], now: datetime
) -> None:
    """Writes the signer's values into the document; BadRequest for a required field that is empty."""
    own = {"date": instant(now)[:10], "name": signer.name, "email": signer.email}
    for field in own_fields(document, party, signer):
        if field.type in ("signature", "initials"):
            value: str | None = signer.id
        else:
            value = filled.get(field.id) or field.default or own.get(field.type)
        if field.required and (value is None or (field.type == "checkbox" and value != "true")):
            raise BadRequest(f"{field.label or field.type} on page {field.page} must be filled in")
        if value is not None:
            people.settle_value(tx, field.id, value)


def _record_signing(
    tx: Tx, document: Document, signer: Signer, signature: Signature, seen: Circumstances, now: datetime
) -> None:
    detail = {
        **_told(seen),
        "signature": msgspec.to_builtins(signature),
        "consent": CONSENT,
        "files": {file.id: file.sha256 for file in document.files},
        "prepared": papers.paper(tx, document.id),
    }
    audit.record(tx, document.id, "signer.signed", signer.id, detail, now=now)


def _follow_up(tx: Tx, workspace_id: str, document_id: str, party_id: str, post: Post, now: datetime) -> None:
    """What a signature leads to: the party is complete, the next ones are invited, or everything is there."""
    document = find(tx, workspace_id, document_id)
    party = next(party for party in document.parties if party.id == party_id)
    if not parties.is_met(party):
        return
    if not people.change_party(tx, party_id, "active", {"status": "completed", "completed_at": instant(now)}):
        return
    people.cancel_signers(tx, document_id, party_id)
    store.change_document(tx, document_id, "sent", {}, now=instant(now), add=["parties_completed"])
    audit.record(tx, document_id, "party.completed", audit.SERVER, {"party": party_id}, now=now)
    if people.is_declared(tx, party_id):
        told = {"party": {"id": party.id, "name": party.name, "order": party.order}}
        documents.emit(tx, workspace_id, "party.completed", document, told, now=now)
    following = parties.next_to_sign(find(tx, workspace_id, document_id).parties)
    if following:
        documents.release(tx, workspace_id, document_id, post, now=now)
        return
    store.change_document(tx, document_id, "sent", {"status": "finalizing"}, now=instant(now))
    jobs.enqueue(
        tx,
        jobs.NewJob(
            FINALIZE_JOB,
            {"document_id": document_id},
            priority=jobs.URGENT,
            max_attempts=limits.FINALIZE_ATTEMPTS,
            unique_key=f"{FINALIZE_JOB}:{document_id}",
            workspace_id=workspace_id,
        ),
        now=now,
    )


def _signer_told(signer: Signer) -> dict[str, object]:
    return {"signer": {"id": signer.id, "name": signer.name, "email": signer.email}}


def _told(seen: Circumstances) -> dict[str, str]:
    return {"address": seen.address, "user_agent": seen.user_agent, "identity": seen.identity}
