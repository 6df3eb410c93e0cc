"""Every POST goes through here: one effect and one answer for one Idempotency-Key."""

from collections.abc import Callable

import msgspec
from litestar import Response

from deedbox.kernel import idempotency, limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Code, Conflict
from deedbox.kernel.idempotency import Answer
from deedbox.web import context
from deedbox.web.context import AnyRequest

_encode = msgspec.json.Encoder().encode


async def once(request: AnyRequest, act: Callable[[Tx], msgspec.Struct], *, status: int) -> Response[bytes]:
    """The response to what `act` returns, or, for a repeated Idempotency-Key, the response given before."""
    key = request.headers.get("idempotency-key")
    if key is None:
        made = await context.of(request).deedbox.db.write(act)
        return _response(Answer(status, _encode(made)))
    return _response(await _keyed(request, key, lambda tx: Answer(status, _encode(act(tx)))))


async def _keyed(request: AnyRequest, key: str, act: Callable[[Tx], Answer]) -> Answer:
    if not 1 <= len(key) <= limits.IDEMPOTENCY_KEY_CHARS or not key.isascii() or not key.isprintable():
        raise BadRequest(f"Idempotency-Key must have 1 to {limits.IDEMPOTENCY_KEY_CHARS} printable ASCII characters")
    here = context.of(request)
    deedbox, caller = here.deedbox, here.caller.id
    this = idempotency.fingerprint(request.method, request.scope["path"], await request.body())
    if (caller, key) in deedbox.running_keys:
        raise Conflict(
            "A request with this Idempotency-Key is still running. Try again in a moment.",
            code=Code.IDEMPOTENCY_IN_PROGRESS,
        )
    deedbox.running_keys.add((caller, key))
    try:
        now = deedbox.clock.now()
        return await deedbox.db.write(lambda tx: idempotency.once(tx, deedbox.box, caller, key, this, act, now=now))
    finally:
        deedbox.running_keys.discard((caller, key))


def _response(answer: Answer) -> Response[bytes]:
    headers = {"Idempotency-Replayed": "true"} if answer.replayed else {}
    return Response(answer.body, status_code=answer.status, headers=headers, media_type="application/json")
