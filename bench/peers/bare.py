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
    "d.id, d.title, d.status, d.source, d.external_id, d.metadata, d.template_id, d.template_version, d.bulk_send_id,"
    " p.message, p.language, d.files, d.seal, p.reminders, p.expires_at, p.expires_after_hours, d.created_at,"
    " d.updated_at, d.sent_at, d.completed_at, d.declined_at, d.voided_at, d.expired_at, d.decline, d.void,"
    " d.verification_code, d.signed_input, d.error, d.archive_status, d.archive_attempts"
)
COLUMNS = tuple(name[2:] for name in LIST.split(", "))
JSON = frozenset(("metadata", "message", "files", "seal", "reminders", "decline", "void"))
PROGRESS = {"signers_total": 0, "signers_signed": 0, "parties_total": 0, "parties_completed": 0}
NOBODY = {"parties": [], "fields": [], "attachments": [], "progress": PROGRESS}
"""Of a document without people."""
KEY = (
    "select id, workspace_id, name, prefix, last4, scopes, tier, per_minute, per_day, created_at, created_by,"
    " expires_at, last_used_at, revoked_at from api_keys where key_hash = ?"
)
PAGE = (
    f"select {LIST} from documents d join packets p on p.id = d.packet_id where d.workspace_id = ?"
    " order by d.id desc limit 26"
)
encode = msgspec.json.Encoder().encode
connection = sqlite3.connect(sys.argv[1], isolation_level=None, check_same_thread=False)


def record(row: tuple[Any, ...]) -> dict[str, Any]:
    made = {
        name: msgspec.Raw(value.encode()) if name in JSON and value is not None else value
        for name, value in zip(COLUMNS, row, strict=True)
    }
    archive = {"status": made.pop("archive_status"), "attempts": made.pop("archive_attempts")}
    made["archive"] = {**archive, "archived_at": None, "receipt": None, "error": None}
    return {**made, "object": "document", "packet_id": None, **NOBODY}


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
