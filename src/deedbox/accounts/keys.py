"""API keys: made once in plain text, kept as a hash, gone for the very next request when revoked.

A key never has more than the key that made it: what it makes lies within it, is lowered with it, and ends with it."""

import os
import re
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from deedbox.accounts import key_bounds, scopes, store, tiers
from deedbox.accounts.caller import Caller
from deedbox.kernel import admin_log, limits
from deedbox.kernel.clock import instant
from deedbox.kernel.collection import CollectionName
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, NotFound, Unauthorized
from deedbox.kernel.ids import new_id
from deedbox.kernel.tokens import TokenPrefix

PREFIX = TokenPrefix.API_KEY.value
_SHAPE = re.compile(PREFIX + r"[0-9a-f]{32}")

Status = Literal["active", "revoked", "expired"]


KeyName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.KEY_NAME_CHARS,
        description="What the key is for.",
        extra_json_schema=limits.NO_NUL,
    ),
]
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
    collections: list[str] | None
    """The collections of the library that the key is limited to; null: all."""


class NewKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: KeyName
    """What the key is for."""
    scopes: Annotated[list[ScopeName], Meta(min_length=1, max_length=limits.KEY_SCOPES)] | None = None
    """What the key opens; by default every search scope."""
    tier: tiers.Tier = tiers.DEFAULT_TIER
    """Sets the rate limits."""
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    """When the key stops working; must lie ahead."""
    rate_limit: RateLimit | None = None
    """Limits of this key's own."""
    collections: Annotated[list[CollectionName], Meta(min_length=1, max_length=limits.KEY_COLLECTIONS)] | None = None
    """Only these collections of the library exist for the key, for good. What its other scopes open stays open."""


class KeyChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is given is changed; the rest stays."""

    name: KeyName | UnsetType = UNSET
    """What the key is for."""
    rate_limit: RateLimit | UnsetType | None = UNSET
    """Null: those of its tier."""
    expires_at: Annotated[datetime, Meta(tz=True)] | UnsetType | None = UNSET
    """Must lie ahead. Null: it has no end."""


class CreatedKey(NamedTuple):
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
        scopes.expand_scopes(row.scopes),
        tiers.allowance(row.tier, row.per_minute, row.per_day),
        row.name,
        None if (limited := key_bounds.collections(row)) is None else frozenset(limited),
    )


def create(tx: Tx, creator: Caller, new: NewKey, *, now: datetime) -> CreatedKey:
    """A new key; Forbidden if it would have more than the key that makes it."""
    wanted = new.scopes if new.scopes is not None else list(scopes.SEARCH_SCOPES)
    unknown = next((scope for scope in wanted if not scopes.is_scope(scope)), None)
    if unknown is not None:
        raise BadRequest(f"Unknown scope {unknown!r}. Known: {', '.join([*scopes.SCOPES, *scopes.SHORTHANDS])}")
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
        expires_at=_end(new.expires_at, now),
        last_used_at=None,
        revoked_at=None,
        collections=None if new.collections is None else msgspec.json.encode(sorted({*new.collections})).decode(),
    )
    if not creator.is_owner:
        key_bounds.need_within(row, _in_use(tx, creator, now))
    if store.count_active_keys(tx, creator.workspace_id, instant(now)) >= limits.KEYS_PER_WORKSPACE:
        raise Conflict(f"This workspace has {limits.KEYS_PER_WORKSPACE} keys already. Revoke one first.")
    store.add_key(tx, row, sha256(plain))
    admin_log.done(tx, creator, "key.created", (row.id, row.name), at=now)
    return CreatedKey(record(row, now), Secret(plain))


def change(tx: Tx, caller: Caller, key_id: str, wanted: KeyChange, *, now: datetime) -> KeyRecord:
    """The key with another name, rate or end: a key changes only what lies within it, and only downwards."""
    before = _demand(tx, caller, key_id)
    after = _changed(before, wanted, now)
    if after == before:
        return record(before, now)
    if before.revoked_at is not None:
        raise Conflict("This key is revoked, for good. Create another one.")
    if not caller.is_owner:
        key_bounds.need_within(after, _in_use(tx, caller, now))
        key_bounds.need_no_more(after, before)
    store.change_key(tx, after)
    admin_log.done(tx, caller, "key.changed", (after.id, after.name), at=now)
    if key_bounds.lower_to_bound(before, after) != before:
        _lower_made(tx, after)
    return record(after, now)


def get(tx: Tx, caller: Caller, key_id: str, *, now: datetime) -> KeyRecord:
    return record(_demand(tx, caller, key_id), now)


def page(tx: Tx, caller: Caller, *, limit: int, after: str | None, now: datetime) -> list[KeyRecord]:
    """The workspace's keys, newest first, from the one before `after` on."""
    return [record(row, now) for row in store.keys(tx, caller.workspace_id, limit, after)]


