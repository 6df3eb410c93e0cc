"""What code that took over a sandbox would look for, with nothing but the standard library: it also runs as a program.

Each attempt says `done`, or what stopped it.
"""

import errno
import json
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any


def probe(folder: str, port: int) -> dict[str, str]:
    """What came of trying at the data folder, at a port of this machine, and at its own limits."""
    return {
        "master key": outcome(lambda: _read(f"{folder}/master.key")),
        "database": outcome(lambda: _read(f"{folder}/deedbox.sqlite")),
        "list of files": outcome(lambda: os.listdir(folder)),
        "write": outcome(lambda: os.close(os.open(f"{folder}/new", os.O_WRONLY | os.O_CREAT))),
        # Neither for reading nor for writing, by its flags: some fences and filters look at nothing else.
        "empty": outcome(lambda: os.close(os.open(f"{folder}/master.key", 3 | os.O_TRUNC))),
        "mode": outcome(lambda: os.chmod(f"{folder}/master.key", 0o644)),
        "port": outcome(lambda: socket.create_connection(("127.0.0.1", port), timeout=5).close()),
        "datagram": outcome(lambda: _send(port)),
        "local socket": outcome(lambda: _connect(f"{folder}/socket")),
        "fork": outcome(_fork),
        "another program": outcome(lambda: _run(f"{folder}/program")),
        "more computing": outcome(lambda: _lift(resource.RLIMIT_CPU)),
        "more files": outcome(lambda: _lift(resource.RLIMIT_NOFILE)),
        "more memory": outcome(lambda: _lift(resource.RLIMIT_AS)),
        "signal to the server": outcome(lambda: os.kill(os.getppid(), 0)),
    }


def outcome(act: Callable[[], Any]) -> str:
    """What came of the act."""
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    except (ValueError, RuntimeError) as error:
        return str(error)
    return "done"


def threads(wanted: int) -> int:
    """How many of so many threads could be started at the same time."""
    threading.stack_size(262_144)
    go_on, started = threading.Event(), []
    try:
        for _ in range(wanted):
            thread = threading.Thread(target=go_on.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        pass
    go_on.set()
    for thread in started:
        thread.join()
    return len(started)


def who() -> int:
    return os.getuid()


def ignore_the_limit_of_computing() -> None:
    """Ignores and blocks the signal that ends a process at its limit, where it may, and computes on."""
    outcome(lambda: signal.signal(signal.SIGXCPU, signal.SIG_IGN))
    outcome(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGXCPU}))
    outcome(lambda: _lift(resource.RLIMIT_CPU))
    while True:
        pass


def _read(path: str) -> None:
    with open(path, "rb") as file:
        file.read(1)


def _send(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", port))


def _connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(path)


def _run(path: str) -> None:
    """Runs a file that is none: a kernel that finds that out would run one that is."""
    try:
        os.execv(path, [path])
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _lift(limit: int) -> None:
    """Above what it is; a limit that there is none of cannot be lifted, so one is set first and then taken off."""
    soft, hard = resource.getrlimit(limit)
    if soft == resource.RLIM_INFINITY:
        resource.setrlimit(limit, (1 << 40, hard))
        resource.setrlimit(limit, (resource.RLIM_INFINITY, hard))
    else:
        resource.setrlimit(limit, (soft + 1, hard if hard == resource.RLIM_INFINITY else max(hard, soft + 1)))


def main(answer: str, folder: str, port: str, wanted: str) -> None:
    """Leaves the answer as a file, as LibreOffice leaves its PDF."""
    if wanted == "compute":
        ignore_the_limit_of_computing()
    found = {**probe(folder, int(port)), "threads": threads(int(wanted)), "user": os.getuid()}
    with open(answer, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
