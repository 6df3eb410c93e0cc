"""What a sender does with documents: list, send, remind, amend, void; and what time does: expire."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from deedbox.kernel import jobs, limits, outbox
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Tx, Value
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing import audit, parties, sessions, states, store
from deedbox.signing.document import Document, Filter, Party, Reminders, Signer, Void, decoded
from deedbox.signing.found import find, signer_of
from deedbox.signing.people import store as people
from deedbox.signing.post import Post

EXPIRE_JOB = "expire"
REMIND_JOB = "remind"


def page(
    tx: Tx, workspace_id: str, wanted: Filter, *, limit: int, cursor: str | None, newest_first: bool
) -> list[Document]:
    """Documents of the workspace that match, by age, from the one after `cursor` on."""
    return store.documents(tx, workspace_id, wanted, limit, cursor, newest_first)


def folded(title: str) -> str:
    """The title as it is searched."""
    return store.folded(title)


def send(tx: Tx, workspace_id: str, document_id: str, actor: str, post: Post, *, now: datetime) -> Document:
    """The document, now on its way to the parties that sign first."""
    draft = find(tx, workspace_id, document_id)
    status = states.after(draft.status, "send")
    if not parties.signers(draft.parties):
        raise BadRequest("The document has no signers")
    if not draft.files:
        raise BadRequest("The document has no file")
    if draft.expires_at is not None and draft.expires_at <= instant(now):
        raise BadRequest("The document's expires_at lies in the past")
    _move(tx, draft, {"status": status, "sent_at": instant(now)}, now)
    audit.record(tx, document_id, "document.sent", actor, {}, now=now)
    emit(tx, workspace_id, "document.sent", find(tx, workspace_id, document_id), {}, now=now)
    release(tx, workspace_id, document_id, post, now=now)
    _plan_timers(tx, workspace_id, draft, now)
    return find(tx, workspace_id, document_id)


def release(tx: Tx, workspace_id: str, document_id: str, post: Post, *, now: datetime) -> None:
    """Invites the signers whose turn it is now."""
    document = find(tx, workspace_id, document_id)
    for party in parties.next_to_sign(document.parties):
        if party.status == "waiting" and people.change_party(tx, party.id, "waiting", {"status": "active"}):
            for signer in party.signers:
                _invite(tx, document, signer, post, now)


def remind(tx: Tx, workspace_id: str, document_id: str, actor: str, post: Post, *, now: datetime) -> Document:
    """Those whose turn it is get another mail, with a link of its own."""
    document = find(tx, workspace_id, document_id)
    states.after(document.status, "remind")
    for _, signer in waiting_for(document):
        post.remind(tx, document, signer, sessions.new_link(tx, signer.id, "mail", now=now), now=now)
        audit.record(tx, document_id, "signer.reminded", actor, {"signer": signer.id}, now=now)
    return document


def waiting_for(document: Document) -> list[tuple[Party, Signer]]:
    """The signers whose turn it is."""
    return [
        (party, signer)
        for party in document.parties
        if party.status == "active"
        for signer in party.signers
        if signer.status in ("notified", "viewed")
    ]


def amend(
    tx: Tx, workspace_id: str, document_id: str, changes: Mapping[str, Value], actor: str, *, now: datetime
) -> Document:
    """Changes what may change after sending; the names are those of columns."""
    document = find(tx, workspace_id, document_id)
    states.after(document.status, "amend")
    if changes:
        _move(tx, document, changes, now)
        audit.record(tx, document_id, "document.amended", actor, {"changed": sorted(changes)}, now=now)
    changed = find(tx, workspace_id, document_id)
    if document.status == "sent":
        _plan_timers(tx, workspace_id, changed, now)
    return changed


def correct_email(
    tx: Tx, workspace_id: str, document_id: str, signer_id: str, email: str, actor: str, post: Post, *, now: datetime
) -> None:
    """The signer's address was wrong: links sent to it die, and the right one is invited."""
    document = find(tx, workspace_id, document_id)
    states.after(document.status, "amend")
    _, signer = signer_of(document, signer_id)
    if signer.status not in ("waiting", "notified", "viewed"):
        raise Conflict(f"{signer.name} has already {signer.status}, so the address stays")
    if not people.change_signer(tx, signer_id, signer.status, {"email": email}):
        raise Conflict("The signer has just acted, so the address stays")
    sessions.forget(tx, signer_id)
    audit.record(tx, document_id, "signer.corrected", actor, {"signer": signer_id, "email": email}, now=now)
    if signer.status != "waiting":
        fresh = find(tx, workspace_id, document_id)
        _, corrected = signer_of(fresh, signer_id)
        post.invite(tx, fresh, corrected, sessions.new_link(tx, signer_id, "mail", now=now), now=now)


def void(
    tx: Tx, workspace_id: str, document_id: str, reason: str | None, actor: str, post: Post, *, now: datetime
) -> Document:
    document = find(tx, workspace_id, document_id)
    status = states.after(document.status, "void")
    changes: dict[str, Value] = {"status": status, "voided_at": instant(now), "void": _json(Void(reason))}
    _move(tx, document, changes, now)
    audit.record(tx, document_id, "document.voided", actor, {"reason": reason}, now=now)
    if document.status == "sent":
        end(tx, workspace_id, document, "document.voided", {"reason": reason}, post, now=now)
    else:
        _cancel(tx, document_id)
    return find(tx, workspace_id, document_id)


