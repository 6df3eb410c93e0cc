"""The program in a sandbox: load, close the limits, then answer one call after the other until the input ends."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from deedbox.kernel.errors import DeedboxError
from deedbox.kernel.limits import SANDBOX_ERROR_CHARS
from deedbox.kernel.sandbox import Call, SandboxFailed, confine
from deedbox.kernel.sandbox.frames import (
    HEAD_BYTES,
    Broken,
    Done,
    Opening,
    Refused,
    Reply,
    body_bytes,
    frame,
    read_call,
    read_opening,
)


def main() -> None:
    confine.follow_parent()
    requests, replies = _take_pipes()
    opening = read_opening(_receive(requests))
    try:
        _load(opening)
    except Exception as error:  # whatever a module does when it is loaded, the server must learn of it
        _send(replies, frame(Broken(reason="crashed", text=_text(error))))
        return
    _send(replies, frame(Done()))
    while True:
        _send(replies, _answer(opening, requests))


def _take_pipes() -> tuple[int, int]:
    """The pipes to the server, moved to where no print and no read of standard input can touch them."""
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.close(nowhere)
    return requests, replies


def _load(opening: Opening) -> None:
    for module in opening.preload:
        importlib.import_module(module)
    for call in opening.setup:
        _function(call.function, opening.packages)(*call.args)
    confine.close_off(opening.memory_bytes, opening.open_files)


def _answer(opening: Opening, requests: int) -> bytearray:
    """The reply to the next call, as a frame."""
    body = _receive(requests)
    confine.allow_cpu(opening.cpu_seconds)
    try:
        return frame(_run(read_call(body), opening.packages))
    except SandboxFailed as failed:
        return frame(Broken(reason=failed.reason, text=failed.message))
    except MemoryError:
        del body
        return frame(Broken(reason="memory", text="MemoryError"))
    except Exception as error:  # a value that msgpack cannot carry fails this call and no other
        return frame(Broken(reason="crashed", text=_text(error)))


def _run(call: Call, packages: tuple[str, ...]) -> Reply:
    try:
        return Done(_function(call.function, packages)(*call.args))
    except SandboxFailed:
        raise
    except DeedboxError as error:
        classes = tuple(f"{one.__module__}:{one.__qualname__}" for one in type(error).mro())
        return Refused(classes=classes, message=error.message[:SANDBOX_ERROR_CHARS], code=error.code)


def _function(name: str, packages: tuple[str, ...]) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    if not module.startswith(packages):
        raise LookupError(f"{name} is not in a package that a sandbox may run")
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return function


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:SANDBOX_ERROR_CHARS]


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
