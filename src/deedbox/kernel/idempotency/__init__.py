"""A request sent twice with one Idempotency-Key has one effect and one answer, also across a crash."""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import ValueCipher, same, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, ErrorCode
from deedbox.kernel.idempotency import store

PLANNED = 102
"""The status kept for a request whose work was planned but has not ended; no client ever gets it."""


class StoredResponse(NamedTuple):
    status: int
    body: bytes
    replayed: bool = False
    repeated: bytes | None = None
    """The body of every later answer, where it is another: without what is shown once."""


def fingerprint(method: str, target: str, body: bytes) -> bytes:
    """Tells one request from another; the same bytes give the same fingerprint."""
    return hashlib.sha256(b"\n".join((method.encode(), target.encode(), body))).digest()


class KeyedRequest(NamedTuple):
    """A request that came with an Idempotency-Key."""

    caller: str
    key: str
    fingerprint: bytes
    repeatable: bool = False
    """It changes nothing: an answer too large to be kept is made again."""

    @property
    def hashed_key(self) -> str:
        """As it is kept: a caller may put anything there, a secret too."""
        return sha256(self.key).hex()

    @property
    def place(self) -> str:
        """To which the encrypted exchange is bound."""
        return f"idempotency.exchange:{self.caller}/{self.hashed_key}"


class Exchange(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a request and its answer. It is encrypted: an answer may hold a signing link, and from the hash
    of a request whoever knows the rest of it could guess the code or the password in it."""

    fingerprint: bytes
    body: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Exchange).decode


def once(
    tx: Tx, box: ValueCipher, request: KeyedRequest, act: Callable[[Tx], StoredResponse], *, now: datetime
) -> StoredResponse:
    """The answer of `act`, kept in the transaction of its effect, or the one that it gave before."""
    before = given_before(tx, box, request, now=now)
    if before is not None:
        return before if before.body else act(tx)
    answer = act(tx)
    body = _keepable(answer.repeated or answer.body, request.repeatable)
    encrypted = box.encrypt(_encode(Exchange(request.fingerprint, body)), request.place)
    store.keep(tx, store.StoredKey(answer.status, encrypted, instant(now)), request.caller, request.hashed_key)
    return answer


def settle(tx: Tx, box: ValueCipher, request: KeyedRequest, answer: StoredResponse, *, now: datetime) -> StoredResponse:
    """Return the answer kept for the key. If only the plan is kept, replace it with this answer first.

    Of several requests that waited for the same work, the first one decides what all of them get."""
    before = given_before(tx, box, request, now=now)
    if before is None or len(answer.body) > limits.IDEMPOTENT_RESPONSE_BYTES:
        return answer
    if before.status != PLANNED:
        return before
    encrypted = box.encrypt(_encode(Exchange(request.fingerprint, answer.body)), request.place)
    store.replace(tx, request.caller, request.hashed_key, answer.status, encrypted)
    return answer


def given_before(tx: Tx, box: ValueCipher, request: KeyedRequest, *, now: datetime) -> StoredResponse | None:
    """The answer that is kept for the key, its body empty if it was too large; Conflict if it is another request's."""
    oldest = instant(now - timedelta(hours=limits.IDEMPOTENCY_HOURS))
    kept = store.find(tx, request.caller, request.hashed_key)
    if kept is None or kept.created_at <= oldest:
        return None
    before = _decode(box.decrypt(kept.exchange, request.place))
    if not same(before.fingerprint, request.fingerprint):
        raise Conflict(
            "This Idempotency-Key has already been used with a different request. Use a new key for a new request.",
            code=ErrorCode.IDEMPOTENCY_CONFLICT,
        )
    return StoredResponse(kept.status, before.body, replayed=True)


def _keepable(body: bytes, repeatable: bool) -> bytes:
    """What is kept of the answer: all of it, or nothing."""
    if len(body) <= limits.IDEMPOTENT_RESPONSE_BYTES:
        return body
    if not repeatable:  # raised within the transaction: what was done is undone
        raise BadRequest(
            f"The answer is larger than what is kept for an Idempotency-Key ({limits.IDEMPOTENT_RESPONSE_BYTES} bytes)."
            " Nothing was done. Ask for less at once, or leave the key out."
        )
    return b""
