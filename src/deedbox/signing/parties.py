"""The arithmetic of parties: whose turn it is, how many must sign, and whether enough still can."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from deedbox.kernel.errors import NotFound
from deedbox.signing.model import Document, Field, Packet, Party, Signer

OPEN = ("waiting", "notified", "viewed")
"""States of signers who may yet act."""


def required_signatures(party: Party) -> int:
    """The signatures that complete the party; none are asked of one whose people only get a copy."""
    able = len(counting_signers(party))
    if party.rule == "all" or not able:
        return able
    return 1 if party.rule == "any" else party.quorum or able


def counting_signers(party: Party) -> list[Signer]:
    """Those of its people whom its rule counts."""
    return [signer for signer in party.signers if signer.counts]


def count_signatures(party: Party) -> int:
    """How many of its people have signed or approved."""
    return _count(party, "signed")


def is_met(party: Party) -> bool:
    return count_signatures(party) >= required_signatures(party)


def can_be_met(party: Party) -> bool:
    """Whether enough signers are left that have not declined."""
    return len(counting_signers(party)) - _count(party, "declined") >= required_signatures(party)


def ends_the_document(party: Party) -> bool:
    """Whether a decline in the party ends everything; its decline is counted already."""
    return party.on_decline == "decline_document" or not can_be_met(party)


def would_end(packet: Packet, signer_id: str) -> bool:
    """Whether everything would end if this person declined."""
    party, _ = find_signer(with_signer(packet, signer_id, status="declined"), signer_id)
    return ends_the_document(party)


def next_to_sign(parties: Sequence[Party]) -> list[Party]:
    """The parties of the lowest order that is not complete; none when all are."""
    open_parties = [party for party in parties if party.status not in ("completed", "canceled")]
    first = min((party.order for party in open_parties), default=0)
    return [party for party in open_parties if party.order == first]


def waiting_for(packet: Packet) -> Iterator[Signer]:
    """The signers whose turn it is."""
    for party, signer in packet.signers():
        if party.status == "active" and signer.status in ("notified", "viewed"):
            yield signer


def find_signer(packet: Packet, signer_id: str) -> tuple[Party, Signer]:
    for party, signer in packet.signers():
        if signer.id == signer_id:
            return party, signer
    raise NotFound("Signer does not exist")


def own_fields(document: Document, party: Party, signer: Signer) -> list[Field]:
    """The fields of the document that this person fills: none for one who only approves or gets a copy."""
    if signer.role != "signer":
        return []
    return [field for field in document.fields if field.signer_id == signer.id or field.party_id == party.id]


def only_reads(document: Document, party: Party, signer: Signer) -> bool:
    """Whether the document has nothing that this person fills in or signs."""
    return all(field.read_only and field.type != "date_signed" for field in own_fields(document, party, signer))


def was_only_shown(packet: Packet, document: Document, party: Party, signer: Signer) -> bool:
    """Whether someone who signed others of the packet had nothing to sign in this one."""
    signed_others = signer.role == "signer" and signer.status == "signed" and not packet.lone
    return signed_others and only_reads(document, party, signer)


# the packet after a change of its people


def with_signer(packet: Packet, signer_id: str, **changes: Any) -> Packet:
    return _with_signers(packet, lambda _, signer: changes if signer.id == signer_id else {})


def with_party(packet: Packet, party_id: str, **changes: Any) -> Packet:
    parties = [msgspec.structs.replace(one, **changes) if one.id == party_id else one for one in packet.parties]
    return msgspec.structs.replace(packet, parties=parties)


def release(packet: Packet, at: str) -> Packet:
    """The packet with the parties active, and their signers invited, whose turn it is now.

    A party whose people only get a copy has nothing to wait for: it is complete from the beginning."""
    for party in packet.parties:
        if party.status == "waiting" and not counting_signers(party):
            packet = with_party(packet, party.id, status="completed", completed_at=at)
    turn = {party.id for party in next_to_sign(packet.parties) if party.status == "waiting"}
    for party_id in turn:
        packet = with_party(packet, party_id, status="active")
    invited = {"status": "notified", "notified_at": at}
    return _with_signers(packet, lambda party, one: invited if party.id in turn and one.counts else {})


def released_from(party: Party) -> Party:
    """The party whose remaining signers are not needed any more; who gets a copy still gets it."""
    return _dismissed(party, lambda signer: signer.counts)


def cancel(packet: Packet) -> Packet:
    """The packet in which nobody can sign any more."""
    parties = [
        msgspec.structs.replace(party, status="canceled") if party.status in ("waiting", "active") else party
        for party in (_dismissed(one, lambda _: True) for one in packet.parties)
    ]
    return msgspec.structs.replace(packet, parties=parties)


def complete_copies(packet: Packet, at: str) -> Packet:
    """The packet whose people with a copy have got it."""
    told = {"status": "notified", "notified_at": at}
    return _with_signers(packet, lambda _, one: told if one.role == "cc" and one.status == "waiting" else {})


def _dismissed(party: Party, who: Callable[[Signer], bool]) -> Party:
    signers = [
        msgspec.structs.replace(signer, status="canceled") if signer.status in OPEN and who(signer) else signer
        for signer in party.signers
    ]
    return msgspec.structs.replace(party, signers=signers)


def _with_signers(packet: Packet, changes: Any) -> Packet:
    parties = []
    for party in packet.parties:
        signers = [
            msgspec.structs.replace(signer, **change) if (change := changes(party, signer)) else signer
            for signer in party.signers
        ]
        parties.append(msgspec.structs.replace(party, signers=signers))
    return msgspec.structs.replace(packet, parties=parties)


def _count(party: Party, status: str) -> int:
    return sum(signer.status == status for signer in party.signers)
