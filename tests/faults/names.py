"""A name server that can stop answering, and a Deedbox server that asks nobody else.

To put its address into the place of the system's takes root."""

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

only_as_root = pytest.mark.skipif(os.getuid() != 0, reason="not run: only root can give a process its own name server")
ADDRESS = f"127.77.{os.getpid() >> 8 & 0xFF}.{os.getpid() & 0xFF}"
"""Of this process: tests run beside each other."""
DOMAIN = "faults.test"
_PORT = 53
_HEAD = struct.Struct(">HHHHHH")
_A = 1
_ANSWER = 0x8580
"""An answer with authority."""


class NameServer:
    """Knows every name of its domain, all at 127.0.0.1, for no longer than one question."""

    def __init__(self) -> None:
        self.away = False
        """While it is, it answers nobody."""
        self.asked = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((ADDRESS, _PORT))

    def serve(self) -> None:
        """Until it is closed."""
        while True:
            question, sender = self._socket.recvfrom(4096)
            if not question:
                return
            self.asked += 1
            if not self.away:
                self._socket.sendto(answer(question), sender)

    def close(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", (ADDRESS, _PORT))


def answer(question: bytes) -> bytes:
    number, _, questions, *_ = _HEAD.unpack_from(question)
    end = question.index(b"\0", _HEAD.size) + 1
    asked = question[_HEAD.size : end + 4]
    kind = struct.unpack_from(">H", question, end)[0]
    known = kind == _A
    record = b"\xc0\x0c" + struct.pack(">HHIH", _A, 1, 0, 4) + socket.inet_aton("127.0.0.1") if known else b""
    return _HEAD.pack(number, _ANSWER, questions, int(known), 0, 0) + asked + record


@contextmanager
def naming() -> Iterator[NameServer]:
    server = NameServer()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()
        server._socket.close()


def under(folder: Path) -> tuple[str, ...]:
    """The words of a program that becomes another, for which the name server is the only one."""
    file = folder / "resolv.conf"
    file.write_text(f"nameserver {ADDRESS}\noptions timeout:1 attempts:1\n")
    return ("unshare", "--mount", "sh", "-c", f'mount --bind "{file}" /etc/resolv.conf && exec "$@"', "sh")
