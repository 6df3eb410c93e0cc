"""A stream of one object's bytes that survives a broken connection."""

import threading
from typing import Any

from deedbox.kernel import limits
from deedbox.kernel.errors import ErrorCode, Unavailable
from deedbox.kernel.s3.failures import Rejected, translate_failures


class ObjectStream:
    """An object from `start` on, `length` bytes or to its end. Its methods block: they are for threads.

    What a connection loses on the way is asked for again, from the byte after the last that came."""

    def __init__(self, client: Any, where: str, request: dict[str, str], start: int, length: int | None) -> None:
        self._client = client
        self._where = where
        self._request = request
        self._at = start
        self._end = None if length is None else start + length
        self._body: Any = None
        self._closed = False
        self._lock = threading.Lock()
        self._ask()

    @property
    def remaining(self) -> int:
        """How many bytes are still to come."""
        return (self._end or 0) - self._at

    def read(self, most: int) -> bytes:
        """The next bytes; none at the end."""
        with self._lock:
            for _ in range(limits.S3_READ_TRIES):
                if self._closed or self.remaining <= 0:
                    return b""
                if chunk := self._next(min(most, self.remaining)):
                    self._at += len(chunk)
                    return chunk
                self._ask()
        raise Unavailable(
            "The store for files breaks off in the middle of a file. Try again shortly.",
            code=ErrorCode.STORAGE_UNAVAILABLE,
        )

    def close(self) -> None:
        """Lets go of the connection; waits for a read that another thread is in."""
        with self._lock:
            self._closed = True
            self._drop()

    def _next(self, most: int) -> bytes:
        """The next bytes, or none if the connection broke."""
        if self._body is None:
            return b""
        try:
            with translate_failures(self._where):
                return bytes(self._body.read(most))
        except Unavailable:
            return b""

    def _ask(self) -> None:
        self._drop()
        if self._end is not None and self._end <= self._at:
            self._ask_for_nothing()
            return
        wanted = {} if self._at == 0 and self._end is None else {"Range": self._range()}
        try:
            with translate_failures(self._where):
                answer = self._client.get_object(**self._request, **wanted)
        except Rejected as error:
            if error.answer not in ("InvalidRange", "416"):
                raise
            self._end = self._at
            return
        # Whoever asks again must get the rest of the same object.
        self._request.setdefault("IfMatch", answer["ETag"])
        self._body = answer["Body"]
        self._end = self._at + int(answer["ContentLength"])

    def _ask_for_nothing(self) -> None:
        # No range says "no bytes", but a caller learns that the object is gone.
        with translate_failures(self._where):
            self._client.head_object(**self._request)

    def _range(self) -> str:
        return f"bytes={self._at}-{'' if self._end is None else self._end - 1}"

    def _drop(self) -> None:
        body, self._body = self._body, None
        if body is not None:
            body.close()
