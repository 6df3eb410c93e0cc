# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `keys`."""

from msgspec import Struct


class RateLimit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    per_minute: int
    """Requests in any 60 seconds."""
    per_day: int
    """Requests in any 24 hours."""


class Key(Struct, frozen=True, kw_only=True):
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
    tier: str
    """Sets the rate limits, unless the key has its own."""
    status: str
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


class Workspace(Struct, frozen=True, kw_only=True):
    id: str
    """The workspace's id."""
    name: str
    """What it is called."""


class Me(Struct, frozen=True, kw_only=True):
    key: Key
    """The key in use."""
    workspace: Workspace
    """The workspace that it belongs to."""


class KeyPage(Struct, frozen=True, kw_only=True):
    keys: list[Key]
    """The keys of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class MadeKey(Struct, frozen=True, kw_only=True):
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
    tier: str
    """Sets the rate limits, unless the key has its own."""
    status: str
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
    key: str | None
    """The key itself. It is shown only here; null in the answer to a repeated Idempotency-Key."""
