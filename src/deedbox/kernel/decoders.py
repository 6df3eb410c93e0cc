"""Decoders of kinds that are known only when they are asked for; of others, a module makes its own while it is loaded.

msgspec prepares a type when it meets it for the first time. A thread that meets it meanwhile finds it half prepared,
and brings the process down: so one thread prepares at a time, here, or while a module is loaded."""

import threading
from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_preparing = threading.Lock()


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    with _preparing:
        return _made(kind)  # type: ignore[arg-type]


@cache
def _made(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
