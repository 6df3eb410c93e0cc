"""Every POST goes through here: one effect and one answer for one Idempotency-Key."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import msgspec
from litestar import Response
from msgspec.structs import replace

from deedbox.kernel import idempotency
from deedbox.kernel.db import Isolation, Tx
from deedbox.kernel.errors import BadRequest, Conflict, ErrorCode
from deedbox.kernel.idempotency import StoredResponse
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.context import AnyRequest

Status: TypeAlias = int | Callable[[msgspec.Struct], int]
"""The answer's status, or what makes it of what was done."""
_encode = msgspec.json.Encoder().encode


class Locking:
    """An act that locks or changes every row that it decides on: PostgreSQL need not watch what it reads."""

    def __init__(self, act: Callable[[Tx], msgspec.Struct]) -> None:
        self._act = act

    def __call__(self, tx: Tx) -> msgspec.Struct:
        return self._act(tx)


async def once(
    request: AnyRequest,
    act: Callable[[Tx], msgspec.Struct],
    *,
    status: Status,
    repeatable: bool = False,
    shown_once: str = "",
) -> Response[bytes]:
    """The response to what `act` returns, or, for a repeated Idempotency-Key, the response given before.

    An act that changes nothing is repeatable: its answer may be larger than what is kept. The field that is shown once
    is not kept: it is null in every response but the first."""
    with claim(request):
        content = await request.body()
        return await claim_once(
            request, act, status=status, content=content, repeatable=repeatable, shown_once=shown_once
        )


@contextmanager
def claim(request: AnyRequest) -> Iterator[None]:
    """While this lasts, a twin with the same Idempotency-Key is refused: for requests that are long in the making."""
    key = request.headers.get("idempotency-key")
    if key is None:
        yield
        return
    if not 1 <= len(key) <= limits.IDEMPOTENCY_KEY_CHARS or not key.isascii() or not key.isprintable():
        raise BadRequest(f"Idempotency-Key must have 1 to {limits.IDEMPOTENCY_KEY_CHARS} printable ASCII characters")
    here = context.of(request)
    running, this = here.deedbox.running_keys, (here.caller.id, key)
    if this in running:
        raise Conflict(
            "A request with this Idempotency-Key is still running. Try again in a moment.",
            code=ErrorCode.IDEMPOTENCY_IN_PROGRESS,
        )
    running.add(this)
    try:
        yield
    finally:
        running.discard(this)


async def given_before(request: AnyRequest, content: bytes) -> Response[bytes] | None:
    """The response that was given before for the Idempotency-Key: for requests whose act takes long to prepare."""
    keyed, deedbox = _keyed(request, content), context.of(request).deedbox
    if keyed is None:
        return None
    now = deedbox.clock.now()
    answer = await deedbox.db.read(lambda tx: idempotency.given_before(tx, deedbox.box, keyed, now=now))
    return _response(answer) if answer is not None and answer.body else None


async def complete(request: AnyRequest, done: msgspec.Struct, *, status: int) -> Response[bytes]:
    """Return the response to work that `once` has planned, with status `PLANNED`, and that has now ended.

    It is kept in place of the plan, so that every replay gets the same bytes."""
    deedbox = context.of(request).deedbox
    keyed, answer = _keyed(request, await request.body()), StoredResponse(status, _encode(done))
    if keyed is None:
        return _response(answer)
    now = deedbox.clock.now()
    return _response(await deedbox.db.write(lambda tx: idempotency.settle(tx, deedbox.box, keyed, answer, now=now)))


async def claim_once(
    request: AnyRequest,
    act: Callable[[Tx], msgspec.Struct],
    *,
    status: Status,
    content: bytes,
    repeatable: bool = False,
    shown_once: str = "",
) -> Response[bytes]:
    """As `once`, for a request that has been claimed; the content tells it from another request with its key."""
    deedbox = context.of(request).deedbox
    keyed = _keyed(request, content, repeatable)

    def answer(tx: Tx) -> StoredResponse:
        done = act(tx)
        repeated = _encode(replace(done, **{shown_once: None})) if hasattr(done, shown_once) else None
        return StoredResponse(status if isinstance(status, int) else status(done), _encode(done), repeated=repeated)

    isolation: Isolation = "read committed" if isinstance(act, Locking) else "serializable"
    if keyed is None:
        return _response(await deedbox.db.write(answer, isolation=isolation))
    now = deedbox.clock.now()
    done = await deedbox.db.write(
        lambda tx: idempotency.once(tx, deedbox.box, keyed, answer, now=now), isolation=isolation
    )
    return _response(done)


def _keyed(request: AnyRequest, content: bytes, repeatable: bool = False) -> idempotency.KeyedRequest | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    this = idempotency.fingerprint(request.method, request.scope["path"], content)
    return idempotency.KeyedRequest(context.of(request).caller.id, key, this, repeatable)


def _response(answer: StoredResponse) -> Response[bytes]:
    headers = {"Idempotency-Replayed": "true"} if answer.replayed else {}
    return Response(answer.body, status_code=answer.status, headers=headers, media_type="application/json")
