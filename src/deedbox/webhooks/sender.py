"""The delivery loop of a process: claims what is due, endpoint by endpoint, posts it and writes down the outcome."""

import asyncio
import contextlib
from datetime import datetime

from deedbox.kernel import limits as shared_limits
from deedbox.kernel import log, tasks
from deedbox.kernel.clock import Clock, SetBack
from deedbox.kernel.db import NOTICES_MISSED, Database, Tx
from deedbox.webhooks import limits, plan
from deedbox.webhooks.attempt import DeliveryAttempts
from deedbox.webhooks.queue import AttemptSlots, Claim, store

_DEATH = "webhooks are no longer sent: restart the server"
_ENDPOINT_ROOM = AttemptSlots(limits.WEBHOOK_PER_ENDPOINT, limits.WEBHOOK_PER_ENDPOINT)


class _Line:
    """Subscriptions that may have something to send, in the order in which they are served."""

    def __init__(self, at_a_time: int) -> None:
        self.at_a_time = at_a_time
        self.awake = asyncio.Event()
        self._hook_ids: dict[str, None] = {}

    def join(self, hook_id: str) -> None:
        self._hook_ids[hook_id] = None
        self.awake.set()

    def next(self, most: int, busy: dict[str, int]) -> list[str]:
        """The first ones that are not busy. Whoever is busy leaves: the end of an attempt brings it back."""
        chosen: list[str] = []
        while self._hook_ids and len(chosen) < most:
            hook_id = next(iter(self._hook_ids))
            del self._hook_ids[hook_id]
            if busy.get(hook_id, 0) < self.at_a_time:
                chosen.append(hook_id)
        return chosen


