"""The least that can answer the list: one ASGI function, the same two statements, no checks, no limits.

Usage: python -m bench.peers.bare DATABASE PORT"""

import hashlib
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import uvicorn

LIST = (
    "id, title, status, source, external_id, metadata, template_id, packet_id, bulk_send_id, message, language,"
    " signers_total, signers_signed, parties_total, parties_completed, seal, reminders, expires_at, created_at,"
    " updated_at, sent_at, completed_at, declined_at, voided_at, expired_at, decline, void, archive, verification_code"
)
COLUMNS = tuple(LIST.split(", "))
JSON = frozenset(("metadata", "message", "seal", "reminders", "decline", "void", "archive"))
KEY = (
    "select id, workspace_id, name, prefix, last4, scopes, tier, per_minute, per_day, created_at, created_by,"
    " expires_at, last_used_at, revoked_at from api_keys where key_hash = ?"
)
PAGE = f"select {LIST} from documents where workspace_id = ? order by id desc limit 26"
encode = msgspec.json.Encoder().encode
connection = sqlite3.connect(sys.argv[1], isolation_level=None, check_same_thread=False)


def record(row: tuple[Any, ...]) -> dict[str, Any]:
    made = {
        name: msgspec.Raw(value.encode()) if name in JSON and value is not None else value
        for name, value in zip(COLUMNS, row, strict=True)
    }
    progress = {name: made.pop(name) for name in COLUMNS[11:15]}
    return {**made, "object": "document", "files": [], "parties": [], "fields": [], "progress": progress}


async def app(
    scope: dict[str, Any], _receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    key = next(value for name, value in scope["headers"] if name == b"authorization")
    caller = connection.execute(KEY, (hashlib.sha256(key[7:]).digest(),)).fetchone()
    rows = connection.execute(PAGE, (caller[1],)).fetchall()
    shown = [record(row) for row in rows[:25]]
    more = len(rows) > 25
    body = encode(
        {"documents": shown, "count": len(shown), "has_more": more, "next_cursor": shown[-1]["id"] if more else None}
    )
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False, lifespan="off")
