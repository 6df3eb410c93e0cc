"""A pool of warm children behind a short queue: `await sandbox.call("deedbox.module:function", …)`."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from deedbox.kernel.errors import ErrorCode, ServiceError, Unavailable
from deedbox.kernel.fairness import FairQueue
from deedbox.kernel.sandbox import SandboxCall, SandboxFailed, SandboxKind, Sink
from deedbox.kernel.sandbox.frames import Broken, DoneFrame, RefusedFrame, Reply
from deedbox.kernel.sandbox.process import Child, StartFailed
from deedbox.kernel.traces import span

log = logging.getLogger(__name__)


class Sandbox:
    """The children of one kind. One that dies, stalls, is cancelled or long idle is replaced at the next call."""

    def __init__(self, kind: SandboxKind, *, packages: tuple[str, ...] = ("deedbox.",)) -> None:
        self.kind = kind
        self._packages = packages
        self._turns = FairQueue(kind.processes, "files", kind.caller_processes)
        self._idle: dict[Child, asyncio.TimerHandle | None] = {}
        """The children without a call, the one that had the last call last, and what will end each of them."""
        self._busy: set[Child] = set()
        self._burials: set[asyncio.Task[None]] = set()
        self._closed = False

    async def call(self, function: str, *args: Any, into: Sink | None = None, cpu_seconds: float | None = None) -> Any:
        """What the function returns; its domain errors as they are; SandboxFailed when it broke a limit.

        What a generator yields, which must be bytes, goes into the sink. After an error that is only a part. The call
        may compute for so many seconds, or for as long as the kind says.
        """
        if function.partition(":")[0] not in self.kind.preload:
            raise ValueError(f"{function} is not in a module that the {self.kind.name} sandbox preloads")
        about = {"deedbox.sandbox": self.kind.name, "deedbox.function": function}
        with span("sandbox", about):
            return self._outcome(function, await self._asked(SandboxCall(function, args), into, cpu_seconds))

    async def _asked(self, call: SandboxCall, into: Sink | None, cpu_seconds: float | None) -> Reply:
        async with self._turns.slot(), self._child() as child:
            try:
                reply = await child.ask(call, into, cpu_seconds)
            except SandboxFailed as failed:
                if self._closed:
                    raise _stopping() from failed
                log.warning("sandbox %s: %s failed: %s", self.kind.name, call.function, failed.reason)
                raise
            if isinstance(reply, Broken) and reply.reason == "memory":
                raise SandboxFailed("memory")
        return reply

    async def warm(self) -> None:
        """Starts every child now, so that no call has to wait for modules to load."""
        await asyncio.gather(*(self._warm_one() for _ in range(self.kind.processes)))

    async def close(self) -> None:
        """Kills every child; calls that are still running fail as unavailable."""
        self._closed = True
        for child in self._busy:
            child.signal()
        while self._idle:
            self._bury(self._last_idle())
        await asyncio.gather(*self._burials)

    async def _warm_one(self) -> None:
        async with self._turns.slot(), self._child():
            return

    @asynccontextmanager
    async def _child(self) -> AsyncIterator[Child]:
        """An open child for one call; it is kept if the call left it sound, and killed if not."""
        child = self._take()
        self._busy.add(child)
        sound = False
        try:
            if not child.opened:
                await self._open(child)
            yield child
            sound = not self._closed and child.calls < self.kind.calls
        finally:
            self._busy.discard(child)
            if sound:
                self._rest(child)
            else:
                self._bury(child)

    def _take(self) -> Child:
        if self._closed:
            raise _stopping()
        while self._idle:
            child = self._last_idle()
            if child.alive:
                return child
            self._bury(child)
        return Child(self.kind)

    def _rest(self, child: Child) -> None:
        patience = self.kind.idle_seconds
        loop = asyncio.get_running_loop()
        self._idle[child] = None if patience is None else loop.call_later(patience, self._end_idle, child)

    def _last_idle(self) -> Child:
        child, end = self._idle.popitem()
        if end is not None:
            end.cancel()
        return child

    def _end_idle(self, child: Child) -> None:
        del self._idle[child]
        self._bury(child)

    async def _open(self, child: Child) -> None:
        try:
            await child.open(self._packages)
        except StartFailed as failed:
            if self._closed:
                raise _stopping() from failed
            log.error("sandbox %s could not start: %s", self.kind.name, failed)
            raise Unavailable("The server cannot process files at this moment; its log says why") from failed
        if child.unfiltered:
            _warn_unfiltered(child.unfiltered)

    def _bury(self, child: Child) -> None:
        """Kills the child now; waiting for its end is no part of the call."""
        child.signal()
        burial = asyncio.create_task(child.kill())
        self._burials.add(burial)
        burial.add_done_callback(self._burials.discard)

    def _outcome(self, function: str, reply: Reply) -> Any:
        if isinstance(reply, DoneFrame):
            return reply.value
        if isinstance(reply, RefusedFrame):
            raise _domain_error(reply)
        log.warning("sandbox %s: %s failed: %s", self.kind.name, function, reply.text)
        raise SandboxFailed(reply.reason)


@cache  # once is enough: the next child runs on the same kernel
def _warn_unfiltered(reason: str) -> None:
    log.warning("sandbox without seccomp: %s; a file that takes over a child can reach further than it should", reason)


def _stopping() -> Unavailable:
    return Unavailable("The server is stopping", code=ErrorCode.DRAINING)


def _domain_error(refused: RefusedFrame) -> ServiceError:
    """The error as it was raised in the child; the nearest class above it if its own is not loaded here."""
    known = {f"{one.__module__}:{one.__qualname__}": one for one in _family(ServiceError)}
    kind = next((known[name] for name in refused.classes if name in known), ServiceError)
    error = kind.__new__(kind)
    code = next((one for one in ErrorCode if one == refused.code), None)
    ServiceError.__init__(error, refused.message, code=code)
    return error


def _family(root: type[ServiceError]) -> Iterator[type[ServiceError]]:
    yield root
    for child in root.__subclasses__():
        yield from _family(child)
