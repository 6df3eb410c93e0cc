# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `hooks`."""

from typing import Any

from msgspec import Struct


class Hook(Struct, frozen=True, kw_only=True):
    """A subscription, as the API shows it."""

    id: str
    """The webhook's id."""
    target_url: str
    """Where deliveries are posted."""
    events: list[str]
    """The kinds of event that are sent."""
    status: str
    """Whether deliveries are made."""
    managed_by: str
    """Where it was made."""
    signature_scheme: str
    """What the signature of a delivery covers: the body, or its timestamp too."""
    description: str | None
    """What it is for, in your own words."""
    created_at: str
    """When it was made."""
    disabled_reason: str | None
    """Why Deedbox stopped sending to it."""
    last_success_at: str | None
    """When a delivery last succeeded; null: never."""
    last_failure_at: str | None
    """When an attempt last failed; null: never."""
    consecutive_failures: int
    """How many attempts have failed since the last success."""


class HookPage(Struct, frozen=True, kw_only=True):
    hooks: list[Hook]
    """The webhooks of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class MadeHook(Struct, frozen=True, kw_only=True):
    id: str
    """The webhook's id."""
    target_url: str
    """Where deliveries are posted."""
    events: list[str]
    """The kinds of event that are sent."""
    status: str
    """Whether deliveries are made."""
    managed_by: str
    """Where it was made."""
    signature_scheme: str
    """What the signature of a delivery covers: the body, or its timestamp too."""
    description: str | None
    """What it is for, in your own words."""
    created_at: str
    """When it was made."""
    disabled_reason: str | None
    """Why Deedbox stopped sending to it."""
    last_success_at: str | None
    """When a delivery last succeeded; null: never."""
    last_failure_at: str | None
    """When an attempt last failed; null: never."""
    consecutive_failures: int
    """How many attempts have failed since the last success."""
    secret: str | None
    """Signs deliveries. Shown only here; null in the answer to a repeated Idempotency-Key."""


class Delivery(Struct, frozen=True, kw_only=True):
    """One event on its way to one subscription."""

    id: str
    """The delivery's id."""
    hook_id: str
    """The webhook it goes to."""
    event_id: str
    """The event it tells of."""
    type: str
    """The kind of the event."""
    status: str
    """How far it is."""
    attempts: int
    """How often it was tried."""
    created_at: str
    """When it was planned."""
    next_attempt_at: str | None
    """When it is tried again; null if it is not."""
    delivered_at: str | None
    """When it succeeded; null until then."""
    failed_at: str | None
    """When it was given up; null unless that happened."""
    response_status: int | None
    """The HTTP status of the last answer; null if there was none."""
    error: str | None
    """Why the last attempt failed; null if it did not."""


class RotatedHook(Struct, frozen=True, kw_only=True):
    id: str
    """The webhook's id."""
    target_url: str
    """Where deliveries are posted."""
    events: list[str]
    """The kinds of event that are sent."""
    status: str
    """Whether deliveries are made."""
    managed_by: str
    """Where it was made."""
    signature_scheme: str
    """What the signature of a delivery covers: the body, or its timestamp too."""
    description: str | None
    """What it is for, in your own words."""
    created_at: str
    """When it was made."""
    disabled_reason: str | None
    """Why Deedbox stopped sending to it."""
    last_success_at: str | None
    """When a delivery last succeeded; null: never."""
    last_failure_at: str | None
    """When an attempt last failed; null: never."""
    consecutive_failures: int
    """How many attempts have failed since the last success."""
    secret: str | None
    """Signs deliveries. Shown only here; null in the answer to a repeated Idempotency-Key."""
    effective_at: str
    """When the new secret takes over."""


class Recovery(Struct, frozen=True, kw_only=True):
    """How many deliveries were planned, and whether there are more to plan by the same call again."""

    planned: int
    """How many deliveries were planned."""
    has_more: bool
    """Whether there are more, to be planned by the same call again."""


class DeliveryPage(Struct, frozen=True, kw_only=True):
    deliveries: list[Delivery]
    """The deliveries of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class Attempt(Struct, frozen=True, kw_only=True):
    """One attempt that has ended: what was sent, what came back, and how long it took."""

    number: int
    """Which attempt it was, from 1."""
    started_at: str
    """When it began."""
    duration_ms: int
    """How long it took, in milliseconds."""
    request_headers: dict[str, str]
    """The headers that were sent."""
    response_status: int | None
    """The HTTP status of the answer; null if there was none."""
    response_headers: dict[str, str] | None
    """The headers of the answer; null if there was none."""
    response_body: str | None
    """The first 16 KiB, as text."""
    response_truncated: bool
    """Whether the answer was longer than what is kept of it."""
    error: str | None
    """Why it failed; null if it did not."""
    target_url: str | None
    """Where it was made; null if that was not kept yet."""


class DeliveryDetail(Struct, frozen=True, kw_only=True):
    id: str
    """The delivery's id."""
    hook_id: str
    """The webhook it goes to."""
    event_id: str
    """The event it tells of."""
    type: str
    """The kind of the event."""
    status: str
    """How far it is."""
    attempts: int
    """How often it was tried."""
    created_at: str
    """When it was planned."""
    next_attempt_at: str | None
    """When it is tried again; null if it is not."""
    delivered_at: str | None
    """When it succeeded; null until then."""
    failed_at: str | None
    """When it was given up; null unless that happened."""
    response_status: int | None
    """The HTTP status of the last answer; null if there was none."""
    error: str | None
    """Why the last attempt failed; null if it did not."""
    target_url: str
    """Where the next attempt would be made: the webhook's present target."""
    request_body: str
    """The bytes that every attempt sends."""
    attempts_made: list[Attempt]
    """Each attempt that has ended."""


class EventKind(Struct, frozen=True, kw_only=True):
    type: str
    """The kind of event."""
    meaning: str
    """When it is sent."""
    sample: dict[str, Any]
    """The body of a delivery."""
    schema: dict[str, Any]
    """The JSON Schema of the body."""


class Catalogue(Struct, frozen=True, kw_only=True):
    events: list[EventKind]
    """Every kind of event there is."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""


class Event(Struct, frozen=True, kw_only=True):
    """An event, as receivers get it and the feed shows it."""

    id: str
    """The event's id: the same in every delivery of it."""
    type: str
    """The kind of event."""
    timestamp: str
    """When it happened."""
    api_version: str
    """The version of the API that made it."""
    sequence: int
    """Its number among the events of its subject, from 1: receivers can order by it and see gaps."""
    data: Any
    """What happened to what; `GET /api/v1/hooks/events` gives the schema for each kind."""


class EventPage(Struct, frozen=True, kw_only=True):
    events: list[Event]
    """The events of this page, as they are delivered."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""
