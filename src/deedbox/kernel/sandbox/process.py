"""The server's side of one child process: a call goes in, a reply or a named failure comes out."""

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from typing import IO

from msgspec import Struct

from deedbox.kernel.errors import Unavailable
from deedbox.kernel.limits import (
    SANDBOX_EXIT_POLL_SECONDS,
    SANDBOX_EXIT_SECONDS,
    SANDBOX_MESSAGE_BYTES,
    SANDBOX_PIECE_BYTES,
    SANDBOX_PIPE_BYTES,
    SANDBOX_START_SECONDS,
)
from deedbox.kernel.sandbox import (
    Reason,
    SandboxCall,
    SandboxFailed,
    SandboxKind,
    Sink,
    Stream,
    child_environment,
    confine,
)
from deedbox.kernel.sandbox.frames import (
    GO_ON,
    HEAD_BYTES,
    Broken,
    DoneFrame,
    Opening,
    PieceFrame,
    Reply,
    body_bytes,
    call_frame,
    frame,
    read_reply,
    read_step,
)


class StartFailed(Exception):
    """The child could not load its modules: the installation is broken, not a file."""


class _Replies(asyncio.Protocol):
    """Collects the one frame that a call waits for; a child that writes without being asked is cut off."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._waiter: asyncio.Future[bytearray] | None = None
        self._max_bytes = 0
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._waiter is None or self._waiter.done():
            self._transport.close()
            return
        self._buffer += data
        size = body_bytes(self._buffer)
        if len(self._buffer) < HEAD_BYTES:
            return
        if size > self._max_bytes:
            self._waiter.set_exception(SandboxFailed("too large"))
        elif len(self._buffer) >= HEAD_BYTES + size:
            del self._buffer[:HEAD_BYTES]
            self._waiter.set_result(self._buffer)
            self._buffer = bytearray()  # an idle child keeps no memory of its last answer

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(exc or EOFError("The child is gone"))

    async def take(self, max_bytes: int) -> bytearray:
        """The body of the next frame; EOFError if the child is gone."""
        if self._lost:
            raise EOFError("The child is gone")
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._waiter = asyncio.get_running_loop().create_future()
        return await self._waiter


class _Requests(asyncio.BaseProtocol):
    """Tells when the child has taken enough for more to be written to it."""

    def __init__(self) -> None:
        self._ready = asyncio.Event()
        self._ready.set()
        self._lost = False

    def pause_writing(self) -> None:
        self._ready.clear()

    def resume_writing(self) -> None:
        self._ready.set()

    def connection_lost(self, _: Exception | None) -> None:
        self._lost = True
        self._ready.set()

    async def room(self) -> None:
        """Returns when there is room; EOFError if the child is gone."""
        await self._ready.wait()
        if self._lost:
            raise EOFError("The child is gone")


class Child:
    """A child process. It is opened once; after any exception from `open` or `ask` it must be killed.

    Once it is open, `unfiltered` says why its system calls are not filtered, and is empty if they are.
    """

    def __init__(self, kind: SandboxKind) -> None:
        self.calls = 0
        self.opened = False
        self.unfiltered = ""
        self._kind = kind
        self._process = _spawn()
        self._replies: _Replies
        self._requests: _Requests
        self._input: asyncio.WriteTransport | None = None
        self._output: asyncio.ReadTransport | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    async def open(self, packages: tuple[str, ...]) -> None:
        """Returns when the child has loaded its modules and closed its limits, or raises StartFailed."""
        try:
            async with asyncio.timeout(SANDBOX_START_SECONDS):
                await self._connect()
                reply = await self._exchange(_opening(self._kind, packages))
        except (TimeoutError, EOFError, OSError, ValueError) as error:
            raise StartFailed(f"{type(error).__name__} {error}".strip()) from error
        if not isinstance(reply, DoneFrame):
            raise StartFailed(reply.text if isinstance(reply, Broken) else reply.message)
        self.unfiltered = str(reply.value)
        self.opened = True

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):  # larger pipes are only faster, and the system may ration them
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe and hasattr(fcntl, "F_SETPIPE_SZ"):
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, SANDBOX_PIPE_BYTES)
        output, input_ = self._pipes()
        self._output, self._replies = await loop.connect_read_pipe(_Replies, output)
        self._input, self._requests = await loop.connect_write_pipe(_Requests, input_)

    def _pipes(self) -> tuple[IO[bytes] | None, IO[bytes] | None]:
        """The child's output and input, for the loop to own."""
        return self._process.stdout, self._process.stdin

    async def ask(self, message: Struct, into: Sink | None = None, cpu_seconds: float | None = None) -> Reply:
        """The child's reply after so many seconds of computing, or those of its kind; SandboxFailed tells which limit
        ended it."""
        self.calls += 1
        computing = self._kind.cpu_seconds if cpu_seconds is None else min(cpu_seconds, self._kind.cpu_seconds)
        try:
            with contextlib.suppress(PermissionError):  # it holds itself to what all its calls may take together
                confine.allow_cpu(self.pid, computing)
            async with asyncio.timeout(self._kind.seconds):
                return await self._exchange(message, into)
        except TimeoutError as error:
            raise SandboxFailed("deadline") from error
        except (EOFError, OSError) as error:
            raise SandboxFailed(await self._cause_of_death()) from error
        except (ValueError, RecursionError) as error:  # bytes that are no reply
            raise SandboxFailed("crashed") from error

    async def _exchange(self, message: Struct, into: Sink | None = None) -> Reply:
        if self._input is None:
            raise EOFError("The child was never connected")
        if isinstance(message, SandboxCall):
            before, stream, after = call_frame(message)
            if stream is None:
                self._input.write(before)
            else:
                await self._write(self._input, bytes(before), stream, after)
        else:
            self._input.write(frame(message))
        if into is not None:
            return await self._drain(self._input, into)
        reply = read_reply(await self._replies.take(SANDBOX_MESSAGE_BYTES))
        if isinstance(reply, DoneFrame) and reply.last is not None:
            raise ValueError("a piece that nobody has asked for")
        return reply

    async def _write(self, pipe: asyncio.WriteTransport, before: bytes, stream: Stream, after: bytes) -> None:
        """Returns right after the last piece: a reply that came before it is awaited would be unasked for."""
        left = stream.size_bytes
        while left:
            piece = await anext(stream.pieces, b"")
            if not piece or len(piece) > left:
                raise Unavailable("The file changed while it was read. Try again.")
            await self._requests.room()
            left -= len(piece)
            # With all that belongs to it, so that the child is not woken for a few bytes.
            pipe.write(b"".join((before, piece, b"" if left else after)))
            before = b""
        if not stream.size_bytes:
            pipe.write(before + after)

    async def _drain(self, pipe: asyncio.WriteTransport, into: Sink) -> Reply:
        """The reply, with or after the last piece; the child may send the next only when it is asked for it."""
        left = into.max_bytes
        while True:
            step = read_step(await self._replies.take(SANDBOX_PIECE_BYTES))
            piece = step.data if isinstance(step, PieceFrame) else step.last if isinstance(step, DoneFrame) else None
            if piece is not None:
                left -= len(piece)
                if left < 0:
                    raise SandboxFailed("too large")
                await into.write(piece)
            if not isinstance(step, PieceFrame):
                return step
            pipe.write(GO_ON)

    async def _cause_of_death(self) -> Reason:
        await self._gone()
        if self._process.poll() == -signal.SIGXCPU:
            return "cpu"
        # Only the kernel kills a child that was not given up here: when the machine's memory runs out, or when hostile
        # code has hidden from SIGXCPU.
        return "memory" if self._process.poll() == -signal.SIGKILL else "crashed"

    def signal(self) -> None:
        """Kills the child and everything it started, without waiting for it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def kill(self) -> None:
        """Kills the child and waits until it is gone; its pipes are closed."""
        self.signal()
        for pipe in (self._process.stdin, self._process.stdout) if self._input is None else ():
            if pipe:
                pipe.close()
        if self._output:
            self._output.close()
        if self._input and not self._input.is_closing():
            self._input.abort()
        await asyncio.sleep(0)  # the loop closes the pipes in its next turn, and may have none after this
        await self._gone()

    async def _gone(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SANDBOX_EXIT_SECONDS):
                while self.alive:
                    await asyncio.sleep(SANDBOX_EXIT_POLL_SECONDS)


def _opening(kind: SandboxKind, packages: tuple[str, ...]) -> Opening:
    return Opening(
        packages=packages,
        preload=kind.preload,
        setup=kind.setup,
        memory_bytes=kind.memory_bytes,
        cpu_seconds=kind.cpu_seconds,
        calls=kind.calls,
        open_files=kind.open_files,
        threads=kind.threads,
        fence=kind.fence,
        fence_demanded=kind.fence_demanded,
    )


def _spawn() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "deedbox.kernel.sandbox.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd="/",
        env=child_environment(),
        start_new_session=True,
    )
