"""The mails table. Whoever changes a mail that is being sent names the attempt, so a lapsed lease changes nothing."""

from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import Instant, instant
from deedbox.kernel.db import Tx, Value, grams
from deedbox.kernel.mailbox import Mailbox
from deedbox.mail import limits

_ATTACHMENTS = msgspec.json.Decoder(list[str])

Status: TypeAlias = Literal["queued", "sent", "failed", "inbox"]

_COLUMNS = (
    "id, workspace_id, kind, about, to_address, to_name, message_id, status, data, attachments, attempts,"
    " last_error, created_at, tried_at, sent_at"
)


class MailEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A mail's row. `data` is encrypted, and gone once the mail is sent."""

    id: str
    workspace_id: str
    kind: str
    about: str | None
    to_address: str
    to_name: str
    message_id: str
    status: Status
    data: bytes | None
    attachments: list[str]
    """The hashes of the files that are held for it."""
    attempts: int
    last_error: str | None
    created_at: Instant
    tried_at: Instant | None
    sent_at: Instant | None


def insert(tx: Tx, entry: MailEntry) -> None:
    values = ", ".join(f":{name}" for name in MailEntry.__struct_fields__)
    row = {**msgspec.structs.asdict(entry), "attachments": msgspec.json.encode(entry.attachments).decode()}
    tx.later(f"insert into mails ({_COLUMNS}) values ({values})", **row)


def find(tx: Tx, workspace_id: str, mail_id: str) -> MailEntry | None:
    sql = f"select {_COLUMNS} from mails where id = :id and workspace_id = :workspace_id"
    row = tx.one(sql, id=mail_id, workspace_id=workspace_id)
    return _entry(row) if row else None


class MailPart(msgspec.Struct, frozen=True, kw_only=True):
    """Which mails to list, newest first."""

    limit: int
    before: str | None = None
    """Older than this one."""
    statuses: tuple[Status, ...] = ()
    """Of any, if none is named."""
    kind: str | None = None
    about: str | None = None
    to: str | None = None
    """A part of the address they go to."""
    accounts: bool = True
    """Those about people's accounts too."""

    @property
    def sifts(self) -> bool:
        """Whether the mails wanted may be few among many: `read_aside` then."""
        return bool(self.statuses or self.kind or self.to)


_CONDITIONS = {"before": "mails.id < :before", "kind": "kind = :kind", "about": "about = :about"}
_NOT_OF_ACCOUNTS = "kind not in ('member', 'reset')"


def part(tx: Tx, workspace_id: str, wanted: MailPart) -> list[MailEntry]:
    """The mails of the workspace that are wanted, newest first."""
    given: dict[str, Value] = msgspec.structs.asdict(wanted)
    values = {name: given[name] for name in _CONDITIONS if given[name] is not None}
    conditions = ["workspace_id = :workspace_id", *(_CONDITIONS[name] for name in values)]
    named: dict[str, Value] = {f"status{number}": status for number, status in enumerate(wanted.statuses)}
    if named:
        conditions.append(f"status in ({', '.join(f':{name}' for name in named)})")
    if not wanted.accounts:
        conditions.append(_NOT_OF_ACCOUNTS)
    values |= named
    if wanted.to is not None:
        to = grams.WantedRows("mails", "lower(to_address)", wanted.to.lower(), conditions)
        ids = {f"id{at}": id for at, id in enumerate(grams.page(tx, workspace_id, to, wanted.limit, values))}
        conditions, values = [f"id in ({', '.join(f':{name}' for name in ids) or 'null'})"], {**ids}
    sql = f"select {_COLUMNS} from mails where {' and '.join(conditions)} order by id desc limit :limit"
    return [_entry(row) for row in tx.all(sql, workspace_id=workspace_id, limit=wanted.limit, **values)]


def wait_again(tx: Tx, entry: MailEntry) -> bool:
    """Whether a mail that was given up waits to be sent now."""
    return tx.run("update mails set status = 'queued' where id = :id and status = 'failed'", id=entry.id) > 0


def begin(tx: Tx, mail_id: str, now: datetime) -> MailEntry | None:
    """The mail with one more attempt counted; None when there is nothing to send any more."""
    row = tx.one(
        "update mails set attempts = attempts + 1, tried_at = :now, status = 'queued'"
        f" where id = :id and status in ('queued', 'failed') returning {_COLUMNS}",
        id=mail_id,
        now=instant(now),
    )
    return _entry(row) if row else None


def recall(tx: Tx, workspace_id: str, about: str, to: Mailbox, kind: str) -> list[int]:
    """Removes mails of this kind that have not left yet; how often each of them was tried.

    Several people may have one address: the name tells whose mail it is."""
    rows = tx.all(
        "delete from mails where workspace_id = :workspace_id and about = :about and to_address = :to_address"
        " and to_name = :to_name and kind = :kind and status = 'queued' returning attempts",
        workspace_id=workspace_id,
        about=about,
        to_address=to.address,
        to_name=to.name,
        kind=kind,
    )
    return [row[0] for row in rows]


def note_failure(tx: Tx, entry: MailEntry, error: str, *, final: bool) -> None:
    tx.run(
        "update mails set last_error = :error, status = :status"
        " where id = :id and attempts = :attempts and status = 'queued'",
        id=entry.id,
        attempts=entry.attempts,
        error=error[: limits.MAIL_ERROR_CHARS],
        status="failed" if final else "queued",
    )


def note_sent(tx: Tx, entry: MailEntry, now: datetime) -> None:
    """The mail is out: what it said is forgotten."""
    tx.run(
        "update mails set status = 'sent', data = null, attachments = '[]', last_error = null, sent_at = :now"
        " where id = :id",
        id=entry.id,
        now=instant(now),
    )


def put_into_inbox(tx: Tx, entry: MailEntry) -> None:
    tx.run("update mails set status = 'inbox', last_error = null where id = :id", id=entry.id)


def list_outdated(tx: Tx, status: Status, before: datetime) -> list[MailEntry]:
    """Some mails of this status that were queued before then, the oldest first."""
    rows = tx.all(
        f"select {_COLUMNS} from mails where status = :status and created_at < :before order by created_at limit :most",
        status=status,
        before=instant(before),
        most=shared_limits.PRUNE_ROWS,
    )
    return [_entry(row) for row in rows]


def delete(tx: Tx, entry: MailEntry) -> None:
    tx.run("delete from mails where id = :id", id=entry.id)


def _entry(row: tuple[Any, ...]) -> MailEntry:
    values = dict(zip(MailEntry.__struct_fields__, row, strict=True))
    values["attachments"] = _ATTACHMENTS.decode(values["attachments"])
    if values["data"] is not None:
        values["data"] = bytes(values["data"])
    return MailEntry(**values)
