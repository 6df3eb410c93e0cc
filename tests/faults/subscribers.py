"""Subscribers of R3 that work, refuse, reset, stall, answer 500, 302, 429 and 410, and what reached them."""

import asyncio
import random
import socket
import zlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from tests.webhooks.sink import RESET, STALL, Received, Reply, Sink

LIVE = ("/healthy", "/resets", "/stalls", "/fails", "/moves", "/busy", "/refuses")
GONE = "/gone"
TRAP = "/trap"


class Score(Struct):
    kills: int = 0
    events: int = 0
    deliveries: int = 0
    attempts: int = 0
    lost: int = 0
    altered: int = 0
    disorder: int = 0
    trapped: int = 0
    disabled: bool = False

    def line(self, where: str, bug: str) -> str:
        return (
            f"R3 webhooks {where}: {self.kills} kills, {self.events} events, {self.deliveries} deliveries, "
            f"{self.attempts} attempts, {self.lost} lost, {self.altered} altered, {self.disorder} out of order, "
            f"{self.trapped} redirects followed (seeded bug: {bug})"
        )


class Subscribers:
    """An event is known by the name that `named` gives it: whoever has it acknowledged says which name to expect."""

    def __init__(self, named: Callable[[Received], str]) -> None:
        self.expected: list[str] = []
        """The events that were acknowledged."""
        self._named = named
        self._sink = Sink()
        self._dice = random.Random(3)
        self._tried: Counter[tuple[str, str]] = Counter()
        self._taken: set[tuple[str, str]] = set()
        self._refusing = socket.socket()
        self._late: asyncio.Server | None = None

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        self._sink.rule = self._rule
        server = await asyncio.start_server(self._sink.serve, "127.0.0.1", 0)
        self._sink.port = server.sockets[0].getsockname()[1]
        self._refusing.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused, and the port is ours
        try:
            yield
        finally:
            server.close()
            if self._late is not None:
                self._late.close()
            self._sink.hang_up()

    async def accept(self) -> None:
        """The one that refused listens from now on."""
        self._late = await asyncio.start_server(self._sink.serve, sock=self._refusing)

    @property
    def stalled(self) -> int:
        """Attempts that are under way, and will be for a while."""
        return self._sink.stalled

    def urls(self) -> list[str]:
        refusing = self._refusing.getsockname()[1]
        ports = {path: refusing if path == "/refuses" else self._sink.port for path in (*LIVE, GONE)}
        return [f"http://127.0.0.1:{port}{path}" for path, port in ports.items()]

    def missing(self) -> int:
        return sum((path, event) not in self._taken for path in LIVE for event in self.expected)

    async def settle(self, *, least: int, patience: float, seconds: float) -> None:
        """Waits until everything has arrived; or for so long as nothing more does."""
        seen, quiet = -1, 0.0
        async with asyncio.timeout(seconds):
            while (self.missing() or len(self.expected) < least) and quiet < patience:
                quiet = quiet + 0.2 if len(self._sink.received) == seen else 0.0
                seen = len(self._sink.received)
                await asyncio.sleep(0.2)

    def judge(self, score: Score) -> Score:
        received = [got for got in self._sink.received if got.path != TRAP]
        bodies: dict[str, set[bytes]] = defaultdict(set)
        sequences: dict[str, list[int]] = defaultdict(list)
        for got in received:
            bodies[got.event_id].add(got.body)
            if got.path == "/healthy":
                sequences[got.json["data"]["document_id"]].append(got.json["sequence"])
        score.events = len(self.expected)
        score.deliveries = len(self.expected) * len(LIVE)
        score.attempts = len(received)
        score.lost = self.missing()
        score.altered = sum(len(versions) > 1 for versions in bodies.values())
        # What came again after a wait in vain came for the first time in order.
        firsts = [list(dict.fromkeys(numbers)) for numbers in sequences.values()]
        score.disorder = sum(numbers != sorted(numbers) for numbers in firsts)
        score.trapped = len(self._sink.to(TRAP))
        return score

    def _rule(self, got: Received) -> Reply:
        """Each bad endpoint misbehaves for the first attempts at every other event, and then takes it."""
        self._tried[got.path, got.event_id] += 1
        tried = self._tried[got.path, got.event_id]
        if got.path == GONE:
            return Reply(410)
        moved, busy = (
            Reply(302, {"Location": f"http://127.0.0.1:{self._sink.port}{TRAP}"}),
            Reply(429, {"Retry-After": "1"}),
        )
        replies = {
            "/resets": [Reply(instead=RESET)] * 2,
            "/stalls": [Reply(instead=STALL)] if self._dice.random() < 0.2 else [],
            "/fails": [Reply(500)] * 2,
            "/moves": [moved],
            "/busy": [busy],
        }
        unlucky = replies.get(got.path, []) if zlib.crc32(got.event_id.encode()) % 2 else []
        if tried <= len(unlucky):
            return unlucky[tried - 1]
        self._taken.add((got.path, self._named(got)))
        return Reply()
