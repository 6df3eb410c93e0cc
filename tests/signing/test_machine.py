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
from deedbox.signing.new_document import NewParty
from deedbox.signing.states import MOVES, TERMINAL, Move
from deedbox.web.api_v1.document_record import DocumentRecord, PartyRecord, SignerRecord
from tests.conftest import HandClock
from tests.faults import FULL
from tests.signing.desk import Desk, party, signer
from tests.signing.event_order import in_order

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
def empty_database() -> bytes:
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
    """One document or one packet of several, and everything that senders, signers and time may try with it."""

    void_after_completed = False
    """A planted bug: a state that can be left although it is the last."""
    ends_by_halves = False
    """A planted bug: of a packet that is voided, one document stays open."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "deedbox.sqlite"
        self.clock = HandClock()
        path.write_bytes(empty_database())
        self.db = SqliteDatabase(path)
        self.ctx = Desk(self.db, self.clock)
        self.before: DocumentRecord | None = None

    def run(self, act: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(act)

    @initialize(shape=st.sampled_from(SHAPES), expires=st.booleans(), documents=st.integers(1, 3), sent=st.booleans())
    def begin(self, shape: Any, expires: bool, documents: int, sent: bool = False) -> None:
        self.run(self.ctx.settle())
        more = {"expires_at": "2026-03-02T12:00:00Z"} if expires else {}
        if documents > 1:
            self.document = self.run(self.ctx.packet(*shape, documents=documents, **more))
        else:
            self.document = self.run(self.ctx.draft(*shape, **more))
        self.before = self.document
        if sent:
            self.send()

    def tried(self, move: Move, act: Coroutine[Any, Any, Any], name: str | None = None) -> None:
        """The move succeeds only where the table allows it, for whoever's turn it is, and ends where the table says."""
        before = self.run(self.ctx.all(self.document))
        try:
            self.run(act)
        except (Conflict, BadRequest, TooManyRequests):  # the last one: reminded within the hour
            assert self.run(self.ctx.all(self.document)) == before, f"a refused {move} changed something"
            return
        if name is not None:
            assert self.may_act(before[0], move, name), f"{name} did {move} out of turn"
        for was, found in zip(before, self.run(self.ctx.all(self.document)), strict=True):
            allowed = {MOVES.get((was.status, move)), *([was.status] if was.status == "sent" else [])}
            if move in ("sign", "approve"):
                allowed.add("finalizing")
            assert (was.status, move) in MOVES, f"{move} was done in {was.status}"
            assert found.status in allowed, f"{move} led from {was.status} to {found.status}"

    @staticmethod
    def may_act(seen: DocumentRecord, move: Move, name: str) -> bool:
        """Whether it was the turn of this person, whose role has this move."""
        [(party, one)] = [
            (each, one) for each in seen.parties for one in each.signers if one.email.startswith(f"{name}@")
        ]
        others = [each for each in seen.parties if each.order < party.order]
        turn = party.status == "active" and all(each.status == "completed" for each in others)
        role = {"sign": "signer", "approve": "approver"}.get(move, one.role)
        allowed = one.delegation or move != "delegate"
        return turn and one.status in ("notified", "viewed") and one.role == role != "cc" and allowed

    @rule()
    def send(self) -> None:
        self.tried("send", self.ctx.send(self.document.id))

    @rule(name=st.sampled_from(NAMES))
    def sign(self, name: str) -> None:
        if self.knows(name):
            self.tried("sign", self.ctx.sign(self.now, name), name)

    @rule(number=st.integers(0, 5))
    def act_in_turn(self, number: int) -> None:
        """One of those whose turn it is does what is asked: else hardly anything would come to its end."""
        turn = [one for each in self.now.parties if each.status == "active" for one in able(each)]
        waiting = [one for one in turn if one.status in ("notified", "viewed")]
        if waiting:
            one = waiting[number % len(waiting)]
            act = self.sign if one.role == "signer" else self.approve
            act(name=one.email.partition("@")[0])

    @rule(name=st.sampled_from(NAMES))
    def approve(self, name: str) -> None:
        if self.knows(name):
            self.tried("approve", self.ctx.approve(self.now, name), name)

    @rule(name=st.sampled_from(("ann", "bob")))
    def delegate(self, name: str) -> None:
        if self.knows(name):
            self.tried("delegate", self.ctx.delegate(self.now, name, f"{name}2"), name)

    @rule(name=st.sampled_from(NAMES), auth=st.sampled_from(("none", "email_code")))
    def correct(self, name: str, auth: str) -> None:
        if self.knows(name):
            self.tried("amend", self.ctx.correct(self.now, name, auth=auth, language="fr"))

    @rule(name=st.sampled_from(NAMES))
    def decline(self, name: str) -> None:
        if self.knows(name):
            self.tried("decline", self.ctx.decline(self.now, name), name)

    @rule(sure=st.integers(0, 9))
    def void(self, sure: int = 0) -> None:
        if sure:  # seldom, because it is the end
            return
        found = self.run(self.ctx.all(self.document))
        if self.void_after_completed and found[0].status == "completed":
            self.put(found[0], "voided")
            return
        self.tried("void", self.ctx.void(self.document))
        if self.ends_by_halves:
            self.put(found[-1], found[-1].status)

    @rule()
    def remind(self) -> None:
        self.tried("remind", self.ctx.remind(self.document))

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.forward(3600 * hours)
        self.run(self.ctx.expire(self.document))

    @rule(number=st.integers(0, 2))
    def complete(self, number: int) -> None:
        """What finalizing does at its end, with one of the documents; the last of a packet has it certified."""
        waiting = [one for one in self.run(self.ctx.all(self.document)) if one.status == "finalizing"]
        if not waiting:
            return
        self.run(self.ctx.seal(waiting[number % len(waiting)].id))
        if len(waiting) == 1 and self.document.packet_id:
            self.run(self.ctx.certify(self.document))

    def put(self, document: DocumentRecord, status: str) -> None:
        sql = "update documents set status = :status where id = :id"
        self.run(self.db.write(lambda tx: tx.run(sql, status=status, id=document.id)))

    @property
    def now(self) -> DocumentRecord:
        return self.run(self.ctx.now(self.document))

    def knows(self, name: str) -> bool:
        return any(one.email.startswith(f"{name}@") for each in self.now.parties for one in each.signers)

    @invariant()
    def holds(self) -> None:
        if self.before is None:
            return
        found = self.run(self.ctx.all(self.document))
        before, self.before = self.before, found[0]
        assert before.status not in TERMINAL or found[0].status == before.status, "a last state was left"
        standing = {one.status for one in found}
        assert len(standing) == 1 or standing == {"finalizing", "completed"}, "a packet is in two states"
        self.people_hold(before, found[0])
        for one in found:
            assert one.parties == found[0].parties
            self.events_hold(one)
            self.run(self.ctx.acts(one))
        line = self.run(self.ctx.line(self.document))
        assert in_order(line, len(found)), f"told in another order: {line}"
        assert line.count("document.completed") == sum(one.status == "completed" for one in found)
        done = [each for each in found[0].parties if each.status == "completed"]
        assert line.count("party.completed") == len(done)

    def people_hold(self, before: DocumentRecord, found: DocumentRecord) -> None:
        signers = [one for each in found.parties for one in each.signers]
        assert found.progress.signers_signed == sum(one.status == "signed" for one in signers)
        acting = [each for each in found.parties if able(each)]
        assert found.progress.parties_completed == sum(each.status == "completed" for each in acting)
        for each in acting:
            assert (each.status == "completed") == (is_met(each) and each.status != "canceled")
        seats = [len(able(each)) for each in found.parties]
        assert seats == [len(able(each)) for each in before.parties], "a place was lost or won"
        assert not [one for one in signers if one.role == "cc" and one.status in ("signed", "declined")]
        if found.status in ("finalizing", "completed"):
            assert all(each.status == "completed" for each in found.parties)
        if found.status in ("declined", "voided", "expired"):
            assert not [one for one in signers if one.status in ("waiting", "notified", "viewed")]

    def events_hold(self, found: DocumentRecord) -> None:
        signers = [one for each in found.parties for one in each.signers]
        left = {one.id for one in signers if one.delegated_to}
        assert not [field for field in found.fields if field.signer_id in left], "a field waits for who passed it on"
        told = self.run(self.ctx.told(found))
        events = [kind for kind, _ in told]
        roles = [one.role for one in signers if one.status == "signed"]
        assert events.count("document.signed") == roles.count("signer")
        assert events.count("document.approved") == roles.count("approver")
        assert events.count("document.declined") == sum(one.status == "declined" for one in signers)
        endings = [
            kind
            for kind, data in told
            if kind in ("document.declined", "document.voided", "document.expired", "document.completed")
            and data.get("final", True)
        ]
        assert endings == ([f"document.{found.status}"] if endings else [])

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
    print(f"\nR4: {EXAMPLES} documents and packets, up to {EXAMPLES * STEPS} steps, 0 violations")


