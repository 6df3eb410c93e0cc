"""The pull feed, the catalogue, the body and the schedule."""

import asyncio
import itertools

import jsonschema_rs
import msgspec
import pytest

from deedbox.kernel import limits, outbox
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.outbox import Event
from deedbox.webhooks import body, catalogue, feed, schedule
from tests.webhooks.conftest import WORKSPACE, Office

pytestmark = pytest.mark.anyio

MEANINGS = {
    "document.sent": "Document sent to signers",
    "document.signed": "A signer completed their signature",
    "document.approved": "An approver agreed",
    "document.completed": "All signers have signed",
    "document.declined": "A signer declined",
    "document.voided": "Document voided by the sender",
    "document.expired": "Document expired before signing",
    "document.failed": "The files of a document could not be converted",
    "party.completed": "A signing party (multi-signer group) completed",
    "packet.sent": "Multi-document packet sent",
    "packet.completed": "All packet documents signed",
    "packet.declined": "A packet signer declined",
    "bulk_send.completed": "Bulk-send batch finished",
}


async def everything(office: Office, page: int) -> list[str]:
    """Every event, as a client sees it that goes on with the last id."""
    found: list[str] = []
    while more := await feed.page(office.db, WORKSPACE, after=found[-1] if found else None, limit=page):
        found += [envelope.id for envelope in more]
    return found


async def test_the_feed_shows_every_event_once_in_pages_with_the_bytes_of_its_delivery(office: Office) -> None:
    made = [(await office.emit("document.sent", f"doc_{number}", n=number)).id for number in range(7)]
    await office.emit(workspace="wsp_2", subject="doc_other")
    assert await everything(office, 3) == made
    [first] = await feed.page(office.db, WORKSPACE, after=None, limit=1)
    await office.make()
    await office.emit("document.sent", "doc_0", n=0)
    await office.send()
    [last] = await feed.page(office.db, WORKSPACE, after=made[-1], limit=5)
    assert msgspec.json.encode(last) == office.sink.received[0].body
    assert first.id == made[0]


async def test_an_event_that_was_committed_late_is_not_missed_by_a_reader_that_had_passed_its_id(
    office: Office,
) -> None:
    late_at = office.clock.now()
    office.clock.forward(1)
    early = await office.emit(subject="doc_1")
    assert await everything(office, 10) == [early.id]
    late = await office.db.write(lambda tx: outbox.emit(tx, WORKSPACE, "document.sent", "doc_2", {}, now=late_at))
    assert late.id < early.id
    [found] = await feed.page(office.db, WORKSPACE, after=early.id, limit=10)
    assert found.id == late.id


async def test_events_of_one_transaction_keep_the_order_of_their_sequence(office: Office) -> None:
    def write(tx: Tx) -> list[str]:
        now = office.clock.now()
        return [outbox.emit(tx, WORKSPACE, "document.sent", "doc_1", {}, now=now).id for _ in range(20)]

    assert await everything(office, 100) == []
    made = await office.db.write(write)
    assert await everything(office, 7) == made


async def test_a_reader_goes_on_after_an_event_however_many_have_no_place_yet(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FEED_PLACED", 3)
    made = [await office.emit(subject=f"doc_{number}") for number in range(9)]
    found = await feed.page(office.db, WORKSPACE, after=made[7].id, limit=5)
    assert [envelope.id for envelope in found] == [made[8].id]
    with pytest.raises(BadRequest):
        await feed.page(office.db, WORKSPACE, after="evt_00000000000000000000000000", limit=5)
    assert await everything(office, 2) == [event.id for event in made]


async def test_readers_at_once_see_the_same_order(office: Office) -> None:
    for number in range(30):
        await office.emit(subject=f"doc_{number}")
    seen = await asyncio.gather(*(everything(office, 9) for _ in range(5)))
    assert len(seen[0]) == 30
    assert all(one == seen[0] for one in seen)


async def test_an_unknown_id_is_refused(office: Office) -> None:
    other = await office.emit(workspace="wsp_2")
    for unknown in ("evt_00000000000000000000000000", other.id):
        with pytest.raises(BadRequest, match="There is no event"):
            await feed.page(office.db, WORKSPACE, after=unknown, limit=5)


def event(data: object, kind: str = "document.sent") -> Event:
    text = msgspec.json.encode(data).decode()
    return Event("evt_1", WORKSPACE, kind, "doc_1", 7, text, "2026-03-01T12:00:00Z")


@pytest.mark.parametrize("kind", list(catalogue.KINDS))
def test_every_kind_s_sample_fits_its_schema_and_anything_else_does_not(kind: str) -> None:
    known = catalogue.KINDS[kind]
    delivered = msgspec.json.decode(body.encode(event(known.sample, kind)))
    validator = jsonschema_rs.validator_for(known.schema)
    validator.validate(delivered)
    for missing in known.sample:
        less = {name: value for name, value in known.sample.items() if name != missing}
        assert not validator.is_valid({**delivered, "data": less})
    assert not validator.is_valid({**delivered, "type": "document.read"})


def test_the_catalogue_has_the_kinds_of_the_contract() -> None:
    assert {name: kind.meaning for name, kind in catalogue.KINDS.items()} == MEANINGS


def test_a_body_is_minified_utf8_in_the_order_of_the_contract() -> None:
    assert body.encode(event({"title": "Ünï", "n": [1, None]})) == (
        '{"id":"evt_1","type":"document.sent","timestamp":"2026-03-01T12:00:00Z","api_version":"v1","sequence":7,'
        '"data":{"title":"Ünï","n":[1,null]}}'
    )


@pytest.mark.parametrize("kind", list(catalogue.KINDS))
def test_a_body_never_has_more_than_20_kb(kind: str) -> None:
    data = '{"title":"' + "x" * (limits.EVENT_BYTES - 12) + '"}'
    assert len(data) == limits.EVENT_BYTES
    largest = Event("evt_" + "Z" * 26, WORKSPACE, kind, "doc_1", 2**63 - 1, data, "2026-03-01T12:00:00Z")
    assert len(body.encode(largest)) <= limits.WEBHOOK_BODY_BYTES


def test_the_waits_are_those_of_the_contract_within_a_fifth() -> None:
    waits = [schedule.delay(ended, None, lambda low, high: (low + high) / 2) for ended in range(11)]
    assert waits == [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400, None]
    for ended, extreme in itertools.product(range(1, 10), (min, max)):
        wait = schedule.delay(ended, None, lambda low, high, extreme=extreme: extreme(low, high))  # type: ignore[misc]
        assert wait == pytest.approx((0.8 if extreme is min else 1.2) * limits.WEBHOOK_RETRY_SECONDS[ended])
    drawn = {schedule.delay(1, None) for _ in range(50)}
    assert all(wait is not None and 4 <= wait <= 6 for wait in drawn)
    assert len(drawn) > 10
