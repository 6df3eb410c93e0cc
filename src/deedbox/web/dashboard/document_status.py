"""Where a document stands, in words: its state as a sentence, its people with theirs, and what happened last."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from deedbox import i18n
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel.clock import moment
from deedbox.signing import parties
from deedbox.signing.model import Document, Packet, Party, Signer
from deedbox.web.dashboard.initials import initials

KINDS = {
    "processing": "wait", "draft": "plain", "sent": "wait", "finalizing": "wait", "completed": "good",
    "declined": "bad", "voided": "plain", "expired": "bad", "failed": "bad",
}  # fmt: skip
"""The look of each state."""
_PERSON_KINDS = {
    "waiting": "plain", "notified": "wait", "viewed": "wait", "signed": "good", "declined": "bad", "canceled": "plain",
}  # fmt: skip
_WEEK = 7
_NAMED = 3


class PersonRow(NamedTuple):
    """Someone of a document, as a dot and as a row."""

    signer: Signer
    number: int
    """Whose hue they have."""
    initials: str
    state: str
    """Where they stand, as a word,"""
    kind: str
    """and its look."""
    since: str | None
    """Since when."""
    open: bool
    """Whether they have yet to act, so that they can be corrected."""


class PartyGroup(NamedTuple):
    """A party with its people."""

    party: Party
    rule: str
    """How many of its people must sign; empty where that is everyone."""
    people: list[PersonRow]


def people(packet: Packet, document: Document | None = None) -> list[PersonRow]:
    """Everyone, in the order in which they sign; with a document, as far as that one goes."""
    everyone = [_person(packet, signer, number) for number, (_, signer) in enumerate(packet.signers())]
    if document is None:
        return everyone
    only_shown = {one.id for party, one in packet.signers() if parties.was_only_shown(packet, document, party, one)}
    return [
        person._replace(state=WORDS["person_shown"], kind="plain") if person.signer.id in only_shown else person
        for person in everyone
    ]


def stages(packet: Packet, document: Document | None = None) -> list[list[PartyGroup]]:
    """The parties, those that sign at the same time together; with a document, as far as that one goes."""
    everyone = {person.signer.id: person for person in people(packet, document)}
    found: dict[int, list[PartyGroup]] = {}
    for party in packet.parties:
        group = PartyGroup(party, _rule(party), [everyone[signer.id] for signer in party.signers])
        found.setdefault(party.order, []).append(group)
    return [found[order] for order in sorted(found)]


def _rule(party: Party) -> str:
    able, needed = len(parties.counting_signers(party)), parties.required_signatures(party)
    return "" if needed == able else WORDS["rule_some"].format(needed=needed, able=able)


def _person(packet: Packet, signer: Signer, number: int) -> PersonRow:
    state, kind = WORDS[f"person_{signer.status}"], _PERSON_KINDS[signer.status]
    if signer.role == "cc":
        state, kind = WORDS[f"person_cc_{'has' if signer.status == 'notified' else 'gets'}"], "plain"
    elif signer.role == "approver" and signer.status == "signed":
        state = WORDS["person_approved"]
    elif signer.delegated_to is not None:
        to = next((one.name for _, one in packet.signers() if one.id == signer.delegated_to), "")
        state = WORDS["person_passed_on"].format(person=to)
    since = signer.signed_at or signer.declined_at or signer.viewed_at or signer.notified_at
    open_ = packet.first.status in ("draft", "sent") and signer.status in parties.OPEN
    return PersonRow(signer, number, initials(signer.name), state, kind, since, open_)


def sentence(packet: Packet, document: Document, now: datetime) -> str:
    """The state of a document as one says it aloud."""
    told = {
        "date": _on(document.completed_at or document.voided_at or document.expired_at or document.declined_at, now),
        "error": document.error or "",
    }
    if document.status == "sent":
        return _waiting(packet, document, now)
    if document.status == "declined" and document.decline:
        told["person"] = _name(packet, document.decline.signer_id)
    if document.status == "finalizing" and document.error:
        return WORDS["sentence_not_sealed"].format(**told)
    return WORDS[f"sentence_{document.status}"].format(**told)


def _waiting(packet: Packet, document: Document, now: datetime) -> str:
    waiting = [*parties.waiting_for(packet)]
    if not waiting:
        return WORDS["sentence_nobody"]
    since = min(signer.notified_at or document.sent_at or document.created_at for signer in waiting)
    return WORDS["sentence_sent"].format(people=_all_of(packet, waiting), since=_day(since, now))


def _all_of(packet: Packet, waiting: Sequence[Signer]) -> str:
    """Ann and Ben; Ann or Ben, where one is enough."""
    names = [signer.name for signer in waiting]
    active = [party for party in packet.parties if party.status == "active"]
    either = len(active) == 1 and parties.required_signatures(active[0]) - parties.count_signatures(active[0]) < len(
        names
    )
    if len(names) > _NAMED:
        return WORDS["and_others"].format(names=", ".join(names[: _NAMED - 1]), count=len(names) - _NAMED + 1)
    if len(names) == 1:
        return names[0]
    return WORDS[f"one_{'or' if either else 'and'}"].format(names=", ".join(names[:-1]), last=names[-1])


def reason(document: Document) -> str:
    """Why it was declined or withdrawn, in the words of who did."""
    ended = document.decline or document.void
    return (ended.reason or "") if ended else ""


def last_act(packet: Packet, document: Document) -> tuple[str, str]:
    """What happened last, and when."""
    return max(_acts(packet, document), key=lambda act: act[1])


def _acts(packet: Packet, document: Document) -> Iterator[tuple[str, str]]:
    """The latest first: of two at the same moment, the one that follows the other is told."""
    for name in ("completed", "voided", "expired"):
        if at := getattr(document, f"{name}_at"):
            yield WORDS[f"last_{name}"], at
    for party, signer in packet.signers():
        only_shown = parties.was_only_shown(packet, document, party, signer)
        for name in ("declined", "viewed") if only_shown else ("declined", "signed", "viewed"):
            if at := getattr(signer, f"{name}_at"):
                yield WORDS[f"last_{name}"].format(person=signer.name), at
    if document.sent_at:
        yield WORDS["last_sent"], document.sent_at
    yield WORDS["last_created"], document.created_at


def _name(packet: Packet, signer_id: str) -> str:
    return next((signer.name for _, signer in packet.signers() if signer.id == signer_id), "")


def _day(at: str, now: datetime) -> str:
    """Since when: today, Tuesday, or the date."""
    then = moment(at)
    days = (now.date() - then.date()).days
    if days <= 1:
        return WORDS[f"day_{'today' if days <= 0 else 'yesterday'}"]
    return WORDS[f"day_{then.weekday()}"] if days < _WEEK else i18n.date(i18n.DEFAULT, then)


def _on(at: str | None, now: datetime) -> str:
    """When: today, on Tuesday, or on the date."""
    if at is None:
        return ""
    days = (now.date() - moment(at).date()).days
    return _day(at, now) if days <= 1 else WORDS["day_on"].format(day=_day(at, now))
