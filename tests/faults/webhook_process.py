"""The process that R3 kills: it emits events of documents, names each once it is committed, and sends deliveries.

Its waits are a hundredth of the real ones and less; all else is the product's. Run as
`python -m tests.faults.webhook_process FOLDER DATABASE EVENTS BUG`."""

import asyncio
import random
import sys
from pathlib import Path

from msgspec.structs import replace

from deedbox.kernel import limits, outbox
from deedbox.kernel.addresses import networks
from deedbox.kernel.clock import SystemClock
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.egress import Egress, EgressResponse, Request
from deedbox.webhooks import catalogue, plan
from deedbox.webhooks import limits as webhooks_limits
from deedbox.webhooks.attempt import DeliveryAttempts
from deedbox.webhooks.queue import AttemptOutcome, Claim
from deedbox.webhooks.queue import store as queue_store
from deedbox.webhooks.sender import DeliverySender

WORKSPACE = "wsp_1"
REBUILT = "rebuild the payload on retry"
FOLLOWED = "follow 302"
LEASED_FOR_EVER = "a lease that never lapses"
NO_BUG = "none"
DOCUMENTS = 5


class RebuildingAttempts(DeliveryAttempts):
    async def make(self, claim: Claim) -> AttemptOutcome:
        if claim.attempts:
            claim = replace(claim, body=claim.body.replace('"data":{', f'"data":{{"attempt":{claim.attempts + 1},'))
        return await super().make(claim)


class FollowingEgress(Egress):
    async def send(self, request: Request) -> EgressResponse:
        answer = await super().send(request)
        if answer.status == 302:
            return await super().send(replace(request, url=answer.headers["location"]))
        return answer


def hurry(bug: str) -> None:
    limits.WEBHOOK_RETRY_SECONDS = (0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 12, 12)  # type: ignore[assignment]
    webhooks_limits.WEBHOOK_SECONDS = 3
    webhooks_limits.WEBHOOK_LEASE_SECONDS = 6
    webhooks_limits.WEBHOOK_POLL_SECONDS = 0.1  # type: ignore[assignment]
    if bug == LEASED_FOR_EVER:
        webhooks_limits.WEBHOOK_LEASE_SECONDS = 10**9
        queue_store.abandon_all = lambda tx: 0  # noqa: ARG005


def opened(url: str) -> Database:
    if url.startswith("sqlite:"):
        return SqliteDatabase(Path(url.removeprefix("sqlite:")))
    from deedbox.kernel.db.postgres import PostgresDatabase

    return PostgresDatabase(url)


async def emit(db: Database, clock: SystemClock) -> None:
    subject, kind = f"doc_{random.randrange(DOCUMENTS)}", random.choice(["document.signed", "party.completed"])

    def write(tx: Tx) -> str:
        return outbox.emit(tx, WORKSPACE, kind, subject, {"document_id": subject, "title": "Über"}, now=clock.now()).id

    event_id = await db.write(write)
    print(event_id, flush=True)


async def main(folder: str, url: str, events: str, bug: str) -> None:
    hurry(bug)
    db, clock, box = opened(url), SystemClock(), ValueCipher(Path(folder) / "master.key")
    for kind in catalogue.KINDS:
        outbox.react(db, kind, plan.plan)
    egress = (FollowingEgress if bug == FOLLOWED else Egress)(networks("127.0.0.0/8"))
    attempts = (RebuildingAttempts if bug == REBUILT else DeliveryAttempts)(box, clock, lambda: egress)
    sender = DeliverySender(db, clock, attempts, worker=f"fault test {random.random()}")
    await sender.start(alone=db.dialect == "sqlite")
    print("ready", flush=True)
    for _ in range(int(events)):
        await emit(db, clock)
        await asyncio.sleep(random.uniform(0, 0.02))
    await asyncio.sleep(3600)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
