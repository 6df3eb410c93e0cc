"""R4: the lifecycle is a closed table, whatever is done in whatever order, by whomever."""

import asyncio
import functools
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from deedbox.kernel.db.migrate import migrate_sqlite
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.errors import BadRequest, Conflict, TooManyRequests
from deedbox.signing import states
from deedbox.signing.states import MOVES, TERMINAL, Move
from deedbox.web.api_v1.document_record import DocumentRecord, PartyRecord
from tests.conftest import HandClock
from tests.rigs import FULL
from tests.signing.desk import Desk, party

T = TypeVar("T")
EXAMPLES, STEPS = (500, 40) if FULL else (15, 30)
NAMES = ("ann", "bob", "cem", "dan")
SHAPES = (
    (party("One", "ann"),),
    (party("Both", "ann", "bob"),),
    (party("First", "ann"), party("Second", "bob", "cem", order=2)),
    (party("Any", "ann", "bob", rule="any"), party("Last", "cem", order=2)),
    (party("Board", "ann", "bob", "cem", rule="quorum", quorum=2, on_decline="continue_while_possible"),),
    (party("Board", "ann", "bob", "cem", rule="quorum", quorum=2), party("Late", "dan", order=5)),
)


@functools.cache
def _empty() -> bytes:
    """The file of an empty database at the newest schema."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.sqlite"
        migrate_sqlite(path, HandClock().now())
        return path.read_bytes()


def is_met(party: PartyRecord) -> bool:
    needed = {"all": len(party.signers), "any": 1, "quorum": party.quorum or 0}[party.rule]
    return sum(one.status == "signed" for one in party.signers) >= needed


class Lifecycle(RuleBasedStateMachine):
    """One document, and everything that senders, signers and time may try with it."""

    void_after_completed = False
    """The planted bug: a state that can be left although it is the last."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "deedbox.sqlite"
        self.clock = HandClock()
        path.write_bytes(_empty())
        self.db = SqliteDatabase(path)
        self.desk = Desk(self.db, self.clock)
        self.before: DocumentRecord | None = None

    def run(self, act: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(act)

    @initialize(shape=st.sampled_from(SHAPES), expires=st.booleans())
    def begin(self, shape: Any, expires: bool) -> None:
        self.run(self.desk.settle())
        more = {"expires_at": "2026-03-02T12:00:00Z"} if expires else {}
        self.document = self.run(self.desk.draft(*shape, **more))
        self.before = self.document

    def tried(self, move: Move, act: Coroutine[Any, Any, Any]) -> None:
        """The move succeeds only where the table allows it, and ends where the table says."""
        before = self.run(self.desk.now(self.document))
        try:
            self.run(act)
        except (Conflict, BadRequest, TooManyRequests):  # the last one: reminded within the hour
            after = self.run(self.desk.now(self.document))
            assert after == before, f"a refused {move} changed something"
            return
        after = self.run(self.desk.now(self.document))
        allowed = {MOVES.get((before.status, move)), *([before.status] if before.status == "sent" else [])}
        if move == "sign":
            allowed.add("finalizing")
        assert (before.status, move) in MOVES, f"{move} was done in {before.status}"
        assert after.status in allowed, f"{move} led from {before.status} to {after.status}"

    @rule()
    def send(self) -> None:
        self.tried("send", self.desk.send(self.document.id))

    @rule(name=st.sampled_from(NAMES))
    def sign(self, name: str) -> None:
        if self.knows(name):
            self.tried("sign", self.desk.sign(self.document, name))

    @rule(name=st.sampled_from(NAMES))
    def decline(self, name: str) -> None:
        if self.knows(name):
            self.tried("decline", self.desk.decline(self.document, name))

    @rule()
    def void(self) -> None:
        if self.void_after_completed and self.run(self.desk.now(self.document)).status == "completed":
            self.put("voided")
            return
        self.tried("void", self.desk.void(self.document))

    @rule()
    def remind(self) -> None:
        self.tried("remind", self.desk.remind(self.document))

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.forward(3600 * hours)
        self.run(self.desk.expire(self.document))

    @rule()
    def complete(self) -> None:
        """What finalizing does at its end."""
        found = self.run(self.desk.now(self.document))
        if found.status == "finalizing":
            self.put(states.after(found.status, "complete"))

    def put(self, status: str) -> None:
        sql = "update documents set status = :status where id = :id"
        self.run(self.db.write(lambda tx: tx.run(sql, status=status, id=self.document.id)))

    def knows(self, name: str) -> bool:
        return any(one.email.startswith(f"{name}@") for each in self.document.parties for one in each.signers)

    @invariant()
    def holds(self) -> None:
        if self.before is None:
            return
        found = self.run(self.desk.now(self.document))
        before, self.before = self.before, found
        assert before.status not in TERMINAL or found.status == before.status, "a last state was left"
        signers = [one for each in found.parties for one in each.signers]
        signed = [one for one in signers if one.status == "signed"]
        assert found.progress.signers_signed == len(signed)
        assert found.progress.parties_completed == sum(each.status == "completed" for each in found.parties)
        for each in found.parties:
            assert (each.status == "completed") == (is_met(each) and each.status != "canceled")
        if found.status in ("finalizing", "completed"):
            assert all(each.status == "completed" for each in found.parties)
        if found.status in ("declined", "voided", "expired"):
            assert not [one for one in signers if one.status in ("waiting", "notified", "viewed")]
        events = self.run(self.desk.events(found))
        assert events.count("document.signed") == len(signed)
        told = self.run(self.desk.told(found))
        assert events.count("document.declined") == sum(one.status == "declined" for one in signers)
        endings = [
            kind
            for kind, data in told
            if kind in ("document.declined", "document.voided", "document.expired") and data.get("final", True)
        ]
        assert endings == ([f"document.{found.status}"] if endings else [])
        self.run(self.desk.acts(found))

    def teardown(self) -> None:
        self.run(self.db.close())
        self.loop.close()
        self.folder.cleanup()


CHECKED = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)


def test_no_order_of_moves_breaks_the_lifecycle() -> None:
    run_state_machine_as_test(Lifecycle, settings=CHECKED)
    print(f"\nR4: {EXAMPLES} documents, up to {EXAMPLES * STEPS} steps, 0 violations")


def test_the_machine_sees_a_void_after_completion() -> None:
    class Buggy(Lifecycle):
        void_after_completed = True

    machine = Buggy()
    try:
        machine.begin(shape=SHAPES[0], expires=False)
        machine.send()
        machine.sign(name="ann")
        machine.complete()
        machine.holds()
        machine.void()
        with pytest.raises(AssertionError, match="a last state was left"):
            machine.holds()
    finally:
        machine.teardown()
