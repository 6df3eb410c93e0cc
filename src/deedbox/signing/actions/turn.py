"""Whose turn it is, and under which circumstances they act."""

from datetime import datetime

import msgspec

from deedbox.kernel.errors import Conflict
from deedbox.signing import parties, states
from deedbox.signing.actions.expire import is_due
from deedbox.signing.model import Packet, Party, Signer


class Circumstances(msgspec.Struct, frozen=True):
    """Where an act came from, for the evidence."""

    address: str
    user_agent: str
    identity: str
    """How it was checked who acts."""

    def told(self) -> dict[str, str]:
        return {"address": self.address, "user_agent": self.user_agent, "identity": self.identity}


def at_turn(packet: Packet, signer_id: str, now: datetime) -> tuple[Party, Signer]:
    """The signer whose turn it is; Conflict, with its own sentence, if it is not."""
    party, signer = parties.find_signer(packet, signer_id)
    if signer.status == "signed":
        raise Conflict("You have already signed this document")
    if signer.status == "declined":
        raise Conflict("You have declined to sign this document")
    if is_due(packet, now):
        raise states.refusal("expired")
    states.after(packet.first.status, "sign")
    if signer.status == "canceled":
        raise Conflict("Your signature is no longer needed: others of your party have signed")
    if party.status != "active":
        raise Conflict("It is not your turn yet: others sign before you")
    return party, signer


def signer_told(signer: Signer) -> dict[str, str]:
    return {"id": signer.id, "name": signer.name, "email": signer.email}
