"""Warm, limited child processes that run pure CPU functions on untrusted bytes; `pool.Sandbox` is the way in."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from deedbox.kernel.errors import Code, DeedboxError
from deedbox.kernel.limits import (
    SANDBOX_CALLS,
    SANDBOX_CPU_SECONDS,
    SANDBOX_IDLE_SECONDS,
    SANDBOX_MEMORY_BYTES,
    SANDBOX_SECONDS,
)

Reason: TypeAlias = Literal["deadline", "memory", "cpu", "crashed", "too large"]

SENTENCES: dict[Reason, str] = {
    "deadline": "The file took too long to process",
    "memory": "The file needs more memory to process than is allowed",
    "cpu": "The file needs more computing time to process than is allowed",
    "crashed": "The file could not be processed; it may be damaged",
    "too large": "The file, or what was made from it, is too large to process",
}


class Call(Struct, frozen=True):
    """A function as `package.module:name`, and what to call it with."""

    function: str
    args: tuple[Any, ...] = ()


class Stream:
    """An argument of a call that goes to the child piece by piece, and is `bytes` there: the server never holds it."""

    def __init__(self, size_bytes: int, pieces: AsyncIterator[bytes]) -> None:
        self.size_bytes = size_bytes
        self.pieces = pieces


class Sink:
    """Where the pieces that a call yields go, each before the next one leaves the child: the server holds one."""

    def __init__(self, max_bytes: int, write: Callable[[bytes], Awaitable[None]]) -> None:
        self.max_bytes = max_bytes
        self.write = write


class SandboxKind(Struct, frozen=True):
    """What a sandbox can do and what it may use. Modules and setup are loaded before the limits close on it."""

    name: str
    preload: tuple[str, ...]
    setup: tuple[Call, ...] = ()
    processes: int = 1
    memory_bytes: int = SANDBOX_MEMORY_BYTES
    cpu_seconds: int = SANDBOX_CPU_SECONDS
    seconds: float = SANDBOX_SECONDS
    calls: int = SANDBOX_CALLS
    """After so many a child is replaced by a fresh one: a library may leak."""
    idle_seconds: float | None = SANDBOX_IDLE_SECONDS
    """A child without a call for so long is ended; with None it waits for ever."""
    open_files: int = 0
    """How many files a function may have open, for reading; with 0 it can open none."""


class SandboxFailed(DeedboxError):
    """The one call that was in the sandbox failed; the reason says on which limit."""

    status = 400
    code = Code.SANDBOX_FAILED

    def __init__(self, reason: Reason) -> None:
        super().__init__(SENTENCES[reason])
        self.reason = reason
