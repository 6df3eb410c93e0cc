"""Lists of one person's documents: walked by way of the person, they are what a look at every document finds."""

import itertools
import random
from datetime import timedelta
from typing import Any

import pytest

from deedbox.accounts import workspaces
from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.ids import new_id
from deedbox.signing.model import Document, Filter, Packet, PageRequest, Party, Signer, SignerStatus, Status
from deedbox.signing.store import document_counts, document_list, documents
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

PACKETS = 40
PAGE = 3
PEOPLE = ("ann", "ben", "cho")
STATES: tuple[Status, ...] = ("draft", "sent", "completed")
CHANCE = random.Random(7)


def made(workspace: str, now: Any) -> Packet:
    """A packet of some documents in one state each, with some people, perhaps one of them twice."""
    packet, at = new_id("pkt", now), instant(now)
    parties = []
    for order, name in enumerate(CHANCE.choices(PEOPLE, k=CHANCE.randint(1, 3)), 1):
        party, standing = new_id("pty", now), CHANCE.choice(["notified", "signed", "waiting"])
        status: SignerStatus = standing  # type: ignore[assignment]
        one = Signer(new_id("sgn", now), party, name, f"{name}@example.com", "en", "none", status)
        parties.append(Party(party, name, order, "all", None, "decline_document", False, [one]))
    lying = [
        Document(
            new_id("doc", now), workspace, packet, CHANCE.choice(["Lease", "Annex"]), CHANCE.choice(STATES), "api",
            None, {}, [], False, at, at,
        )
        for _ in range(CHANCE.randint(1, 3))
    ]  # fmt: skip
    return Packet(packet, workspace, True, "", "", None, "en", None, None, None, parties, lying)


def matches(packet: Packet, document: Document, wanted: Filter) -> bool:
    people = [signer for _, signer in packet.signers()]
    return (
        (not wanted.statuses or document.status in wanted.statuses)
        and (wanted.q is None or wanted.q in document.title.casefold())
        and (wanted.signer_email is None or wanted.signer_email in [one.email for one in people])
        and (wanted.waits_for is None or (wanted.waits_for, "notified") in [(one.email, one.status) for one in people])
        and (wanted.created_after is None or document.created_at > wanted.created_after)
        and (wanted.created_before is None or document.created_at < wanted.created_before)
    )


def pages(tx: Tx, workspace: str, wanted: Filter, newest_first: bool) -> list[str]:
    found: list[str] = []
    cursor = None
    while part := document_list.page(tx, workspace, wanted, PageRequest(PAGE, cursor, newest_first)):
        found += [document.id for _, document in part]
        cursor = found[-1]
    return found


@pytest.mark.parametrize("few", [0, 1000])
async def test_a_persons_documents_are_those_that_a_look_at_all_of_them_finds(
    db: Database, clock: HandClock, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(limits, "COUNTED_MOST", few)  # by way of the person, or of the few in a state
    start = clock.now()
    ours = (await db.write(lambda tx: workspaces.ensure(tx, now=start))).id
    # Several in one moment: their ids tell nothing of their order then.
    packets = [made(ours, start + timedelta(seconds=number // 4)) for number in range(PACKETS)]
    nothing_asked: dict[str, list[Any]] = {document.id: [] for packet in packets for document in packet.documents}
    await db.write(lambda tx: documents.add_all(tx, packets, nothing_asked))
    each = [(packet, document) for packet in packets for document in packet.documents]
    people: list[dict[str, str]] = [{"signer_email": "ann@example.com"}, {"waits_for": "ben@example.com"}]
    people += [people[0] | people[1], {"signer_email": "nobody@example.com"}]
    span: dict[str, str] = {
        "created_after": instant(start + timedelta(seconds=2)),
        "created_before": instant(start + timedelta(seconds=7)),
    }
    states: list[tuple[Status, ...]] = [(), ("sent",), ("sent", "draft"), ("voided",)]
    more: list[dict[str, str]] = [{}, {"q": "annex"}, span]
    for who, statuses, other, newest in itertools.product(people, states, more, [True, False]):
        wanted = Filter(statuses=statuses, **who, **other)
        expected = sorted((one.id for packet, one in each if matches(packet, one, wanted)), reverse=newest)
        assert await db.read(lambda tx, w=wanted, n=newest: pages(tx, ours, w, n)) == expected, (wanted, newest)  # type: ignore[misc]
    turn = Filter(waits_for="ben@example.com")
    waiting = await db.read(lambda tx: document_counts.waiting_for(tx, ours, "ben@example.com", 1000))
    assert waiting == sum(matches(packet, one, turn) for packet, one in each) > 0
