"""Frames between the server and a sandbox: a length in four bytes, then msgpack."""

import os
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from deedbox.kernel.limits import SANDBOX_MESSAGE_BYTES
from deedbox.kernel.sandbox import Fence, Reason, SandboxCall, SandboxFailed, Stream

HEAD_BYTES = 4
GO_ON = bytes(HEAD_BYTES)
"""The frame that asks for the next piece: an empty one."""
_MARK_BYTES = 16
_BYTES_8, _BYTES_32 = 0xC4, 0xC6
"""msgpack's type bytes for bytes whose length is written in one byte, and in four."""


class Opening(Struct, frozen=True):
    """The first frame to a child: what to load, and the limits to take on after that."""

    packages: tuple[str, ...]
    preload: tuple[str, ...]
    setup: tuple[SandboxCall, ...]
    memory_bytes: int
    cpu_seconds: int
    calls: int
    open_files: int
    threads: int
    fence: Fence
    fence_demanded: bool


class PieceFrame(Struct, frozen=True, tag="piece"):
    """Some bytes of a result; the child waits for `GO_ON` before it makes the next."""

    data: bytes


class DoneFrame(Struct, frozen=True, tag="done"):
    value: Any = None
    last: bytes | None = None
    """The last of the pieces: it goes with the reply, and need not be asked for."""


class RefusedFrame(Struct, frozen=True, tag="refused"):
    """A domain error: its classes from the most special on, its sentence and its code."""

    classes: tuple[str, ...]
    message: str
    code: str


class Broken(Struct, frozen=True, tag="broken"):
    """Any other failure; the text is for the log only."""

    reason: Reason
    text: str


Reply: TypeAlias = DoneFrame | RefusedFrame | Broken

read_opening = msgspec.msgpack.Decoder(Opening).decode
read_call = msgspec.msgpack.Decoder(SandboxCall).decode
_read_reply = msgspec.msgpack.Decoder(Reply)
_read_step = msgspec.msgpack.Decoder(Reply | PieceFrame)


def read_reply(body: bytes | bytearray) -> Reply:
    """The reply in a frame; ValueError or RecursionError if it is none."""
    reply: Reply = _read_reply.decode(body)
    return reply


def read_step(body: bytes | bytearray) -> Reply | PieceFrame:
    """As `read_reply`, for a call whose result comes in pieces before its reply."""
    step: Reply | PieceFrame = _read_step.decode(body)
    return step


def frame(message: Struct) -> bytearray:
    """The message with its length in front; SandboxFailed if it is over the limit."""
    buffer = bytearray(HEAD_BYTES)
    msgspec.msgpack.Encoder().encode_into(message, buffer, HEAD_BYTES)
    size = len(buffer) - HEAD_BYTES
    if size > SANDBOX_MESSAGE_BYTES:
        raise SandboxFailed("too large")
    buffer[:HEAD_BYTES] = size.to_bytes(HEAD_BYTES, "big")
    return buffer


def call_frame(call: SandboxCall) -> tuple[bytearray, Stream | None, bytes]:
    """The frame of a call: all of it, or what comes before a stream, the stream, and what comes after it."""
    stream = next((argument for argument in call.args if isinstance(argument, Stream)), None)
    if stream is None:
        return frame(call), None, b""
    mark = os.urandom(_MARK_BYTES)
    args = tuple(mark if argument is stream else argument for argument in call.args)
    before, _, after = frame(SandboxCall(call.function, args)).partition(bytes([_BYTES_8, _MARK_BYTES]) + mark)
    before += bytes([_BYTES_32]) + stream.size_bytes.to_bytes(4, "big")
    size = len(before) - HEAD_BYTES + stream.size_bytes + len(after)
    if size > SANDBOX_MESSAGE_BYTES:
        raise SandboxFailed("too large")
    before[:HEAD_BYTES] = size.to_bytes(HEAD_BYTES, "big")
    return before, stream, bytes(after)


def body_bytes(head: bytes | bytearray | memoryview) -> int:
    """How long the body after this head is."""
    return int.from_bytes(head[:HEAD_BYTES], "big")