def test_the_machine_sees_a_void_after_completion() -> None:
    class Buggy(Lifecycle):
        void_after_completed = True

    machine = Buggy()
    try:
        machine.begin(shape=SHAPES[0], expires=False, documents=1)
        machine.send()
        machine.sign(name="ann")
        machine.complete(number=0)
        machine.holds()
        machine.void()
        with pytest.raises(AssertionError, match="a last state was left"):
            machine.holds()
    finally:
        machine.teardown()


def test_the_machine_sees_a_packet_that_ends_by_halves() -> None:
    class Buggy(Lifecycle):
        ends_by_halves = True

    machine = Buggy()
    try:
        machine.begin(shape=SHAPES[0], expires=False, documents=3)
        machine.send()
        machine.holds()
        machine.void()
        with pytest.raises(AssertionError, match="a packet is in two states"):
            machine.holds()
    finally:
        machine.teardown()


def test_the_machine_sees_events_in_another_order() -> None:
    sent, signed = ["packet.sent", *["document.sent"] * 2], ["document.signed"] * 2
    assert in_order([*sent, *signed, "party.completed", *["document.completed"] * 2, "packet.completed"], 2)
    for wrong in (
        [*sent[1:], *sent[:1]], [*sent, *signed, "packet.completed", *["document.completed"] * 2], [*sent, signed[0]],
        [*sent, "packet.declined", *["document.declined"] * 2], [*sent, *["document.voided"] * 2, *signed],
    ):  # fmt: skip
        assert not in_order(wrong, 2), wrong
