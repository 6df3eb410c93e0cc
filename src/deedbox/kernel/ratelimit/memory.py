"""The limiter of a single server process: counts in memory, saves behind the requests."""

import asyncio
import logging
from collections import Counter, OrderedDict
from datetime import datetime
from math import ceil

from deedbox.kernel import limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.ratelimit import ADDRESS, WINDOWS, Allowance, RateLimitStatus, store
from deedbox.kernel.ratelimit.admissions import Admissions
from deedbox.kernel.ratelimit.store import KeyUse
from deedbox.kernel.ratelimit.verdict import Window, admit, refuse

_log = logging.getLogger(__name__)


class MemoryLimiter:
    """Exact within one process. What keys used is saved every second and at close, and survives a restart.

    A process that is killed forgets at most what it admitted since the last save, about a second before. Callers
    without a key are counted in memory only; of too many addresses the one unseen for longest is forgotten.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        *,
        windows: tuple[int, int] = WINDOWS,
        addresses: int = limits.ANONYMOUS_ADDRESSES,
    ) -> None:
        self._db = db
        self._clock = clock
        self._minute, self._day = windows
        self._most_addresses = addresses
        self._keys: dict[str, Admissions] = {}
        self._addresses: OrderedDict[str, Admissions] = OrderedDict()
        self._sweep_at = limits.RATE_SWEEP_SUBJECTS
        self._unsaved: list[tuple[str, Admissions]] = []
        self._owed: Counter[KeyUse] = Counter()
        self._saving = asyncio.Lock()
        self._closing = asyncio.Event()
        self._saver: asyncio.Task[None] | None = None

    @property
    def subjects(self) -> int:
        """How many keys and addresses are remembered."""
        return len(self._keys) + len(self._addresses)

    async def hit(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
        return self.hit_now(subject, allowance, now)

    async def peek(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
        return self.peek_now(subject, allowance, now)

    def hit_now(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
        """As `hit`, without an await; on the event loop's thread only."""
        time = now.timestamp()
        admissions = self._known(subject) or self._added(subject, time)
        admissions.look_at_clock(time)
        moment = admissions.advance(time, self._minute, self._day)
        count = len(admissions.times)
        per_day = allowance.per_day
        if count - admissions.minute >= allowance.per_minute or (
            per_day is not None and count - admissions.day >= per_day
        ):
            return refuse(time, moment, *self._windows(admissions, allowance))
        if admissions.saved == count:
            self._unsaved.append((subject, admissions))
        admissions.keep = self._minute if per_day is None else self._day
        admissions.append(moment, daily=per_day is not None)
        return admit(moment, *self._windows(admissions, allowance))

    def peek_now(self, subject: str, allowance: Allowance, now: datetime) -> RateLimitStatus:
        """As `peek`, without an await; on the event loop's thread only."""
        time = now.timestamp()
        admissions = self._known(subject)
        if admissions is None:
            admissions = Admissions(saved=-1, keep=self._day)
        moment = admissions.advance(time, self._minute, self._day)
        return admit(moment, *self._windows(admissions, allowance))

    async def start(self) -> None:
        now = self._clock.now().timestamp()
        for subject, second, requests in await self._db.read(lambda tx: store.saved_usage(tx, int(now))):
            # The end of its second: not before it really was, so that no window can come to hold too many.
            (self._keys.get(subject) or self._added(subject, now)).restore(second + 1.0, requests)
        self._saver = asyncio.create_task(self._save_until_closed())

    async def flush(self) -> None:
        async with self._saving:
            self._collect()
            now = int(self._clock.now().timestamp())
            for usage in [usage for usage in self._owed if usage.forget_at <= now]:
                del self._owed[usage]
            if not self._owed:
                return
            owed = list(self._owed.items())

            def save(tx: Tx) -> None:
                store.prune_usage(tx, now)
                store.add_usage(tx, owed)

            await self._db.write(save)
            self._owed.clear()

    async def close(self) -> None:
        self._closing.set()
        try:
            if self._saver is not None:
                await self._saver
        finally:
            await self.flush()

    def _windows(self, admissions: Admissions, allowance: Allowance) -> tuple[Window, Window | None]:
        minute = _window(admissions, admissions.minute, allowance.per_minute, self._minute)
        if allowance.per_day is None:
            return minute, None
        return minute, _window(admissions, admissions.day, allowance.per_day, self._day)

    def _known(self, subject: str) -> Admissions | None:
        if not subject.startswith(ADDRESS):
            return self._keys.get(subject)
        admissions = self._addresses.get(subject)
        if admissions is not None:
            self._addresses.move_to_end(subject)
        return admissions

    def _added(self, subject: str, now: float) -> Admissions:
        if subject.startswith(ADDRESS):
            admissions = self._addresses[subject] = Admissions(saved=-1, keep=self._minute)
            if len(self._addresses) > self._most_addresses:
                self._addresses.popitem(last=False)
            return admissions
        if len(self._keys) >= self._sweep_at:
            self._sweep(now)
        admissions = self._keys[subject] = Admissions(saved=0, keep=self._day)
        return admissions

    def _sweep(self, now: float) -> None:
        self._keys = {key: admissions for key, admissions in self._keys.items() if not admissions.idle(now)}
        # Twice the survivors: a sweep is paid for by the subjects that were added since the last one.
        self._sweep_at = max(limits.RATE_SWEEP_SUBJECTS, 2 * len(self._keys))

    def _collect(self) -> None:
        """Turns the admissions not yet saved into what each key used in each second."""
        unsaved, self._unsaved = self._unsaved, []
        for subject, admissions in unsaved:
            for at in admissions.times[admissions.saved :]:
                second = ceil(at) - 1
                self._owed[KeyUse(second + 1 + admissions.keep, subject, second)] += 1
            admissions.saved = len(admissions.times)

    async def _save_until_closed(self) -> None:
        while not self._closing.is_set():
            try:
                await asyncio.wait_for(self._closing.wait(), limits.RATE_FLUSH_SECONDS)
            except TimeoutError:
                await self._try_to_save()

    async def _try_to_save(self) -> None:
        try:
            await self.flush()
        except ServiceError as error:
            _log.warning("what API keys used could not be saved, will try again: %s", error)


def _window(admissions: Admissions, head: int, limit: int, seconds: int) -> Window:
    times = admissions.times
    count = len(times)
    used = count - head
    oldest = times[head] if used else None
    blocker = times[count - limit] if used >= limit > 0 else None
    return Window(limit, seconds, used, oldest, blocker)
