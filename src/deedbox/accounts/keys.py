"""API keys: made once in plain text, kept as a hash, gone for the very next request when revoked."""

import os
import re
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from deedbox.accounts import scopes, store, tiers
from deedbox.accounts.caller import Caller
from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Code, Conflict, Forbidden, NotFound, Unauthorized
from deedbox.kernel.ids import new_id

PREFIX = "deed_live_"
_SHAPE = re.compile(r"deed_live_[0-9a-f]{32}")

Status = Literal["active", "revoked", "expired"]


ScopeName = Annotated[
    str,
    Meta(
        max_length=40,
        extra_json_schema={"enum": [*scopes.SCOPES, *scopes.SHORTHANDS]},
        description="A scope or shorthand.",
    ),
]


class RateLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    per_minute: Annotated[int, Meta(ge=1, le=limits.RATE_PER_MINUTE_MAX)]
    """Requests in any 60 seconds."""
    per_day: Annotated[int, Meta(ge=1, le=limits.RATE_PER_DAY_MAX)]
    """Requests in any 24 hours."""


class KeyRecord(msgspec.Struct, frozen=True):
    id: str
    """The key's id."""
    name: str
    """What the key is for."""
    prefix: str
    """How every key begins."""
    last4: str
    """The last four characters, to recognise it by."""
    scopes: list[str]
    """What the key opens."""
    tier: tiers.Tier
    """Sets the rate limits, unless the key has its own."""
    status: Status
    """Whether it works."""
    created_at: str
    """When it was made."""
    created_by: str
    """The key or person that made it."""
    expires_at: str | None
    """When it stops working; null: never."""
    last_used_at: str | None
    """When it was last used; null: never."""
    revoked_at: str | None
    """When it was revoked; null unless that happened."""
    rate_limit: RateLimit | None
    """Limits of this key's own; null: those of its tier."""


class NewKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=limits.KEY_NAME_CHARS, extra_json_schema=limits.NO_NUL)]
    """What the key is for."""
    scopes: Annotated[list[ScopeName], Meta(min_length=1, max_length=limits.KEY_SCOPES)] | None = None
    """What the key opens; by default every search scope."""
    tier: tiers.Tier = tiers.DEFAULT_TIER
    """Sets the rate limits."""
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    """When the key stops working; must lie ahead."""
    rate_limit: RateLimit | None = None
    """Limits of this key's own."""


class MadeKey(NamedTuple):
    record: KeyRecord
    plain: Secret
    """The key itself, which nobody can read again."""


def has_shape(text: str) -> bool:
    """Whether this could be a key at all, decided without hash or query."""
    return _SHAPE.fullmatch(text) is not None


def authenticate(tx: Tx, plain: str, now: str) -> Caller:
    """The caller that this key stands for, from one indexed read."""
    row = store.key_by_hash(tx, sha256(plain))
    if row is None or row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= now):
        raise Unauthorized("Invalid, revoked or expired API key")
    return Caller(
        row.id,
        row.workspace_id,
        scopes.granted(row.scopes),
        tiers.allowance(row.tier, row.per_minute, row.per_day),
        row.name,
    )


def create(tx: Tx, creator: Caller, new: NewKey, *, now: datetime) -> MadeKey:
    wanted = new.scopes if new.scopes is not None else list(scopes.SEARCH_SCOPES)
    unknown = next((scope for scope in wanted if not scopes.is_scope(scope)), None)
    if unknown is not None:
        raise BadRequest(f"Unknown scope {unknown!r}. Known: {', '.join([*scopes.SCOPES, *scopes.SHORTHANDS])}")
    missing = scopes.lacking(creator.scopes, wanted)
    if missing is not None:
        raise Forbidden(f"A key cannot grant the scope {missing}, which it lacks itself.", code=Code.MISSING_SCOPE)
    # Compared as they are kept, in whole seconds: half a second ahead would be a key that never works.
    if new.expires_at is not None and instant(new.expires_at) <= instant(now):
        raise BadRequest("expires_at must be in the future")
    if store.count_active_keys(tx, creator.workspace_id, instant(now)) >= limits.KEYS_PER_WORKSPACE:
        raise Conflict(f"This workspace has {limits.KEYS_PER_WORKSPACE} keys already. Revoke one first.")
    plain = PREFIX + os.urandom(16).hex()
    row = store.KeyRow(
        id=new_id("key", now),
        workspace_id=creator.workspace_id,
        name=new.name,
        prefix=PREFIX,
        last4=plain[-4:],
        scopes=" ".join(dict.fromkeys(wanted)),
        tier=new.tier,
        per_minute=new.rate_limit.per_minute if new.rate_limit else None,
        per_day=new.rate_limit.per_day if new.rate_limit else None,
        created_at=instant(now),
        created_by=creator.id,
        expires_at=instant(new.expires_at) if new.expires_at else None,
        last_used_at=None,
        revoked_at=None,
    )
    store.add_key(tx, row, sha256(plain))
    return MadeKey(record(row, now), Secret(plain))


def page(tx: Tx, caller: Caller, *, limit: int, after: str | None, now: datetime) -> list[KeyRecord]:
    """The workspace's keys, newest first, from the one before `after` on."""
    return [record(row, now) for row in store.keys(tx, caller.workspace_id, limit, after)]


def mine(tx: Tx, caller: Caller, *, now: datetime) -> KeyRecord:
    row = store.key(tx, caller.workspace_id, caller.id)
    if row is None:
        raise NotFound("This caller is not an API key")
    return record(row, now)


def revoke(tx: Tx, caller: Caller, key_id: str, *, now: datetime) -> None:
    """Ends the key; ending it again changes nothing."""
    if store.key(tx, caller.workspace_id, key_id) is None:
        raise NotFound("API key does not exist")
    store.revoke_key(tx, key_id, instant(now))


def record(row: store.KeyRow, now: datetime) -> KeyRecord:
    return KeyRecord(
        id=row.id,
        name=row.name,
        prefix=row.prefix,
        last4=row.last4,
        scopes=row.scopes.split(),
        tier=row.tier,
        status=_status(row, instant(now)),
        created_at=row.created_at,
        created_by=row.created_by,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
        rate_limit=_rate_limit(row),
    )


def _rate_limit(row: store.KeyRow) -> RateLimit | None:
    if row.per_minute is None and row.per_day is None:
        return None
    own = tiers.allowance(row.tier, row.per_minute, row.per_day)
    return RateLimit(own.per_minute, own.per_day or 0)


def _status(row: store.KeyRow, now: str) -> Status:
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expires_at is not None and row.expires_at <= now else "active"
