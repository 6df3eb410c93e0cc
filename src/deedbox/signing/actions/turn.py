"""Whose turn it is, and under which circumstances they act."""

from datetime import datetime

import msgspec

from deedbox.i18n.refusals import refusal
from deedbox.kernel.errors import Conflict
from deedbox.signing import parties, states
from deedbox.signing.actions.expire import is_due
from deedbox.signing.model import Identity, Packet, Party, Signer, consent
from deedbox.signing.store.links import Consent, LinkKind, Voucher

_OVER = ("finalizing", "completed", "declined", "voided", "expired")
"""States in which a signer has nothing more to do; each has its sentence."""


class Circumstances(msgspec.Struct, frozen=True):
    """Where an act came from, for the evidence."""

    address: str
    user_agent: str
    link: LinkKind
    """By which the session was opened."""
    voucher: Voucher | None = None
    """The key that made an embedded link, or who handed over the device."""
    identity: Identity | None = None
    """How it was checked who acts; None before that."""
    viewed: bool = False
    """Whether the documents were shown in this session."""
    consent: Consent | None = None
    """What they agreed to when they came in."""
    language: str | None = None
    """In which the documents were shown, if not in the signer's own."""

    def told(self) -> dict[str, object]:
        told: dict[str, object] = {"address": self.address, "user_agent": self.user_agent, "link": self.link}
        if self.voucher is not None:
            by = "host" if self.link == "in_person" else "key"
            told[by] = {"id": self.voucher.id, "name": self.voucher.name}
        if self.identity is not None:
            told["identity"] = self.identity
        return told

    def consented(self, packet: Packet, signer: Signer) -> dict[str, object]:
        """What they agreed to, in the words that were shown; and when, if that was before the act itself."""
        if self.consent is None:
            language = self.language or signer.language
            return {"consent": consent(packet, msgspec.structs.replace(signer, language=language))}
        return {"consent": self.consent.text, "consented_at": self.consent.at}


def at_turn(packet: Packet, signer_id: str, now: datetime) -> tuple[Party, Signer]:
    """The signer whose turn it is; Conflict, with its own sentence, if it is not."""
    party, signer = parties.find_signer(packet, signer_id)
    if signer.role == "cc":
        raise refusal(Conflict, "copy_only")
    if signer.delegated_to is not None:
        raise refusal(Conflict, "passed_on")
    if signer.status == "signed":
        raise refusal(Conflict, "already_approved" if signer.role == "approver" else "already_signed")
    if signer.status == "declined":
        raise refusal(Conflict, "already_declined")
    status = "expired" if is_due(packet, now) else packet.status
    if status in _OVER:
        raise refusal(Conflict, status)
    states.after(status, "sign")
    if signer.status == "canceled":
        raise refusal(Conflict, "not_needed")
    if party.status != "active":
        raise refusal(Conflict, "not_your_turn")
    return party, signer


def is_shown(packet: Packet, signer: Signer) -> bool:
    """Whether the signer is shown the documents: until the end, and as long as they have to do with it."""
    return packet.status in ("sent", "finalizing") and signer.status in ("notified", "viewed", "signed")


def signer_payload(signer: Signer) -> dict[str, str]:
    return {"id": signer.id, "name": signer.name, "email": signer.email}