class DeliverySender:
    """Sends deliveries. A row leaves the queue only with its outcome: a death at any moment costs another attempt.

    Endpoints that fail stand in a line of their own, one attempt at each look for what is due: no number of them, and
    no number of deliveries that wait for them, delays those that work."""

    def __init__(self, db: Database, clock: Clock, attempts: DeliveryAttempts, *, worker: str) -> None:
        self._db = db
        self._clock = clock
        self._attempts = attempts
        self._worker = worker
        self._running: dict[asyncio.Task[list[Claim]], Claim] = {}
        self._busy: dict[str, int] = {}
        """How many attempts are under way, by subscription."""
        self._busy_failing = 0
        self._failing: dict[str, None] = {}
        """Subscriptions that were failing when they were last seen; who is forgotten is only seen anew."""
        self._working = _Line(limits.WEBHOOK_PER_ENDPOINT)
        self._ailing = _Line(limits.WEBHOOK_PER_FAILING_ENDPOINT)
        self._sending = False
        self._set_back = SetBack()
        self._look_now = asyncio.Event()
        self._looking: list[asyncio.Task[None]] = []
        self._serving: list[asyncio.Task[None]] = []

    async def start(self, *, alone: bool) -> None:
        """Begins to send. `alone`: no other process uses this database, so every lease on it is a dead one's."""
        if alone:
            await self._db.write(store.abandon_all)
        self._db.listeners.add(plan.DELIVERIES_DUE, self.wake)
        self._db.listeners.add(NOTICES_MISSED, self._look_now.set)
        self._sending = True
        self._looking = [tasks.begin(self._look_forever(), _DEATH)]
        self._serving = [tasks.begin(self._serve(line), _DEATH) for line in (self._working, self._ailing)]

    def wake(self, hook_id: str) -> None:
        """This subscription may have something to send. The next look finds those that fail."""
        if hook_id not in self._failing:
            self._working.join(hook_id)

    async def stop(self, seconds: float = shared_limits.DRAIN_SECONDS) -> None:
        """Lets attempts under way end, for so long; then hands them back."""
        self._db.listeners.remove(plan.DELIVERIES_DUE, self.wake)
        self._db.listeners.remove(NOTICES_MISSED, self._look_now.set)
        # A claim under way is waited for: cancelled, its thread would still lease deliveries, to nobody.
        self._sending = False
        for line in (self._working, self._ailing):
            line.awake.set()
        await tasks.end(*self._looking)
        await asyncio.gather(*self._serving, return_exceptions=True)
        await tasks.drain(self._running, seconds)
        now = self._clock.now()
        with tasks.going_on("deliveries cannot be handed back"):  # their leases lapse instead
            await self._db.write(lambda tx: store.hand_back(tx, self._worker, now))
        await self._attempts.close()

    async def run_due(self) -> int:
        """Sends what is due until nothing more is; the number of attempts. For tests and commands."""
        made = 0
        while True:
            await self._look()
            claims = [claim for line in (self._working, self._ailing) for claim in await self._claim(line) or ()]
            if not claims:
                return made
            made += len(claims)
            await asyncio.gather(*(self._attempt(claim) for claim in claims))

    async def _look_forever(self) -> None:
        """Finds what nobody told of: retries, lapsed leases, and what was told while nobody could hear it."""
        while True:
            self._look_now.clear()
            with tasks.going_on("deliveries cannot be looked for"):
                await self._look()
            with tasks.going_on("idle connections to webhooks cannot be closed"):
                await self._attempts.tidy()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.WEBHOOK_POLL_SECONDS):
                    await self._look_now.wait()

    async def _look(self) -> None:
        now = self._clock.now()
        await self._look_at_clock(now)
        for hook_id in await self._db.read(lambda tx: store.due_hooks(tx, now)):
            (self._ailing if hook_id in self._failing else self._working).join(hook_id)

    async def _look_at_clock(self, now: datetime) -> None:
        if not self._set_back.seen(now):
            return
        if sooner := await self._db.write(lambda tx: store.bring_forward(tx, now), isolation="read committed"):
            log.warning("the clock was set back: deliveries that were due are made now", deliveries=sooner)

    async def _serve(self, line: _Line) -> None:
        while self._sending:
            # Before the look, not after it: a wake-up during the look must not be forgotten.
            line.awake.clear()
            claims: list[Claim] | None = None
            with tasks.going_on("deliveries cannot be claimed"):  # the next look brings back who had left the line
                claims = await self._claim(line)
            if claims is None:
                await line.awake.wait()
            else:
                self._begin_all(claims)

    def _room(self) -> AttemptSlots:
        return AttemptSlots(
            limits.WEBHOOK_CONCURRENCY - len(self._running), limits.WEBHOOK_FAILING_CONCURRENCY - self._busy_failing
        )

    async def _claim(self, line: _Line) -> list[Claim] | None:
        """The due deliveries of the next in line; None when there is nobody to serve, or no room."""
        room = self._room()
        most = room.most if line is self._working else min(room.most, room.failing)
        chosen = line.next(min(most, limits.WEBHOOK_CLAIM_HOOKS), self._busy)
        if not chosen:
            return None
        now = self._clock.now()

        def claim(tx: Tx) -> list[Claim]:
            left, claims = room, []
            for hook_id in chosen:
                found = store.claim(tx, self._worker, hook_id, left, now)
                left = left.without(found)
                claims += found
            return claims

        claims = await self._db.write(claim, isolation="read committed")
        failing = {one.endpoint.hook_id for one in claims if one.endpoint.failing}
        for hook_id in chosen:
            self._note(hook_id, failing=hook_id in failing)
        return claims

    def _note(self, hook_id: str, *, failing: bool) -> None:
        self._failing.pop(hook_id, None)
        if failing:
            self._failing[hook_id] = None
        if len(self._failing) > limits.WEBHOOK_FAILING_KNOWN:
            del self._failing[next(iter(self._failing))]

    def _begin_all(self, claims: list[Claim]) -> None:
        for claim in claims if self._sending else []:
            self._begin(claim)

    def _begin(self, claim: Claim) -> None:
        task = asyncio.create_task(self._attempt(claim))
        hook_id = claim.endpoint.hook_id
        self._running[task] = claim
        self._busy[hook_id] = self._busy.get(hook_id, 0) + 1
        self._busy_failing += claim.endpoint.failing
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[list[Claim]]) -> None:
        claim = self._running.pop(task)
        hook_id = claim.endpoint.hook_id
        self._busy_failing -= claim.endpoint.failing
        self._busy[hook_id] -= 1
        if not self._busy[hook_id]:
            del self._busy[hook_id]
        followers = [] if task.cancelled() else task.result()
        self._begin_all(followers)
        if not followers:
            self.wake(hook_id)

    async def _attempt(self, claim: Claim) -> list[Claim]:
        """Deliveries that follow at once: claimed with the outcome, so that a busy endpoint costs one commit each."""
        outcome = await self._attempts.make(claim)
        hook_id, now = claim.endpoint.hook_id, self._clock.now()
        delivered = outcome.status == "delivered"
        self._note(hook_id, failing=not delivered)
        chains = delivered and self._sending and self._room().most > limits.WEBHOOK_CHAIN_ROOM

        def end(tx: Tx) -> list[Claim]:
            store.end(tx, self._worker, outcome, now)
            return store.claim(tx, self._worker, hook_id, _ENDPOINT_ROOM, now) if chains else []

        with tasks.going_on("the outcome of a delivery cannot be saved", delivery=claim.id):
            return await self._db.write(end, isolation="read committed")
        return []  # the lease lapses and the attempt is made again
