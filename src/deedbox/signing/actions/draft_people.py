"""The people of a document as its sender gives them back: those who are known stay who they are."""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.signing.model import Document, Packet, Party, Signer
from deedbox.signing.new_document import (
    DocumentChange,
    KnownField,
    KnownParty,
    KnownSigner,
    ListedSigner,
    lone_parties,
    matches_handle,
)


def need_known(draft: Packet, document: Document, change: DocumentChange) -> None:
    """Raises BadRequest unless every id in the change is one of the draft, and given once: new ones are made here."""
    parties = [] if change.parties is UNSET else change.parties
    fields = [] if change.fields is UNSET else change.fields
    known = {field.id for field in document.fields}
    known |= {one_id for party, signer in draft.signers() for one_id in (party.id, signer.id)}
    given = [party.id for party in parties] + [one.id for party in parties for one in party.signers]
    for one_id in [*given, *(field.id for field in fields)]:
        if one_id is not None and one_id not in known:
            raise BadRequest(f"{one_id[: limits.MISTAKE_CHARS]!r}: there is none with this id, or it is given twice")
        known.discard(one_id or "")


def merge_parties(draft: Packet, made: Sequence[Party]) -> list[Party]:
    """The parties that the draft is to have; who was in it before, and is given no other access code, keeps theirs."""
    before = {party.id: party for party in draft.parties}
    people = {signer.id: signer for _, signer in draft.signers()}
    return [
        replace(
            party,
            declared=party.declared and (party.id not in before or before[party.id].declared),
            signers=[_with_code(one, people.get(one.id)) for one in party.signers],
        )
        for party in made
    ]


def follow_people(
    asked: Sequence[KnownField], before: Sequence[Party], after: Sequence[KnownParty | Party]
) -> list[KnownField]:
    """The fields, each for the same person or party as before, however those are called from now on."""
    known = {party.id for party in after} | {one.id for party in after for one in party.signers}
    found = []
    for field in asked:
        signers = [one.id for party in before for one in party.signers if matches_handle(one, field.signer)]
        parties = [party.id for party in before if matches_handle(party, field.party)]
        signer = signers[0] if len(signers) == 1 and signers[0] in known else field.signer
        party_id = parties[0] if len(parties) == 1 and parties[0] in known else field.party
        found.append(replace(field, signer=signer, party=party_id))
    return found


def as_lone_parties(change: DocumentChange, packet: Packet | None = None) -> DocumentChange:
    """The change; signers without ids are the parties that the draft is to have, each one of its own.

    Whoever was alone in a party before and keeps their address stays who they are."""
    if all(one.id is not None for one in change.signers):
        return change
    alone = [party for party in (packet.parties if packet else []) if len(party.signers) == 1]
    addresses = [one.address for one in change.signers]
    ids = {
        party.signers[0].email: (party.id, party.signers[0].id)
        for party in alone
        if addresses.count(party.signers[0].email) == 1
    }
    return replace(change, signers=[], parties=lone_parties(change.signers, ids))


def with_corrections(change: DocumentChange, packet: Packet) -> DocumentChange:
    """The change; parties of a sent document that differ in e-mail addresses alone are corrections of these."""
    change = as_lone_parties(change, packet)
    if packet.first.status != "sent" or change.parties is UNSET:
        return change
    addresses = {signer.id: signer.email for _, signer in packet.signers()}
    as_before = [
        replace(party, signers=[replace(one, email=addresses.get(one.id or "", one.email)) for one in party.signers])
        for party in change.parties
    ]
    if as_before != [_known(party) for party in packet.parties]:
        return change
    given = [one for party in change.parties for one in party.signers if one.id]
    corrected = [ListedSigner(id=one.id, email=one.email) for one in given if one.address != addresses[one.id or ""]]
    return replace(change, parties=UNSET, signers=[*change.signers, *corrected])


def _known(party: Party) -> KnownParty:
    """The party as a sender gives it back."""
    signers = [
        KnownSigner(
            name=one.name,
            email=one.email,
            language=one.language,
            auth=one.auth,
            time_zone=one.time_zone,
            role=one.role,
            delegation=one.delegation,
            id=one.id,
        )
        for one in party.signers
    ]
    return KnownParty(
        name=party.name,
        signers=signers,
        order=party.order,
        rule=party.rule,
        quorum=party.quorum,
        on_decline=party.on_decline,
        id=party.id,
    )


def _with_code(signer: Signer, before: Signer | None) -> Signer:
    if signer.auth != "access_code" or signer.access_code_hash is not None:
        return signer
    if before is None or before.access_code_hash is None:
        raise BadRequest(f"{signer.email}: access_code is missing")
    return replace(signer, access_code_hash=before.access_code_hash)
