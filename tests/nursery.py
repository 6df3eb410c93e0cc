"""Processes of `deedbox` that begin with its modules loaded: they are forked from one that has loaded them.

To load the modules takes most of a short command's time, and a good part of a server's start. What a forked process
does from there on is what `python -m deedbox …` does. Tests about the very start run Python itself."""

import atexit
import contextlib
import functools
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from deedbox.cli import COMMANDS

ROOT = Path(__file__).parents[1]
MODULES = (
    *(f"deedbox.cli.{name.replace('-', '_')}" for name in COMMANDS),
    "deedbox.kernel.sandbox.pool",
    "deedbox.search.embed.local",
    "deedbox.web.app",
    "deedbox.web.frame.server",
    "litestar.plugins.pydantic",
    "uvicorn.loops.auto",
)
"""None of them starts a thread, which no fork would have."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
STREAMS = 3
SECONDS = 120
REQUEST_BYTES = 1 << 20


class Order(NamedTuple):
    """What is to be run: a module with its words, where, and in which environment."""

    module: str
    words: list[str]
    folder: str
    environment: dict[str, str]


class _Forked(subprocess.Popen[str]):
    """As `subprocess.Popen([sys.executable, "-m", module, …])`, but forked from a process with the modules loaded."""

    _told: "socket.socket"

    def _execute_child(self, args: Any, _executable: Any, _preexec: Any, *rest: Any) -> None:
        _close_fds, _pass_fds, cwd, env, _startup, _flags, _shell, *pipes = rest[:13]
        child_in, _, _, child_out, _, child_err = pipes
        order = Order(args[2], list(args[3:]), str(cwd or os.getcwd()), dict(os.environ if env is None else env))
        streams = [own if own != -1 else usual for usual, own in enumerate((child_in, child_out, child_err))]
        self._told, teller = _pair()
        try:
            with teller:
                socket.send_fds(_nursery(), [json.dumps(order).encode()], [teller.fileno(), *streams])
            told = self._told.recv(64)
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        assert told, "the nursery has ended: what it wrote says why"
        self.pid, self._child_created = int(told), True

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        try:
            told = self._told.recv(64, socket.MSG_DONTWAIT if wait_flags & os.WNOHANG else 0)
        except BlockingIOError:
            return 0, 0
        self._told.close()
        return self.pid, int(told) if told else signal.SIGKILL

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        """Its own one asks the system, which knows only of one's own children."""
        lock = self._waitpid_lock  # type: ignore[attr-defined]
        if self.returncode is None and lock.acquire(blocking=False):
            try:
                pid, status = self._try_wait(os.WNOHANG) if self.returncode is None else (0, 0)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                lock.release()
        return self.returncode


Process: type[subprocess.Popen[str]] = _Forked if sys.platform == "linux" else subprocess.Popen


def run(
    module: str, *words: str, env: dict[str, str], folder: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """One command, to its end."""
    command = [sys.executable, "-m", module, *words]
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    with Process(command, env=env, cwd=folder, stdin=nothing, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            output, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


@functools.cache
def _nursery() -> socket.socket:
    """Where this process's nursery takes orders, which ends with it, however that is."""
    orders, taken = _pair()
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with taken:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.nursery", str(taken.fileno())],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places), **ONE_THREAD},
            pass_fds=[taken.fileno()],
            stdin=subprocess.DEVNULL,
        )
    atexit.register(process.kill)
    return orders


def _pair() -> tuple[socket.socket, socket.socket]:
    """Of which each knows when the other one's process has ended."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _serve(orders: socket.socket) -> Order:
    """Forks for every order; returns in the forked process alone, with its order."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        content, sent, *_ = socket.recv_fds(orders, REQUEST_BYTES, 1 + STREAMS)
        if not content:  # who asked has ended
            raise SystemExit
        told, streams = socket.socket(fileno=sent[0]), sent[1:]
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            child = os.fork()
            if child == 0:
                told.close()
                return _prepared(Order(*json.loads(content)), streams)
            _watch(child, told, streams)
        for stream in streams:
            os.close(stream)
        told.close()


def _watch(child: int, told: socket.socket, streams: list[int]) -> NoReturn:
    """Tells the child's number, and how it ended; ends it when nobody is there to be told."""
    for stream in (*range(STREAMS), *streams):
        os.close(stream)
    with contextlib.suppress(OSError):
        told.send(str(child).encode())
    threading.Thread(target=_end_with, args=(told, child), daemon=True).start()
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        told.send(str(status).encode())
    os._exit(0)


def _end_with(told: socket.socket, child: int) -> None:
    """Nothing is ever sent this way: it returns when the other side is gone."""
    with contextlib.suppress(OSError):
        told.recv(1)
    os.kill(child, signal.SIGKILL)


def _prepared(order: Order, streams: list[int]) -> Order:
    for usual, own in enumerate(streams):
        os.dup2(own, usual)
        os.close(own)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    random.seed()
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115
    return order


def main() -> None:
    import gc
    import importlib

    for name in MODULES:
        importlib.import_module(name)
    gc.freeze()
    order = _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.argv = [order.module, *order.words]
    runpy.run_module(order.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
