"""The server with the bug that PLANTED_BUG names, so that fault tests can show that they see it."""

import asyncio
import contextlib
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from litestar import Response

from deedbox.cli import main
from deedbox.kernel import idempotency, limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import sha256
from deedbox.kernel.db import Tx, sqlite
from deedbox.kernel.idempotency import StoredResponse
from deedbox.kernel.ratelimit import RateLimitStatus
from deedbox.kernel.sandbox import Sink, Stream
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.search import extract
from deedbox.search.embed import turns
from deedbox.web.http import context, guard, once
from deedbox.web.http.head import Scope
from tests.faults.bulk_faults import row_noted_after_commit
from tests.faults.disk_faults import file_written_after_its_row
from tests.faults.signing_faults import (
    GAP_SECONDS,
    LONG_GAP_SECONDS,
    certified_after_commit,
    check_outside_the_transaction,
    event_after_commit,
)

VARIABLE = "PLANTED_BUG"
SERVER_MEMORY_BYTES = 2 << 30
LEAK_BYTES = 1 << 19
TIMES_AS_LONG = 40
"""A small fault test has 5,000 documents in place of 200,000."""


def answer_before_commit() -> None:
    def commit(self: sqlite.SqliteDatabase, batch: list[sqlite._Write]) -> None:
        self._writer.execute("begin immediate")
        for write in batch:
            self._apply(write)
        batch[0].future.get_loop().call_soon_threadsafe(sqlite._resolve, batch)
        time.sleep(GAP_SECONDS)
        self._writer.execute("commit")

    sqlite.SqliteDatabase._commit = commit  # type: ignore[method-assign]


def key_saved_after_commit() -> None:
    kept_well = once.claim_once

    async def kept(
        request: context.AnyRequest,
        act: Callable[[Tx], msgspec.Struct],
        *,
        status: once.Status,
        content: bytes,
        repeatable: bool = False,
        shown_once: str = "",
    ) -> Response[bytes]:
        here = context.of(request)
        deedbox, caller, now = here.deedbox, here.caller.id, here.deedbox.clock.now()
        key = request.headers.get("idempotency-key")
        if key is None:
            return await kept_well(request, act, status=status, content=content, shown_once=shown_once)
        hashed = sha256(key).hex()
        place = f"idempotency.exchange:{caller}/{hashed}"
        found = await deedbox.db.read(lambda tx: idempotency.store.find(tx, caller, hashed))
        if found is not None:
            return once._response(
                StoredResponse(found.status, deedbox.box.decrypt(found.exchange, place), replayed=True)
            )
        done = await deedbox.db.write(act)
        answer = StoredResponse(status if isinstance(status, int) else status(done), msgspec.json.encode(done))
        await asyncio.sleep(LONG_GAP_SECONDS)
        row = idempotency.store.StoredKey(answer.status, deedbox.box.encrypt(answer.body, place), instant(now))
        await deedbox.db.write(lambda tx: idempotency.store.keep(tx, row, caller, hashed))
        return once._response(answer)

    once.claim_once = kept


def log_the_header() -> None:
    admit = guard.Guard.admit

    async def logged(self: guard.Guard, scope: Scope, context: context.Context) -> RateLimitStatus:
        print(f"headers: {scope['headers']}", file=sys.stderr, flush=True)
        return await admit(self, scope, context)

    guard.Guard.admit = logged  # type: ignore[method-assign]


def parse_in_the_server_process() -> None:
    call = Sandbox.call

    async def parse(
        self: Sandbox, function: str, *args: Any, into: Sink | None = None, cpu_seconds: float | None = None
    ) -> Any:
        if self.kind.name != "extract" or into is None:
            return await call(self, function, *args, into=into, cpu_seconds=cpu_seconds)
        data, kind = args
        whole = b"".join([piece async for piece in data.pieces]) if isinstance(data, Stream) else data
        pieces = extract.pack(whole, kind)
        while True:
            try:
                await into.write(next(pieces))
            except StopIteration as end:
                return msgspec.to_builtins(end.value)

    # What a container would allow it: without a bound the whole machine would be hurt, and not only the server.
    resource.setrlimit(resource.RLIMIT_AS, (SERVER_MEMORY_BYTES, SERVER_MEMORY_BYTES))
    Sandbox.call = parse  # type: ignore[method-assign]


def one_pool_for_all() -> None:
    """Who asks plays no part: places, connections and the model belong to whoever comes first."""
    limits.IN_FLIGHT_PER_CALLER = limits.IN_FLIGHT_REQUESTS
    os.environ["DEEDBOX_CONNECTIONS_PER_ADDRESS"] = str(limits.CONNECTIONS)
    vectors = turns.EmbeddingTurns.vectors

    async def all_at_once(self: turns.EmbeddingTurns, texts: Sequence[str], caller: str) -> list[Any]:
        self._share = lambda: turns.Share(len(texts) * 100, len(texts) * 100)
        return await vectors(self, texts, "everybody")

    turns.EmbeddingTurns.vectors = all_at_once  # type: ignore[method-assign]


def json_decoded_before_the_door() -> None:
    answer = guard._Exchange._in_time

    async def first_the_body(self: guard._Exchange, here: context.Context) -> None:
        receive, pieces = self._receive, list[bytes]()
        more = self._scope["method"] == "POST"
        while more:
            message = await receive()
            pieces.append(message.get("body", b""))
            more = message.get("more_body", False)
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            msgspec.json.decode(b"".join(pieces))
        whole = [{"type": "http.request", "body": b"".join(pieces), "more_body": False}]

        async def again() -> Any:
            return whole.pop() if whole else await receive()

        self._receive = again
        await answer(self, here)

    guard._Exchange._in_time = first_the_body  # type: ignore[method-assign, assignment]


def long_reads_on_the_event_loop() -> None:
    """Reads that would move to a thread stay on the event loop, and take as long as over many more documents."""

    async def inline(self: sqlite.SqliteDatabase, fn: Callable[[Tx], Any]) -> Any:
        for _ in range(TIMES_AS_LONG):
            self._ticks = -sys.maxsize  # never too many steps
            found = self._in_snapshot(self._reader, fn)
        return found

    sqlite.SqliteDatabase.read_aside = inline  # type: ignore[method-assign]


def answers_never_forgotten() -> None:
    """Each request leaves something behind in memory, for ever."""
    kept: list[bytearray] = []
    run = guard._Exchange.run

    async def remembered(self: guard._Exchange) -> None:
        kept.append(bytearray(os.urandom(LEAK_BYTES)))
        await run(self)

    guard._Exchange.run = remembered  # type: ignore[method-assign]


BUGS: dict[str, Callable[[], None]] = {
    "answer before commit": answer_before_commit,
    "answers never forgotten": answers_never_forgotten,
    "check outside the transaction": check_outside_the_transaction,
    "event after commit": event_after_commit,
    "file written after its row": file_written_after_its_row,
    "JSON decoded before the door": json_decoded_before_the_door,
    "key saved after commit": key_saved_after_commit,
    "log the header": log_the_header,
    "long reads on the event loop": long_reads_on_the_event_loop,
    "one pool for all": one_pool_for_all,
    "packet certified after the commit": certified_after_commit,
    "parse in the server process": parse_in_the_server_process,
    # Within one transaction a check without a condition would do no harm here: both databases put writers in order.
    "read-check-write without a condition": check_outside_the_transaction,
    "row noted as sent after the commit": row_noted_after_commit,
}

if __name__ == "__main__":
    BUGS[os.environ[VARIABLE]]()
    main()
