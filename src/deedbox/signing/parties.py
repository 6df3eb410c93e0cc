"""The arithmetic of a party: how many must sign, and whether enough still can."""

from collections.abc import Iterable, Sequence

from deedbox.signing.document import Party


def needed(party: Party) -> int:
    """The signatures that complete the party."""
    if party.rule == "all":
        return len(party.signers)
    return 1 if party.rule == "any" else party.quorum or len(party.signers)


def is_met(party: Party) -> bool:
    return _count(party, "signed") >= needed(party)


def can_be_met(party: Party) -> bool:
    """Whether enough signers are left that have not declined."""
    return len(party.signers) - _count(party, "declined") >= needed(party)


def ends_the_document(party: Party) -> bool:
    """Whether a decline in the party ends everything; its decline is counted already."""
    return party.on_decline == "decline_document" or not can_be_met(party)


def next_to_sign(parties: Sequence[Party]) -> list[Party]:
    """The parties of the lowest order that is not complete; none when all are."""
    open_parties = [party for party in parties if party.status not in ("completed", "canceled")]
    first = min((party.order for party in open_parties), default=0)
    return [party for party in open_parties if party.order == first]


def _count(party: Party, status: str) -> int:
    return sum(signer.status == status for signer in party.signers)


def signers(parties: Iterable[Party]) -> int:
    return sum(len(party.signers) for party in parties)
