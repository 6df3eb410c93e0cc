"""The program of a sandbox's child: loads its modules, takes on its limits, and answers calls until its input ends."""

import gc
import importlib
import os
import sys
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from deedbox.kernel.errors import ServiceError
from deedbox.kernel.limits import SANDBOX_ERROR_CHARS, SANDBOX_PIECE_BYTES
from deedbox.kernel.sandbox import SandboxFailed, confine
from deedbox.kernel.sandbox.frames import (
    HEAD_BYTES,
    Broken,
    DoneFrame,
    Opening,
    PieceFrame,
    RefusedFrame,
    body_bytes,
    frame,
    read_call,
    read_opening,
)


def main() -> None:
    requests, replies = _take_pipes()
    opening = read_opening(_receive(requests))
    _send(replies, _reply(lambda: DoneFrame(_load(opening))))
    while True:
        body = _receive(requests)
        if not confine.LINUX:
            confine.allow_cpu(os.getpid(), opening.cpu_seconds)
        _send(replies, _reply(partial(_run, body, opening.packages, partial(_give, requests, replies))))


def _take_pipes() -> tuple[int, int]:
    """The pipes to the server, moved to where no print and no read of standard input can touch them."""
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)
    return requests, replies


def _load(opening: Opening) -> str:
    """Why the child is less confined than it should be; empty if it is not."""
    fence = opening.fence if opening.open_files else None
    confine.begin(fence, threads=opening.threads, demanded=opening.fence_demanded)
    for module in opening.preload:
        importlib.import_module(module)
    for call in opening.setup:
        _function(call.function, opening.packages)(*call.args)
    gc.freeze()  # what was loaded stays, and need not be looked through again
    return confine.close_off(opening.memory_bytes, opening.open_files, opening.cpu_seconds * opening.calls)


def _run(body: bytearray, packages: tuple[str, ...], give: Callable[[bytes], None]) -> DoneFrame:
    call = read_call(body)
    result = _function(call.function, packages)(*call.args)
    return _given(result, give) if isinstance(result, Generator) else DoneFrame(result)


def _given(pieces: Generator[bytes, None, Any], give: Callable[[bytes], None]) -> DoneFrame:
    """What the generator returns at its end, with what it yielded last; the rest was given away."""
    last: bytes | None = None
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            done = DoneFrame(end.value, last)
            if last is None or len(frame(done)) <= SANDBOX_PIECE_BYTES:
                return done
            give(last)
            return DoneFrame(end.value)
        if last is not None:
            give(last)
        last = piece


def _give(requests: int, replies: int, piece: bytes) -> None:
    """Returns when the server has put the piece where it belongs, and asks for more."""
    _send(replies, frame(PieceFrame(piece)))
    _receive(requests)


def _reply(act: Callable[[], DoneFrame]) -> bytearray:
    """What came of the act, as a frame; whatever it was, the server learns of it."""
    try:
        return frame(act())
    except SandboxFailed as failed:
        return frame(Broken(reason=failed.reason, text=failed.message))
    except ServiceError as error:
        classes = tuple(f"{one.__module__}:{one.__qualname__}" for one in type(error).mro())
        return frame(RefusedFrame(classes=classes, message=error.message[:SANDBOX_ERROR_CHARS], code=error.code))
    except MemoryError:
        return frame(Broken(reason="memory", text="MemoryError"))
    except Exception as error:  # foreign code on hostile bytes raises anything; it fails this call and no other
        return frame(Broken(reason="crashed", text=f"{type(error).__name__}: {error}"[:SANDBOX_ERROR_CHARS]))


def _function(name: str, packages: tuple[str, ...]) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    if not module.startswith(packages):
        raise LookupError(f"{name} is not in a package that a sandbox may run")
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return function


def _receive(pipe: int) -> bytearray:
    return _read(pipe, body_bytes(_read(pipe, HEAD_BYTES)))


def _read(pipe: int, size: int) -> bytearray:
    """Exactly so many bytes; the process ends when the server has closed the pipe."""
    buffer = bytearray(size)
    view = memoryview(buffer)
    while view:
        count = os.readv(pipe, [view])
        if count == 0:
            sys.exit(0)
        view = view[count:]
    return buffer


def _send(pipe: int, message: bytearray) -> None:
    view = memoryview(message)
    while view:
        view = view[os.write(pipe, view) :]


if __name__ == "__main__":
    main()
