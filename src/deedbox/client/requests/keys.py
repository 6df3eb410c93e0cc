# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `keys`."""

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from deedbox.client.records.keys import RateLimit


class NewKey(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    """What the key is for."""
    scopes: (
        list[
            Literal[
                "documents:read",
                "documents:write",
                "documents:send",
                "documents:embed",
                "documents:void",
                "verify:read",
                "workspace:read",
                "workspace:write",
                "hooks:read",
                "hooks:write",
                "keys:read",
                "keys:write",
                "archive:read",
                "search:read",
                "search:write",
                "search:query",
                "embeddings:create",
                "documents:*",
                "*",
            ]
        ]
        | None
    ) = None
    """What the key opens; by default every search scope."""
    tier: Literal["enterprise", "professional", "starter"] = "professional"
    """Sets the rate limits."""
    expires_at: datetime | str | None = None
    """When the key stops working; must lie ahead."""
    rate_limit: RateLimit | None = None
    """Limits of this key's own."""
    collections: list[str] | None = None
    """Only these collections of the library exist for the key, for good. What its other scopes open stays
    open."""


class KeyChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is given is changed; the rest stays."""

    name: str | UnsetType = UNSET
    """What the key is for."""
    rate_limit: RateLimit | UnsetType | None = UNSET
    """Null: those of its tier."""
    expires_at: datetime | str | UnsetType | None = UNSET
    """Must lie ahead. Null: it has no end."""
