"""Processes of `deedbox` that begin with its modules loaded: they are forked from one that has loaded them.

To load the modules takes most of a short command's time, and a good part of a server's start; to put its routes
together takes most of what is left of that; the children of its sandboxes, which load others, have a nursery of their
own. What a forked process does from there on is what `python -m deedbox …` does. Tests about the very start, and those
about sandboxes, run Python itself."""

import atexit
import contextlib
import functools
import json
import os
import random
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

from deedbox.cli import COMMANDS

ROOT = Path(__file__).parents[1]
MODULES = (
    "alembic.command",
    "anyio._backends._asyncio",
    *(f"deedbox.cli.{name.replace('-', '_')}" for name in COMMANDS),
    "deedbox.kernel.sandbox.pool",
    "deedbox.search.indexing.chunk",
    "deedbox.search.embed.local",
    "deedbox.search.index.local",
    "deedbox.web.app",
    "deedbox.web.http.server",
    "email_validator",
    "litestar.plugins.pydantic",
    "uvicorn.loops.uvloop",
)
"""None of them starts a thread, which no fork would have."""
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
STREAMS = 3
SECONDS = 120
REQUEST_BYTES = 1 << 20
SANDBOXES = "sandboxes"
KIND = (socket.AF_UNIX, socket.SOCK_SEQPACKET)


class Order(NamedTuple):
    """What is to be run: a module with its words, where, in which environment, and whether in a session of its own."""

    module: str
    words: list[str]
    folder: str
    environment: dict[str, str]
    session: bool = False


class _Forked(subprocess.Popen[str]):
    """As `subprocess.Popen([sys.executable, "-m", module, …])`, but forked from a process with the modules loaded."""

    _told: "socket.socket"

    def _orders(self) -> socket.socket:
        return _nursery()

    def _execute_child(self, args: Any, _executable: Any, _preexec: Any, *rest: Any) -> None:
        _close_fds, _pass_fds, cwd, env, _startup, _flags, _shell, *pipes = rest[:13]
        child_in, _, _, child_out, _, child_err = pipes
        module, *words = args[args.index("-m") + 1 :]
        environment = dict(os.environ if env is None else env)
        order = Order(module, words, str(cwd or os.getcwd()), environment, session=rest[18])
        streams = [own if own != -1 else usual for usual, own in enumerate((child_in, child_out, child_err))]
        self._told, teller = _pair()
        try:
            with teller:
                socket.send_fds(self._orders(), [json.dumps(order).encode()], [teller.fileno(), *streams])
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


@contextlib.contextmanager
def on_path() -> Iterator[Path]:
    """A folder for PATH with a `deedbox` whose processes are forked as well."""
    if sys.platform != "linux":
        yield Path(sys.executable).parent
        return
    # A short path: a socket's name has 100 characters at most.
    with tempfile.TemporaryDirectory(prefix="deed") as folder, socket.socket(*KIND) as listener:
        place, program = Path(folder) / "orders", Path(folder) / "deedbox"
        words = [sys.executable, "-I", "-S", str(ROOT / "tests" / "typed.py"), str(place)]
        program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        program.chmod(0o700)
        listener.bind(str(place))
        listener.listen()
        thread = threading.Thread(target=_pass_on, args=(listener, _nursery()))
        thread.start()
        try:
            yield Path(folder)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _pass_on(listener: socket.socket, orders: socket.socket) -> None:
    """Whoever types is told of the process by the nursery itself. Returns when the listener is shut down."""
    while True:
        try:
            typist, _ = listener.accept()
        except OSError:
            return
        with typist:
            content, streams, *_ = socket.recv_fds(typist, REQUEST_BYTES, STREAMS)
            if content:
                socket.send_fds(orders, [content], [typist.fileno(), *streams])
            for stream in streams:
                os.close(stream)


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
    return socket.socketpair(*KIND)


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
                order = Order(*json.loads(content))
                if order.session:
                    os.setsid()
                with told, contextlib.suppress(OSError):
                    told.send(str(os.getpid()).encode())
                return _prepared(order, streams)
            _watch(child, told, streams)
        for stream in streams:
            os.close(stream)
        told.close()


def _watch(child: int, told: socket.socket, streams: list[int]) -> NoReturn:
    """Tells how the child, which has told its number, ended; ends it when nobody is there to be told."""
    for stream in (*range(STREAMS), *streams):
        os.close(stream)
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
    # A shell makes what it starts in the background deaf to Ctrl-C, the nursery of such a run too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    random.seed()
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115
    return order


def _put_routes_together() -> None:
    """A forked server finds the product's routes as it would have put them together; others it puts together itself."""
    from deedbox.web import app

    anew, usual = app.put_together, app.ROUTES
    together = anew(usual)
    app.put_together = lambda routes: together if routes is usual else anew(routes)


class _Sandboxed(_Forked):
    """A child of a sandbox, forked from the nursery of such children."""

    place: socket.socket

    def _orders(self) -> socket.socket:
        return self.place


def _open_sandboxes() -> None:
    """From here on sandboxes get their children from a nursery, which loads their modules for the first of them."""
    from deedbox.kernel.sandbox import child_environment, process

    _Sandboxed.place, taken = _pair()
    environment = child_environment()
    places = [str(ROOT), environment["PYTHONPATH"]]
    with taken:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.nursery", str(taken.fileno()), SANDBOXES],
            cwd="/",
            env={**environment, "PYTHONPATH": os.pathsep.join(places)},
            pass_fds=[taken.fileno()],
            stdin=subprocess.DEVNULL,
        )
    vars(process)["subprocess"] = SimpleNamespace(**{**vars(subprocess), "Popen": _Sandboxed})


def _load_sandboxes(orders: socket.socket) -> None:
    """What children for PDFs and texts load. What they prepare then, each does itself: it may start threads."""
    import importlib

    from deedbox.pdf import pdf_sandbox
    from deedbox.search.extract import kinds

    orders.recv(1, socket.MSG_PEEK)
    importlib.import_module("deedbox.kernel.sandbox.child")
    for kind in pdf_sandbox.kinds(1):
        if not kind.open_files:  # what may open files loads its modules behind its fence
            for name in kind.preload:
                importlib.import_module(name)
    for file_kind in kinds.KINDS.values():
        importlib.import_module(f"deedbox.search.extract.{file_kind.module}")


def main() -> None:
    import gc
    import importlib

    orders = socket.socket(fileno=int(sys.argv[1]))
    if SANDBOXES in sys.argv:
        _load_sandboxes(orders)
    else:
        for name in MODULES:
            importlib.import_module(name)
        _put_routes_together()
        _open_sandboxes()
    gc.freeze()
    order = _serve(orders)
    sys.argv = [order.module, *order.words]
    _end(_code_of(order.module))


def _code_of(module: str) -> int:
    """Runs the module to its end; what it would exit with."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> NoReturn:
    """Ends as Python does, but leaves what it holds to the system: to take it apart would copy all that was forked."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