def mine(tx: Tx, caller: Caller, *, now: datetime) -> KeyRecord:
    row = store.key(tx, caller.workspace_id, caller.id)
    if row is None:
        raise NotFound("This caller is not an API key")
    return record(row, now)


def revoke(tx: Tx, caller: Caller, key_id: str, *, now: datetime) -> int:
    """Ends the key and all that it has made, which are so many; ending it again changes nothing."""
    row = _demand(tx, caller, key_id)
    if not caller.is_owner and row.id != caller.id:
        key_bounds.need_within(row, _in_use(tx, caller, now))
    made = store.made_with(tx, row.id)
    store.revoke_keys(tx, [row.id, *(one.id for one in made)], instant(now))
    for ended in [*([row] if row.revoked_at is None else []), *made]:
        admin_log.done(tx, caller, "key.revoked", (ended.id, ended.name), at=now)
    return len(made)


def scopes_in_use(tx: Tx, workspace_id: str, key_id: str, *, now: datetime) -> frozenset[str]:
    """What this key opens now: nothing once it is revoked or has expired."""
    row = store.key(tx, workspace_id, key_id)
    return scopes.expand_scopes(row.scopes) if row and _status(row, instant(now)) == "active" else frozenset()


def _demand(tx: Tx, caller: Caller, key_id: str) -> store.KeyRow:
    row = store.key(tx, caller.workspace_id, key_id)
    if row is None:
        raise NotFound("API key does not exist")
    return row


def _in_use(tx: Tx, caller: Caller, now: datetime) -> store.KeyRow:
    """The caller's own key as it is now: it may have been revoked or lowered since the request was let in."""
    row = store.key(tx, caller.workspace_id, caller.id)
    if row is None or _status(row, instant(now)) != "active":
        raise Unauthorized("Invalid, revoked or expired API key")
    return row


def _changed(row: store.KeyRow, wanted: KeyChange, now: datetime) -> store.KeyRow:
    if wanted.name is not UNSET:
        row = replace(row, name=wanted.name)
    if wanted.rate_limit is not UNSET:
        own = wanted.rate_limit
        row = replace(row, per_minute=own.per_minute if own else None, per_day=own.per_day if own else None)
    if wanted.expires_at is not UNSET and (wanted.expires_at and instant(wanted.expires_at)) != row.expires_at:
        row = replace(row, expires_at=_end(wanted.expires_at, now))
    return row


def _lower_made(tx: Tx, key: store.KeyRow) -> None:
    for made in store.made_with(tx, key.id):
        less = key_bounds.lower_to_bound(made, key)
        if less != made:
            store.change_key(tx, less)


def _end(expires_at: datetime | None, now: datetime) -> str | None:
    """The end as it is kept; BadRequest unless it lies ahead."""
    # Compared as they are kept, in whole seconds: half a second ahead would be a key that never works.
    if expires_at is not None and instant(expires_at) <= instant(now):
        raise BadRequest("expires_at must be in the future")
    return instant(expires_at) if expires_at else None


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
        collections=key_bounds.collections(row),
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
