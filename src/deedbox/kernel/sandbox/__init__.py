"""Warm, limited child processes that run pure CPU functions on untrusted bytes; `pool.Sandbox` is the way in."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from deedbox.kernel.errors import ErrorCode, ServiceError
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


class SandboxCall(Struct, frozen=True):
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


class Fence(Struct, frozen=True):
    """Files and folders with all that is in them: what a child may read, write, and run programs from."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


class SandboxKind(Struct, frozen=True):
    """What a sandbox can do and what it may use. Modules and setup are loaded before the limits close on it."""

    name: str
    preload: tuple[str, ...]
    setup: tuple[SandboxCall, ...] = ()
    processes: int = 1
    caller_processes: int | None = None
    """How many of them one caller may use at the same time, also while others are free; with None all."""
    memory_bytes: int = SANDBOX_MEMORY_BYTES
    cpu_seconds: int = SANDBOX_CPU_SECONDS
    seconds: float = SANDBOX_SECONDS
    calls: int = SANDBOX_CALLS
    """After so many a child is replaced by a fresh one: a library may leak."""
    idle_seconds: float | None = SANDBOX_IDLE_SECONDS
    """A child without a call for so long is ended; with None it waits for ever."""
    open_files: int = 0
    """How many files a function may have open, for reading, inside its fence; with 0 it can open none."""
    threads: int = 0
    """How many threads a function may start that opens files. A thread can hide from SIGXCPU: such a child has one
    call, whose limit of computing is hard."""
    fence: Fence = Fence()
    fence_demanded: bool = True
    """Whether a child refuses to work where the system can put up no fence."""


class SandboxFailed(ServiceError):
    """The one call that was in the sandbox failed; the reason says on which limit."""

    status = 400
    code = ErrorCode.SANDBOX_FAILED

    def __init__(self, reason: Reason) -> None:
        super().__init__(SENTENCES[reason])
        self.reason = reason


def child_environment() -> dict[str, str]:
    """Only what Python needs to find the same modules: the server's environment may hold secrets."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
    path = os.pathsep.join(entry for entry in sys.path if os.path.isabs(entry))
    # One thread each: the cores are shared out by the number of processes.
    return {**kept, "PYTHONPATH": path, "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
