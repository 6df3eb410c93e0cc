"""An office with hooks: a real database, a real sender, a real receiver, and a clock in hand."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from deedbox.accounts import workspaces
from deedbox.accounts.caller import Caller
from deedbox.kernel import outbox
from deedbox.kernel.addresses import networks
from deedbox.kernel.crypto import Secret, ValueCipher, create_key_file
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.egress import Egress
from deedbox.kernel.outbox import Event
from deedbox.webhooks import catalogue, deliveries, hooks, plan
from deedbox.webhooks.attempt import DeliveryAttempts
from deedbox.webhooks.hook import (
    CreatedHook,
    Delivery,
    DeliveryDetail,
    DeliveryPart,
    Hook,
    HookChange,
    ManagedBy,
    NewHook,
)
from deedbox.webhooks.sender import DeliverySender
from tests.conftest import HandClock
from tests.webhooks.sink import Sink, listening

WORKSPACE = "wsp_1"


def doer(workspace: str = WORKSPACE) -> Caller:
    """Whoever runs the workspace's webhooks."""
    return workspaces.operator(workspace)


class Office:
    """What a workspace does with webhooks."""

    def __init__(self, db: Database, clock: HandClock, box: ValueCipher, egress: Egress, sink: Sink) -> None:
        self.db = db
        self.clock = clock
        self.box = box
        self.egress = egress
        self.sink = sink
        self.jitter = 1.0
        self.sender = self.new_sender("one")

    def new_sender(self, worker: str) -> DeliverySender:
        attempts = DeliveryAttempts(self.box, self.clock, lambda: self.egress, lambda _low, _high: self.jitter)
        return DeliverySender(self.db, self.clock, attempts, worker=worker)

    async def make(
        self,
        url: str | None = None,
        events: list[str] | None = None,
        managed_by: ManagedBy = "api",
        workspace: str = WORKSPACE,
    ) -> tuple[Hook, Secret]:
        made = await self.create(url, events, managed_by, workspace)
        assert made.secret is not None
        return made.hook, made.secret

    async def create(
        self,
        url: str | None = None,
        events: list[str] | None = None,
        managed_by: ManagedBy = "api",
        workspace: str = WORKSPACE,
    ) -> CreatedHook:
        new, now = NewHook(url or self.sink.url, events=events or ["document.sent"]), self.clock.now()
        return await self.db.write(
            lambda tx: hooks.create(tx, self.box, doer(workspace), new, managed_by=managed_by, now=now)
        )

    async def emit(
        self, kind: str = "document.sent", subject: str = "doc_1", workspace: str = WORKSPACE, **data: Any
    ) -> Event:
        def write(tx: Tx) -> Event:
            return outbox.emit(tx, workspace, kind, subject, data, now=self.clock.now())

        event = await self.db.write(write)
        self.clock.forward(0.001)
        return event

    async def hook(self, hook: Hook) -> Hook:
        return await self.db.read(lambda tx: hooks.get(tx, WORKSPACE, hook.id))

    async def change(self, hook: Hook, change: HookChange) -> Hook:
        return await self.db.write(lambda tx: hooks.change(tx, doer(), hook.id, change, now=self.clock.now()))

    async def pause(self, hook: Hook) -> Hook:
        return await self.db.write(lambda tx: hooks.pause(tx, doer(), hook.id, now=self.clock.now()))

    async def resume(self, hook: Hook) -> Hook:
        return await self.db.write(lambda tx: hooks.resume(tx, doer(), hook.id, now=self.clock.now()))

    async def delete(self, hook: Hook) -> None:
        await self.db.write(lambda tx: hooks.delete(tx, doer(), hook.id, now=self.clock.now()))

    async def deliveries(self, hook: Hook, limit: int = 1000) -> list[Delivery]:
        """The oldest first."""
        found = await self.db.read(lambda tx: deliveries.page(tx, WORKSPACE, DeliveryPart(limit, hook_id=hook.id)))
        return found[::-1]

    async def detail(self, delivery: Delivery) -> DeliveryDetail:
        return await self.db.read(lambda tx: deliveries.get(tx, WORKSPACE, delivery.id))

    async def redeliver(self, delivery: Delivery) -> Delivery:
        now = self.clock.now()
        return await self.db.write(lambda tx: deliveries.redeliver(tx, WORKSPACE, delivery.id, now=now))

    async def send(self) -> int:
        return await self.sender.run_due()


@pytest.fixture
def box(tmp_path: Path) -> ValueCipher:
    create_key_file(tmp_path / "master.key")
    return ValueCipher(tmp_path / "master.key")


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with listening() as receiver:
        yield receiver


@pytest.fixture
async def office(db: Database, clock: HandClock, box: ValueCipher, sink: Sink) -> AsyncIterator[Office]:
    for kind in catalogue.KINDS:
        outbox.react(db, kind, plan.plan)

    def found(tx: Tx) -> None:
        for name in (WORKSPACE, "wsp_2"):
            tx.run("insert into workspaces (id, name, created_at) values (:id, '', '')", id=name)

    await db.write(found)
    egress = Egress(networks("127.0.0.0/8"))
    office = Office(db, clock, box, egress, sink)
    yield office
    await office.sender.stop(0)
    await egress.close()
