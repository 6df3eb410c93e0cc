"""What the tests run inside a sandbox: well-behaved functions and every kind of bad one."""

import ctypes
import hashlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from typing import Any

from deedbox.kernel.errors import BadRequest, Conflict, ErrorCode, ServiceError

_loaded: list[str] = []


class Encrypted(BadRequest):
    """A domain error that is defined beside the function that raises it."""


def set_up(word: str) -> None:
    _loaded.append(word)


def loaded() -> list[str]:
    return _loaded


def echo(*values: Any) -> list[Any]:
    return list(values)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pid() -> int:
    return os.getpid()


def surroundings() -> dict[str, Any]:
    return {"environment": dict(os.environ), "folder": os.getcwd(), "arguments": sys.argv[1:]}


def nap(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def spin() -> None:
    while True:
        pass


def spin_for(cpu_seconds: float) -> int:
    start = time.process_time()
    while time.process_time() - start < cpu_seconds:
        pass
    return os.getpid()


def eat_memory() -> int:
    eaten = []
    while True:
        eaten.append(bytearray(16 * 1024 * 1024))


def leave() -> None:
    os._exit(3)


def abort() -> None:
    os.abort()


def segfault() -> None:
    ctypes.string_at(8)


def exit_politely() -> None:
    sys.exit(0)


def fall_silent() -> None:
    """Ignores every signal that can be ignored, then sleeps."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(60)


def stop_itself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def leave_a_child_behind() -> int:
    """Starts a process that outlives the function."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    return child


def read_file() -> str:
    with open("/etc/passwd") as file:
        return file.read()


def open_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def write_file(path: str) -> int:
    with open(path, "wb", buffering=0) as file:
        return file.write(b"x" * 10)


def raise_limits() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def run_a_program() -> int:
    return subprocess.run(["/bin/true"], check=False).returncode


def much(size: int) -> bytes:
    return bytes(size)


def yield_all(*pieces: Any) -> Generator[Any, None, int]:
    yield from pieces
    return len(pieces)


def yield_bytes(size: int, step: int) -> Iterator[bytes]:
    for start in range(0, size, step):
        yield bytes(min(step, size - start))


def yield_for_ever() -> Iterator[bytes]:
    while True:
        yield bytes(65_536)


def yield_then(ending: str) -> Iterator[bytes]:
    """Gives one piece away, makes another, and then does something bad."""
    yield b"first"
    yield b"second"
    globals()[ending]()


def yield_then_refuse(message: str) -> Iterator[bytes]:
    yield b"first"
    yield b"second"
    raise BadRequest(message)


def give_back(data: bytes, step: int) -> Generator[bytes, None, str]:
    for start in range(0, len(data), step):
        yield data[start : start + step]
    return digest(data)


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


def unspeakable() -> object:
    return threading.Lock()


def chatter() -> str:
    """Writes to every standard stream, from Python and beneath it."""
    print("garbage", flush=True)
    print("garbage", file=sys.stderr, flush=True)
    os.write(1, b"\x00\x00\x00\x04junk" * 1000)
    os.write(2, b"junk")
    assert sys.stdin.read() == ""
    return "clean"


def forge_a_reply(body: bytes) -> None:
    """Writes a frame of its own to every pipe it can find, as code that took over the child would."""
    for descriptor in range(3, 10):
        try:
            os.write(descriptor, len(body).to_bytes(4, "big") + body)
        except OSError:
            continue
    time.sleep(60)


def forge_replies(body: bytes, count: int) -> None:
    """Writes one frame of its own after the other, and waits for nothing."""
    for _ in range(count):
        for descriptor in range(3, 10):
            try:
                os.write(descriptor, len(body).to_bytes(4, "big") + body)
            except OSError:
                continue
        time.sleep(0.02)


def chatter_after_the_answer() -> str:
    """Leaves a thread that writes to the pipes when nobody has asked."""

    def write() -> None:
        time.sleep(0.05)
        for descriptor in range(3, 10):
            try:
                os.write(descriptor, b"\x00\x00\x00\x01\xc0" * 100)
            except OSError:
                continue

    threading.Thread(target=write, daemon=True).start()
    return "answered"


def refuse(message: str) -> None:
    raise BadRequest(message)


def refuse_with_code() -> None:
    raise Conflict("The document is sealed", code=ErrorCode.IDEMPOTENCY_CONFLICT)


def refuse_as_encrypted() -> None:
    raise Encrypted("This PDF is encrypted")


def refuse_strangely() -> None:
    stranger = type("Stranger", (ServiceError,), {"status": 418})
    raise stranger("Strange")


def fail(text: str) -> None:
    raise ZeroDivisionError(text)
