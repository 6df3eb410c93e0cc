# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `workspace`."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType


class NewInvitation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    role: Literal["owner", "sender", "viewer"]
    """What the person may do who joins by it."""
    email: str | None = None
    """Where the link is mailed to, if the server can send mail."""


class MemberChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    role: Literal["owner", "sender", "viewer"] | UnsetType = UNSET
    """What the person may do from now on."""


class WorkspaceChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is given is changed; the rest stays."""

    name: str | UnsetType = UNSET
    """The company in whose name documents are sent."""
    sender_name: str | UnsetType | None = UNSET
    """Who asks people to sign; null: the company itself."""
    sender_email: str | UnsetType | None = UNSET
    """Where replies and the sender's notices go; null: to the owner."""
    notices: bool | UnsetType = UNSET
    """Whether the sender gets a mail when a document is completed, declined or expired."""
    accent: str | UnsetType | None = UNSET
    """The workspace's colour, as `#1f5c4d`; null: that of Deedbox. Pages darken or lighten one that cannot be
    read."""
    embed_sites: list[str] | UnsetType = UNSET
    """The sites whose pages may show signing in a frame: scheme, host and port, such as
    `https://app.example.com`."""
    search_documents: bool | UnsetType = UNSET
    """Whether documents become searchable when they are completed. Those that are searchable stay so."""
