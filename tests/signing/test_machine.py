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
from deedbox.signing.new_document import NewParty
from deedbox.signing.states import MOVES, TERMINAL, Move
from deedbox.web.api_v1.document_record import DocumentRecord, PartyRecord, SignerRecord
from tests.conftest import HandClock
from tests.rigs import FULL
from tests.signing.desk import Desk, party, signer

T = TypeVar("T")
EXAMPLES, STEPS = (500, 40) if FULL else (15, 30)
NAMES = ("ann", "bob", "cem", "dan", "ann2", "bob2")
SHAPES = (
    (party("One", "ann"),),
    (party("Both", "ann", "bob"),),
    (party("First", "ann"), party("Second", "bob", "cem", order=2)),
    (party("Any", "ann", "bob", rule="any"), party("Last", "cem", order=2)),
    (party("Board", "ann", "bob", "cem", rule="quorum", quorum=2, on_decline="continue_while_possible"),),
    (party("Board", "ann", "bob", "cem", rule="quorum", quorum=2), party("Late", "dan", order=5)),
    (NewParty("Ears", [signer("dan", role="cc")]), NewParty("Seat", [signer("ann", delegation=True)], order=2)),
    (
        NewParty("Mixed", [signer("ann", delegation=True), signer("bob", role="approver"), signer("dan", role="cc")]),
        party("Late", "cem", order=2),
    ),
    (
        NewParty(
            "Board",
            [signer("ann", delegation=True), signer("bob", role="approver", delegation=True), signer("cem")],
            rule="quorum",
            quorum=2,
            on_decline="continue_while_possible",
        ),
    ),
)


@functools.cache
def _empty() -> bytes:
    """The file of an empty database at the newest schema."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.sqlite"
        migrate_sqlite(path, HandClock().now())
        return path.read_bytes()


def able(party: PartyRecord) -> list[SignerRecord]:
    """Those whom its rule counts."""
    return [one for one in party.signers if one.role != "cc" and one.delegated_to is None]


def is_met(party: PartyRecord) -> bool:
    needed = {"all": len(able(party)), "any": 1, "quorum": party.quorum or 0}[party.rule]
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
        if move in ("sign", "approve"):
            allowed.add("finalizing")
        assert (before.status, move) in MOVES, f"{move} was done in {before.status}"
        assert after.status in allowed, f"{move} led from {before.status} to {after.status}"

    @rule()
    def send(self) -> None:
        self.tried("send", self.desk.send(self.document.id))

    @rule(name=st.sampled_from(NAMES))
    def sign(self, name: str) -> None:
        if self.knows(name):
            self.tried("sign", self.desk.sign(self.now, name))

    @rule(name=st.sampled_from(NAMES))
    def approve(self, name: str) -> None:
        if self.knows(name):
            self.tried("approve", self.desk.approve(self.now, name))

    @rule(name=st.sampled_from(("ann", "bob")))
    def delegate(self, name: str) -> None:
        if self.knows(name):
            self.tried("delegate", self.desk.delegate(self.now, name, f"{name}2"))

    @rule(name=st.sampled_from(NAMES), auth=st.sampled_from(("none", "email_code")))
    def correct(self, name: str, auth: str) -> None:
        if self.knows(name):
            self.tried("amend", self.desk.correct(self.now, name, auth=auth, language="fr"))

    @rule(name=st.sampled_from(NAMES))
    def decline(self, name: str) -> None:
        if self.knows(name):
            self.tried("decline", self.desk.decline(self.now, name))

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

    @property
    def now(self) -> DocumentRecord:
        return self.run(self.desk.now(self.document))

    def knows(self, name: str) -> bool:
        return any(one.email.startswith(f"{name}@") for each in self.now.parties for one in each.signers)

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
        acting = [each for each in found.parties if able(each)]
        assert found.progress.parties_completed == sum(each.status == "completed" for each in acting)
        for each in acting:
            assert (each.status == "completed") == (is_met(each) and each.status != "canceled")
        seats = [len(able(each)) for each in found.parties]
        assert seats == [len(able(each)) for each in before.parties], "a place was lost or won"
        left = {one.id for one in signers if one.delegated_to}
        assert not [field for field in found.fields if field.signer_id in left], "a field waits for who passed it on"
        if found.status in ("finalizing", "completed"):
            assert all(each.status == "completed" for each in found.parties)
        if found.status in ("declined", "voided", "expired"):
            assert not [one for one in signers if one.status in ("waiting", "notified", "viewed")]
        events = self.run(self.desk.events(found))
        roles = [one.role for one in signed]
        assert events.count("document.signed") == roles.count("signer")
        assert events.count("document.approved") == roles.count("approver")
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
