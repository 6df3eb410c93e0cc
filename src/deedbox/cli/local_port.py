"""A port of this machine that a command listens on, until a signal stops it."""

import asyncio
import errno
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from deedbox.cli import limits
from deedbox.kernel.errors import SetupError


class Stoppable(Protocol):
    def stop(self) -> None: ...


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there; SetupError says why it cannot."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(limits.LISTEN_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            reason, step = f"Port {port} on {host} is in use.", "Stop what uses it, or give another with --port N."
        else:
            reason, step = f"Cannot listen on {host} port {port}: {error.strerror}.", "Give another --host or --port."
        raise SetupError(reason, step) from error
    return listener


def address(listener: socket.socket) -> str:
    """The URL under which the socket is reached on this machine."""
    host, port = listener.getsockname()[:2]
    return url(host, port)


def url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def stopped_by_signals(server: Stoppable) -> Iterator[None]:
    """While this lasts, Ctrl-C and a request to terminate stop the server."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
