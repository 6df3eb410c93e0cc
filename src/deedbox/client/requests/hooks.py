# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `hooks`."""

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType


class NewHook(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Send exactly one of `event` and `events`."""

    target_url: str
    """Where deliveries are posted: http or https, at a public address, without user name and password."""
    event: (
        Literal[
            "document.sent",
            "document.signed",
            "document.approved",
            "document.completed",
            "document.declined",
            "document.voided",
            "document.expired",
            "document.failed",
            "party.completed",
            "packet.sent",
            "packet.completed",
            "packet.declined",
            "bulk_send.completed",
        ]
        | None
    ) = None
    """What to send. Either this or `events`."""
    events: (
        list[
            Literal[
                "document.sent",
                "document.signed",
                "document.approved",
                "document.completed",
                "document.declined",
                "document.voided",
                "document.expired",
                "document.failed",
                "party.completed",
                "packet.sent",
                "packet.completed",
                "packet.declined",
                "bulk_send.completed",
            ]
        ]
        | None
    ) = None
    """What to send, if it is more than one kind."""
    description: str | None = None
    """What it is for, in your own words."""


class HookChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is not given stays as it is."""

    target_url: str | UnsetType = UNSET
    """Where deliveries are posted: http or https, at a public address, without user name and password."""
    events: (
        list[
            Literal[
                "document.sent",
                "document.signed",
                "document.approved",
                "document.completed",
                "document.declined",
                "document.voided",
                "document.expired",
                "document.failed",
                "party.completed",
                "packet.sent",
                "packet.completed",
                "packet.declined",
                "bulk_send.completed",
            ]
        ]
        | UnsetType
    ) = UNSET
    """The kinds of event to send, in place of all there were."""
    description: str | UnsetType | None = UNSET
    """What it is for, in your own words; null: nothing."""


class HookTest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: (
        Literal[
            "document.sent",
            "document.signed",
            "document.approved",
            "document.completed",
            "document.declined",
            "document.voided",
            "document.expired",
            "document.failed",
            "party.completed",
            "packet.sent",
            "packet.completed",
            "packet.declined",
            "bulk_send.completed",
        ]
        | None
    ) = None
    """Whose sample to send. Default: the hook's first."""


class HookRotation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    at_once: bool = False
    """The new secret signs from now on, not in 24 hours only."""


class HookRecovery(Struct, frozen=True, kw_only=True, omit_defaults=True):
    since: datetime | str
    """Events from then on; within the last 30 days."""
