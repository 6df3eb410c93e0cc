"""What an API key may do."""

import functools
from collections.abc import Iterable

SCOPES: dict[str, str] = {
    "documents:read": "every GET on documents, packets, bulk sends, templates, files, audit and mails",
    "documents:write": "create, edit and delete drafts and templates",
    "documents:send": "send, remind, packets, bulk sends, mails once more; implies documents:write",
    "documents:embed": "signing links for the sender's own pages: its holder vouches for the person",
    "documents:void": "void",
    "verify:read": "verify a file",
    "workspace:read": "read the workspace's name, its look, its sender, its members and its changes",
    "workspace:write": "change the workspace's name, its look, its sender and its members",
    "hooks:read": "read hooks, deliveries and events",
    "hooks:write": "change hooks, redeliver",
    "keys:read": "read API keys",
    "keys:write": "create and change API keys within what the key itself may do, and revoke any",
    "archive:read": "archive receipts and packages",
    "search:read": "read the library, statistics and information; signed documents in it with documents:read only",
    "search:write": "upload, index and delete documents",
    "search:query": "query; signed documents answer with documents:read only",
    "embeddings:create": "make embeddings",
}
SHORTHANDS: dict[str, str] = {"documents:*": "every documents scope", "*": "every scope, those of later versions too"}
SEARCH_SCOPES = ("search:read", "search:write", "search:query", "embeddings:create")
"""What a key gets when nobody says otherwise."""


def is_scope(name: str) -> bool:
    return name in SCOPES or name in SHORTHANDS


@functools.lru_cache(maxsize=1024)
def expand_scopes(stored: str) -> frozenset[str]:
    """Everything that a stored scope list, separated by spaces, opens."""
    names = set(stored.split())
    if "*" in names:
        return frozenset({*SCOPES, *SHORTHANDS})
    if "documents:*" in names:
        names.update(scope for scope in SCOPES if scope.startswith("documents:"))
    if "documents:send" in names:
        names.add("documents:write")
    return frozenset(names)


def missing_scope(mine: frozenset[str], wanted: Iterable[str]) -> str | None:
    """The first wanted scope or shorthand that is not among mine."""
    return next((scope for scope in wanted if scope not in mine), None)
