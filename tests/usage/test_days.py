"""Documents by day: whatever was done, and by whatever clock, the figures are those of the database."""

import random
from collections.abc import Sequence
from datetime import timedelta
from statistics import median
from typing import Any

import pytest

from deedbox.accounts import workspaces
from deedbox.kernel import outbox
from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.ids import new_id
from deedbox.signing.model import Document, Packet
from deedbox.signing.store import documents
from deedbox.usage import By, WorkspaceUsage, days, limits, usage
from deedbox.usage.measure import measure
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

DAY, HOUR = 86_400, 3600
LENGTH: dict[By, int] = {"day": 10, "month": 7}
STEPS = 250


class History:
    """What happens to the documents of a workspace, by chance; now and then the clock is set, forward or back."""

    def __init__(self, db: Database, clock: HandClock, seed: int) -> None:
        self.db, self.clock, self.chance = db, clock, random.Random(seed)
        self.workspace = ""
        self.under_way: list[str] = []
        self.kept_at_most = self.forgotten = 0

    async def begin(self) -> None:
        now = self.clock.now()
        self.workspace = (await self.db.write(lambda tx: workspaces.ensure(tx, now=now))).id

    async def step(self) -> None:
        acts = [self.send, self.send, self.complete, self.wait, self.keep_house, self.set_clock, self.delete]
        [act] = self.chance.choices(acts, [6, 6, 8, 5, 4, 1, 1])
        await act()

    async def send(self) -> None:
        now, count = self.clock.now(), self.chance.randint(1, 3)
        packets = [self._packet("sent", instant(now)) for _ in range(count)]
        ids = [packet.first.id for packet in packets]

        def write(tx: Tx) -> None:
            documents.add_all(tx, packets, {one: [] for one in ids})
            outbox.emit_all(tx, self.workspace, [outbox.NewEvent("document.sent", one, {}) for one in ids], now=now)

        await self.db.write(write)
        self.under_way += ids

    async def complete(self) -> None:
        if not self.under_way:
            return
        now, one = self.clock.now(), self.under_way.pop(self.chance.randrange(len(self.under_way)))
        sql = "update documents set status = 'completed', completed_at = :at where id = :id"

        def write(tx: Tx) -> None:
            tx.run(sql, id=one, at=instant(now))
            outbox.emit(tx, self.workspace, "document.completed", one, {}, now=now)

        before = await self.kept()
        await self.db.write(write)
        self.forgotten += before - await self.kept()

    async def delete(self) -> None:
        """A draft: what was sent stays."""
        packet = self._packet("draft", None)
        await self.db.write(lambda tx: documents.add(tx, packet, {packet.first.id: []}))
        assert await self.db.write(lambda tx: documents.drop(tx, packet))

    async def wait(self) -> None:
        self.clock.forward(self.chance.choice([60, HOUR, 5 * HOUR, DAY, 9 * DAY]))

    async def set_clock(self) -> None:
        self.clock.forward(self.chance.choice([-40, -3, -1, 3, 20]) * DAY)

    async def keep_house(self) -> None:
        await measure(self.db, self.clock.now())
        self.kept_at_most = max(self.kept_at_most, await self.kept())

    async def kept(self) -> int:
        rows = await self.db.read(lambda tx: tx.all("select day from document_days order by day"))
        return len(rows)

    def _packet(self, status: Any, sent_at: str | None) -> Packet:
        now = self.clock.now()
        packet, at = new_id("pkt", now), instant(now)
        document = Document(
            new_id("doc", now), self.workspace, packet, "Lease", status, "api", None, {}, [], False, at, at,
            sent_at=sent_at,
        )  # fmt: skip
        return Packet(packet, self.workspace, True, "", "", None, "en", None, None, None, [], [document])

    async def differs(self, by: By) -> str:
        """Where the figures are not those that a look at every document gives; empty if they are."""
        now = self.clock.now()
        found = await self.db.read_aside(lambda tx: usage(tx, self.workspace, by, now))
        sql = "select sent_at, completed_at from documents where sent_at is not null"
        rows = await self.db.read(lambda tx: tx.all(sql))
        told = [(one.slot, one.sent, one.completed, one.sign_seconds) for one in found.slots]
        expected = [(one.slot, *_counted([one.slot], rows, LENGTH[by])) for one in found.slots]
        in_all = _counted([one.slot for one in found.slots], rows, LENGTH[by])
        wrong = [pair for pair in zip(told, expected, strict=True) if pair[0] != pair[1]]
        return str(wrong or "") + ("" if _in_all(found) == in_all else f"{_in_all(found)} != {in_all}")


def _in_all(found: WorkspaceUsage) -> tuple[int, int, int | None]:
    return found.sent, found.completed, found.sign_seconds


def _counted(slots: Sequence[str], rows: Sequence[Any], length: int) -> tuple[int, int, int | None]:
    times = [
        max(0.0, (moment(end) - moment(sent)).total_seconds()) for sent, end in rows if end and end[:length] in slots
    ]
    return sum(sent[:length] in slots for sent, _ in rows), len(times), round(median(times)) if times else None


async def wrong_after(history: History) -> str:
    """What was wrong first in a whole history, looked at now and then."""
    await history.begin()
    for number in range(STEPS):
        await history.step()
        if number % 10 == 9 and (wrong := await history.differs("month") or await history.differs("day")):
            return f"after {number + 1} steps: {wrong}"
    return ""


@pytest.mark.parametrize("seed", [1, 2])
async def test_after_any_history_the_figures_equal_the_database(db: Database, clock: HandClock, seed: int) -> None:
    for kind in days.EVENTS:
        outbox.react(db, kind, days.reopen)
    history = History(db, clock, seed)
    assert await wrong_after(history) == ""
    assert min(history.kept_at_most, history.forgotten) > 0, (
        "a history in which no kept day was opened again shows little"
    )


@pytest.mark.one_database
async def test_days_that_stay_closed_when_a_document_comes_late_are_noticed(db: Database, clock: HandClock) -> None:
    assert await wrong_after(History(db, clock, 1)) != ""


async def test_a_year_is_read_from_its_days_and_from_the_documents_of_the_last(
    db: Database, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "USAGE_DAYS", 10)
    for kind in days.EVENTS:
        outbox.react(db, kind, days.reopen)
    history = History(db, clock, 3)
    await history.begin()
    for _ in range(5):
        await history.send()
        await history.complete()
        clock.forward(DAY)
    await history.keep_house()
    clock.forward(limits.USAGE_DAY_SETTLES_SECONDS)
    await history.keep_house()
    assert await history.kept() == 5
    # Whoever reads counts no document of a kept day again.
    await db.write(lambda tx: tx.run("update document_days set sent = sent + 100"))
    now = clock.now()
    found = await db.read(lambda tx: usage(tx, history.workspace, "month", now))
    assert found.sent >= 500
    clock.forward((limits.USAGE_DAYS + 1) * DAY - limits.USAGE_DAY_SETTLES_SECONDS)
    await history.keep_house()
    [(first,)] = await db.read(lambda tx: tx.all("select min(day) from document_days"))
    assert first >= instant(clock.now() - timedelta(days=limits.USAGE_DAYS))[:10], "older days are forgotten"
