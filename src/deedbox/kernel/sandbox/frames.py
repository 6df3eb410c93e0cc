"""What crosses the pipes between the server and a sandbox: a length in four bytes, then msgpack."""

from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from deedbox.kernel.limits import SANDBOX_MESSAGE_BYTES
from deedbox.kernel.sandbox import Call, Reason, SandboxFailed

HEAD_BYTES = 4


class Opening(Struct, frozen=True):
    """The first frame to a child: what to load, and the limits to take on after that."""

    packages: tuple[str, ...]
    preload: tuple[str, ...]
    setup: tuple[Call, ...]
    memory_bytes: int
    cpu_seconds: int
    open_files: int


class Done(Struct, frozen=True, tag="done"):
    value: Any = None


class Refused(Struct, frozen=True, tag="refused"):
    """A domain error: its classes from the most special on, its sentence and its code."""

    classes: tuple[str, ...]
    message: str
    code: str


class Broken(Struct, frozen=True, tag="broken"):
    """Any other failure; the text is for the log only."""

    reason: Reason
    text: str


Reply: TypeAlias = Done | Refused | Broken

read_opening = msgspec.msgpack.Decoder(Opening).decode
read_call = msgspec.msgpack.Decoder(Call).decode
_read_reply = msgspec.msgpack.Decoder(Reply)


def read_reply(body: bytes | bytearray) -> Reply:
    """The reply in a frame; ValueError or RecursionError if it is none."""
    reply: Reply = _read_reply.decode(body)
    return reply


def frame(message: Struct) -> bytearray:
    """The message with its length in front; SandboxFailed if it is over the limit."""
    buffer = bytearray(HEAD_BYTES)
    msgspec.msgpack.Encoder().encode_into(message, buffer, HEAD_BYTES)
    size = len(buffer) - HEAD_BYTES
    if size > SANDBOX_MESSAGE_BYTES:
        raise SandboxFailed("too large")
    buffer[:HEAD_BYTES] = size.to_bytes(HEAD_BYTES, "big")
    return buffer


def body_bytes(head: bytes | bytearray | memoryview) -> int:
    """How long the body after this head is."""
    return int.from_bytes(head[:HEAD_BYTES], "big")
