"""Clients that go on while something the server needs is away: each answer says so clearly, and they come again."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import httpx

from deedbox.kernel.errors import ErrorCode
from deedbox.web.http.envelope import is_v1
from tests.faults.installation import BREAKS
from tests.faults.ledger import Asked, Ledger
from tests.faults.lifecycle import ANSWERED_AS_UNKNOWN, Client
from tests.faults.signers import Doors

AGAIN_BETWEEN = (0.02, 0.2)
"""Seconds until a client that was sent away comes again: sooner than it was told, as many do."""
SLOWEST_SECONDS = 20.0
"""An answer that takes longer is not clear: whoever waits for it has given up."""
EXPECTED = frozenset(
    {
        ErrorCode.DATABASE_UNAVAILABLE,
        ErrorCode.STORAGE_UNAVAILABLE,
        ErrorCode.STORAGE_FULL,
        ErrorCode.OUTCOME_UNKNOWN,
        ErrorCode.BUSY,
    }
)
HEADERS = ("x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after")


Rest: TypeAlias = Callable[[float], Awaitable[None]]
"""Called after a step with the seconds that it took."""


class SentAway(Exception):
    """The answer says to come again."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Answers:
    """What was said while something was away, and how fast."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.codes: Counter[str] = Counter()
        self.done = 0
        """Requests that were answered with success."""
        self.slowest = 0.0
        """Seconds, of those that say to come again."""
        self.last_refusal = 0.0

    def watch(self, doors: Doors) -> None:
        for client in (doors.sender, doors.public):
            client.event_hooks = {"request": [self._began], "response": [self._ended]}

    async def _began(self, request: httpx.Request) -> None:
        request.extensions["began"] = time.monotonic()

    async def _ended(self, response: httpx.Response) -> None:
        seconds = time.monotonic() - response.request.extensions["began"]
        if seconds > SLOWEST_SECONDS:
            self._ledger.faults.append(f"slow: {response.request.url.path} was answered after {seconds:.0f} s")
        self.done += response.is_success
        if response.status_code < 500 and response.status_code != 408:
            return
        await response.aread()
        if response.status_code != 503:
            self._ledger.faults.append(f"failed: {response.request.url.path} was answered {response.text}")
            self.codes[str(response.status_code)] += 1
            raise SentAway(str(response.status_code))
        self._ledger.faults += [f"unclear: {response.request.url.path}: {each}" for each in unclear(response)]
        code = response.headers.get("x-service-error-code", "none")
        self.codes[code] += 1
        self.slowest = max(self.slowest, seconds)
        self.last_refusal = time.monotonic()
        raise SentAway(code)


def unclear(response: httpx.Response) -> list[str]:
    """What a refusal lacks that would tell its caller what to do."""
    try:
        body: Any = response.json()
    except ValueError:
        return [f"no JSON: {response.text[:200]}"]
    wrong = [f"no {name}" for name in HEADERS if name not in response.headers]
    if response.headers.get("x-service-error-code") not in EXPECTED:
        wrong.append(f"{response.headers.get('x-service-error-code')}: {response.text}")
    keys = {"error", "status"} if is_v1(response.request.url.path) else {"error"}
    if not isinstance(body, dict) or set(body) != keys or len(str(body["error"])) < 20:
        wrong.append(f"another envelope: {response.text}")
    return wrong


class PatientClient(Client):
    """One caller that goes on until it was enough."""

    def __init__(
        self,
        doors: Doors,
        ledger: Ledger,
        chance: random.Random,
        enough: asyncio.Event,
        *,
        rest: Rest | None = None,
    ) -> None:
        super().__init__(doors, ledger, chance)
        self._enough, self._rest = enough, rest

    async def run(self) -> None:
        while not self._enough.is_set():
            began = time.monotonic()
            try:
                await self._step()
                if self._rest is not None:
                    await self._rest(time.monotonic() - began)
            except SentAway:
                await asyncio.sleep(self._chance.uniform(*AGAIN_BETWEEN))
            except BREAKS as error:
                self._ledger.faults.append(f"failed: a connection broke: {error!r}")

    async def ask(self, asked: Asked) -> Any:
        try:
            return await super().ask(asked)
        except SentAway as away:
            self._note(asked, "unknown" if away.code in ANSWERED_AS_UNKNOWN else "refused")
            if asked.key is not None and asked not in self._ledger.owed:
                # Until it is done: "refused" was said of this attempt only, and an earlier one may have been done.
                self._ledger.owed.append(asked)
            raise
