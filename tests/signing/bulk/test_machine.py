"""R4 for bulk sends: whatever is done in whatever order, each row is sent once, and the counts are the rows'."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from deedbox.kernel.crypto import ValueCipher, create_key_file
from deedbox.kernel.db import Tx
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.kernel.in_flight import RequestsInFlight
from deedbox.signing import action_context as desks
from deedbox.signing.actions.create_template import from_document
from deedbox.signing.bulk import accept, model, moves, send_rows, store
from deedbox.signing.bulk.model import BulkSend, Move, NewBulkSend, NewRow, ReadRow, Row
from deedbox.signing.template import NewTemplate
from tests.conftest import HandClock
from tests.signing.desk import Desk, Letters, party, signer
from tests.signing.test_machine import CHECKED, EXAMPLES, STEPS, empty_database

T = TypeVar("T")
ROWS = 24
PACE = 60
"""Rows in a minute: two are sent together."""
ENDED = ("completed", "canceled")
ACTS = {"pause": moves.pause, "resume": moves.resume, "cancel": moves.cancel, "retry": moves.retry}


class Post(Letters):
    """Mail that can be out of order: then a row that needs a mailed code fails."""

    in_order = True

    def delivers(self) -> bool:
        return self.in_order


def new_row(number: int) -> NewRow:
    person = signer(f"ann{number}", auth="email_code" if number % 2 else "none")
    return NewRow(key=f"k{number}", roles={"Tenant": person}, external_id=f"k{number}")


class Batch(RuleBasedStateMachine):
    """One bulk send, its sender, and two workers of whom neither knows what the other does."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        path, ring = Path(self.folder.name) / "deedbox.sqlite", Path(self.folder.name) / "master.key"
        path.write_bytes(empty_database())
        create_key_file(ring)
        self.clock, self.db, self.box, self.post = HandClock(), SqliteDatabase(path), ValueCipher(ring), Post()
        self.ctx = Desk(self.db, self.clock)
        self.ctx.post = self.post
        unused: Any = None
        self.services = desks.SigningServices(
            db=self.db,
            blobs=unused,
            clock=self.clock,
            workshop=unused,
            certificates=unused,
            notifier=self.post,
            address=str,
            under_way=RequestsInFlight(),
        )
        self.sender = send_rows.SendRows(self.services, self.box)
        self.slices: dict[int, tuple[BulkSend, Any, Any]] = {}
        self.id, self.ends = "", 0
        self.before: BulkSend | None = None
        self.sent: dict[str, str | None] = {}

    def run(self, act: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(act)

    @initialize()
    def begin(self) -> None:
        self.run(self.ctx.settle())
        document = self.run(self.ctx.draft(party("Tenant", "ann")))

        def make(tx: Tx) -> str:
            with self.ctx.at(tx) as desk:
                return from_document(desk, NewTemplate(name="Lease"), document.id).id

        self.template_id = self.run(self.db.write(make))

    @property
    def now(self) -> BulkSend | None:
        return self.run(self.db.read(lambda tx: store.find(tx, self.ctx.workspace, self.id)))

    @property
    def rows(self) -> list[Row]:
        return self.run(self.db.read(lambda tx: store.rows(tx, self.id, None, -1, ROWS)))

    def tried(self, move: Move, act: Coroutine[Any, Any, T]) -> T | None:
        """The move succeeds only where the table allows it, and ends where the table says."""
        before = (self.now, self.rows)
        try:
            done = self.run(act)
        except (Conflict, BadRequest, send_rows._Stopped):
            assert (self.now, self.rows) == before, f"a refused {move} changed something"
            return None
        was, found = before[0], self.now
        if was is not None and found is not None and found != was:
            allowed = {model.MOVES.get((was.status, move))} | ({"completed"} if move == "send" else set())
            allowed |= {was.status} if move == "add" else set()  # which may bring nothing new but a pace
            assert found.status in allowed, f"{move} led from {was.status} to {found.status}"
        return done

    @rule(first=st.integers(0, ROWS - 1), number=st.integers(1, 6))
    def upload(self, first: int, number: int) -> None:
        found = self.tried("add", self.uploaded(range(first, min(ROWS, first + number))))
        self.id = found.id if found else self.id

    async def uploaded(self, numbers: range) -> BulkSend:
        new = NewBulkSend(name="Renewal", template_id=self.template_id, rows_per_minute=PACE)
        begun = await self.db.read(lambda tx: accept.start(tx, self.services, self.ctx.workspace, new))
        rows = [ReadRow(index, None, new_row(number)) for index, number in enumerate(numbers)]
        report = await accept.check_rows(self.services, self.box, begun, iter(rows))

        def write(tx: Tx) -> BulkSend:
            with self.ctx.at(tx) as desk:
                return accept.accept(desk, begun, report)

        return await self.db.write(write)

    @rule(act=st.sampled_from(("pause", "resume", "resume", "retry", "cancel")))
    def move(self, act: Any) -> None:
        def write(tx: Tx) -> BulkSend:
            with self.ctx.at(tx) as desk:
                return ACTS[act](desk, moves.find(tx, self.ctx.workspace, self.id))

        if self.id:
            self.tried(act, self.db.write(write))

    @rule(works=st.booleans())
    def mail(self, works: bool) -> None:
        self.post.in_order = works

    @rule(worker=st.integers(0, 1))
    def read(self, worker: int) -> None:
        """A worker takes the next rows and drafts their documents; what becomes of them meanwhile it does not see."""
        self.slices.pop(worker, None)
        part = self.run(self.db.read(lambda tx: send_rows._next(tx, self.ctx.workspace, self.id)))
        if part is not None:
            template = self.run(self.sender._template(part.bulk_send))
            now = self.clock.now()
            opened = [self.run(self.sender._opened(part.bulk_send, row)) for row in part.rows]
            drafted = [self.sender._drafted(part.bulk_send, one, template, now) for one in opened]
            self.slices[worker] = (part.bulk_send, drafted, template)

    @rule(worker=st.integers(0, 1))
    def write(self, worker: int) -> None:
        if worker in self.slices:
            bulk_send, drafted, template = self.slices.pop(worker)
            self.tried("send", self.sender._store(bulk_send, drafted, template, self.clock.now()))

    @rule(slices=st.integers(1, 4))
    def work(self, slices: int) -> None:
        """A worker whom nobody disturbs."""
        for _ in range(slices):
            self.read(worker=0)
            self.write(worker=0)

    @invariant()
    def holds(self) -> None:
        found = self.now
        if found is None:
            return
        rows, before = self.rows, self.before
        statuses, counts = Counter(row.status for row in rows), found.counts
        assert counts.total == len(rows)
        assert (counts.queued, counts.sent, counts.failed, counts.canceled) == tuple(
            statuses[name] for name in ("queued", "sent", "failed", "canceled")
        ), f"{counts} are not {statuses}"
        assert (found.status in ENDED) == (counts.queued == 0), f"{found.status}, and {counts.queued} rows wait"
        self.before = found
        if found.status in ENDED and (before is None or before.status not in ENDED):
            self.ends += 1
        assert self.told("bulk_send.completed") == self.ends, "its end was not told once"
        self.rows_hold(rows)

    def rows_hold(self, rows: list[Row]) -> None:
        sent = {row.key: row.document_id for row in rows if row.status == "sent"}
        assert all((row.document_id is not None) == (row.status == "sent") for row in rows)
        assert all((row.error is not None) == (row.status == "failed") for row in rows)
        assert self.sent.items() <= sent.items(), "a row was sent again"
        self.sent = sent
        sql = "select external_id, id from documents where bulk_send_id = :id"
        there = self.run(self.db.read(lambda tx: tx.all(sql, id=self.id)))
        assert sorted((one[0], one[1]) for one in there) == sorted(sent.items()), "rows and documents differ"
        assert self.told("document.sent") == len(sent)
        invited = Counter(address.partition("@")[0] for kind, address in self.post.sent if kind == "invite")
        assert invited == Counter(key.replace("k", "ann") for key in sent), "someone was not invited once"

    def told(self, kind: str) -> int:
        row = self.run(self.db.read(lambda tx: tx.one("select count(*) from events where kind = :kind", kind=kind)))
        return int(row[0]) if row else 0

    def teardown(self) -> None:
        self.run(self.db.close())
        self.loop.close()
        self.folder.cleanup()


def test_no_order_of_moves_sends_a_row_twice_or_loses_one() -> None:
    run_state_machine_as_test(Batch, settings=CHECKED)
    print(f"\nR4: {EXAMPLES} bulk sends, up to {EXAMPLES * STEPS} steps, 0 violations")


def test_the_machine_sees_a_worker_that_does_not_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "all_in_queue", lambda *_: True)
    machine = Batch()
    try:
        machine.begin()
        machine.upload(first=0, number=5)
        machine.read(worker=0)
        machine.read(worker=1)
        machine.write(worker=0)
        machine.holds()
        machine.write(worker=1)
        with pytest.raises(AssertionError, match="are not"):
            machine.holds()
    finally:
        machine.teardown()
