"""Processes of `deedbox` that begin with its modules loaded: they are forked from one that has loaded them.

To load the modules takes most of a short command's time, and a good part of a server's start. What a forked process
does from there on is what `python -m deedbox …` does. Tests about the very start run Python itself."""

import atexit
import functools
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
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
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._told.connect(str(_nursery()))
        socket.send_fds(self._told, [json.dumps(order).encode()], streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self.pid = int(self._told.recv(64))

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        try:
            told = self._told.recv(64, socket.MSG_DONTWAIT if wait_flags & os.WNOHANG else 0)
        except BlockingIOError:
            return 0, 0
        self._told.close()
        return self.pid, int(told) if told else signal.SIGKILL

    def _internal_poll(self, deadstate: int | None = None, **_: Any) -> int | None:
        asked = {"_waitpid": lambda _pid, flags: self._try_wait(flags)}
        found: int | None = super()._internal_poll(deadstate, **asked)  # type: ignore[misc]
        return found


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
def _nursery() -> Path:
    """The socket of this process's nursery, which ends with it."""
    folder = tempfile.mkdtemp(prefix="nursery")
    path = Path(folder) / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.nursery", str(listener.fileno())],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **ONE_THREAD},
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
        )
    atexit.register(process.kill)
    return path


def _serve(listener: socket.socket) -> Order:
    """Forks for every order; returns in the forked process alone, with its order."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while listener in select.select([listener, sys.stdin], [], [])[0]:  # else who asked has ended
        told, _ = listener.accept()
        content, streams, *_ = socket.recv_fds(told, REQUEST_BYTES, STREAMS)
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            child = os.fork()
            if child == 0:
                told.close()
                return _prepared(Order(*json.loads(content)), streams)
            _watch(child, told, streams)
        for stream in streams:
            os.close(stream)
        told.close()
    raise SystemExit


def _watch(child: int, told: socket.socket, streams: list[int]) -> NoReturn:
    """Tells the child's number, and how it ended."""
    for stream in (*range(STREAMS), *streams):
        os.close(stream)
    told.send(str(child).encode())
    _, status = os.waitpid(child, 0)
    told.send(str(status).encode())
    os._exit(0)


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