def expire(tx: Tx, workspace_id: str, document_id: str, post: Post, *, now: datetime) -> bool:
    """Whether the document's time is over, and it was still waiting for someone."""
    document = store.document(tx, workspace_id, document_id)
    if document is None or not is_due(document, now):
        return False
    _move(tx, document, {"status": states.after(document.status, "expire"), "expired_at": instant(now)}, now)
    audit.record(tx, document_id, "document.expired", audit.SERVER, {}, now=now)
    end(tx, workspace_id, document, "document.expired", {}, post, now=now)
    return True


def is_due(document: Document, now: datetime) -> bool:
    """Whether the document should have expired by now."""
    return document.status == "sent" and document.expires_at is not None and document.expires_at <= instant(now)


def end(
    tx: Tx,
    workspace_id: str,
    document: Document,
    event: str,
    told: Mapping[str, object],
    post: Post,
    *,
    now: datetime,
) -> None:
    """Nobody can sign any more, and whoever was invited hears of it; the document has its last state already."""
    _cancel(tx, document.id)
    ended = find(tx, workspace_id, document.id)
    emit(tx, workspace_id, event, ended, told, now=now)
    for party in document.parties:
        for signer in party.signers:
            if signer.status in ("notified", "viewed", "signed"):
                post.ended(tx, ended, signer, now=now)


def _cancel(tx: Tx, document_id: str) -> None:
    people.cancel_signers(tx, document_id)
    people.cancel_parties(tx, document_id)


def emit(
    tx: Tx, workspace_id: str, kind: str, document: Document, more: Mapping[str, object], *, now: datetime
) -> None:
    """The event, with what every event of a document tells; metadata that does not fit is left out."""
    told: dict[str, object] = {
        "document_id": document.id,
        "title": document.title,
        "status": document.status,
        "external_id": document.external_id,
        "packet_id": document.packet_id,
        "bulk_send_id": document.bulk_send_id,
        "metadata": document.metadata,
        **more,
    }
    if len(_json(told).encode()) > limits.EVENT_BYTES:
        told |= {"metadata": {}, "truncated": True}
    outbox.emit(tx, workspace_id, kind, document.id, told, now=now)


def _invite(tx: Tx, document: Document, signer: Signer, post: Post, now: datetime) -> None:
    people.change_signer(tx, signer.id, "waiting", {"status": "notified", "notified_at": instant(now)})
    audit.record(tx, document.id, "signer.invited", audit.SERVER, {"signer": signer.id, "email": signer.email}, now=now)
    post.invite(tx, document, signer, sessions.new_link(tx, signer.id, "mail", now=now), now=now)


def _move(tx: Tx, document: Document, changes: Mapping[str, Value], now: datetime) -> None:
    if not store.change_document(tx, document.id, document.status, changes, now=instant(now)):
        raise Conflict("The document was changed at this very moment. Look at it and try again.")


def _plan_timers(tx: Tx, workspace_id: str, document: Document, now: datetime) -> None:
    if document.expires_at is not None:
        jobs.enqueue(
            tx,
            jobs.NewJob(
                EXPIRE_JOB,
                {"document_id": document.id},
                run_at=moment(document.expires_at),
                unique_key=f"{EXPIRE_JOB}:{document.id}:{document.expires_at}",
                workspace_id=workspace_id,
            ),
            now=now,
        )
    reminders = _reminders(document)
    if reminders is not None:
        first = now + timedelta(hours=reminders.first_after_hours)
        _plan_reminder(tx, workspace_id, document.id, 1, reminders, first, now)


def _plan_reminder(
    tx: Tx, workspace_id: str, document_id: str, number: int, reminders: Reminders, at: datetime, now: datetime
) -> None:
    plan = _json(reminders)
    jobs.enqueue(
        tx,
        jobs.NewJob(
            REMIND_JOB,
            {"document_id": document_id, "number": number, "plan": plan},
            run_at=at,
            unique_key=f"{REMIND_JOB}:{document_id}:{plan}:{number}",
            workspace_id=workspace_id,
        ),
        now=now,
    )


def remind_again(
    tx: Tx, workspace_id: str, document_id: str, number: int, plan: str, post: Post, *, now: datetime
) -> None:
    """A reminder by the timer, and the plan for the next; a plan that was changed meanwhile ends."""
    document = store.document(tx, workspace_id, document_id)
    reminders = _reminders(document) if document else None
    if document is None or reminders is None or document.status != "sent" or is_due(document, now):
        return
    if _json(reminders) != plan:
        return
    remind(tx, workspace_id, document_id, audit.SERVER, post, now=now)
    if number < min(reminders.max, limits.REMINDERS_MAX):
        later = now + timedelta(hours=reminders.every_hours)
        _plan_reminder(tx, workspace_id, document_id, number + 1, reminders, later, now)


def _reminders(document: Document) -> Reminders | None:
    return decoded(document.reminders, Reminders)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
