"""A subscription, a delivery and an attempt at it, as the API shows them."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import constraints
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.constraints import Constraints, exactly_one
from deedbox.kernel.crypto import Secret
from deedbox.webhooks import catalogue, limits

Status: TypeAlias = Literal["active", "paused", "disabled"]
ManagedBy: TypeAlias = Literal["dashboard", "api"]
Scheme: TypeAlias = Literal["body", "timestamped"]
DeliveryStatus: TypeAlias = Literal["pending", "sending", "delivered", "failed"]

SCHEMES: dict[ManagedBy, Scheme] = {"dashboard": "body", "api": "timestamped"}


class Hook(msgspec.Struct, frozen=True):
    """A subscription, as the API shows it."""

    id: str
    """The webhook's id."""
    target_url: str
    """Where deliveries are posted."""
    events: list[str]
    """The kinds of event that are sent."""
    status: Status
    """Whether deliveries are made."""
    managed_by: ManagedBy
    """Where it was made."""
    signature_scheme: Scheme
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


TargetUrl = Annotated[
    str,
    Meta(
        max_length=shared_limits.EGRESS_URL_CHARS,
        description="Where deliveries are posted: http or https, at a public address, without user name and password.",
        extra_json_schema={"format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"},
    ),
]
EventName = Annotated[
    str, Meta(max_length=40, extra_json_schema={"enum": list(catalogue.KINDS)}, description="A kind of event.")
]
EventNames = Annotated[list[EventName], Meta(min_length=1, max_length=limits.HOOK_EVENTS)]
Description = Annotated[
    str, Meta(max_length=shared_limits.HOOK_DESCRIPTION_CHARS, extra_json_schema=shared_limits.NO_NUL)
]


class NewHook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    constraints: ClassVar[Constraints] = (exactly_one("event", "events"),)

    target_url: TargetUrl
    event: EventName | None = None
    """What to send. Either this or `events`."""
    events: EventNames | None = None
    """What to send, if it is more than one kind."""
    description: Description | None = None
    """What it is for, in your own words."""

    def kinds(self) -> list[str]:
        """The kinds of event to send."""
        constraints.check(self)
        return [self.event] if self.event is not None else list(self.events or ())


class HookChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is not given stays as it is."""

    target_url: TargetUrl | UnsetType = UNSET
    events: EventNames | UnsetType = UNSET
    """The kinds of event to send, in place of all there were."""
    description: Description | UnsetType | None = UNSET
    """What it is for, in your own words; null: nothing."""


class CreatedHook(msgspec.Struct, frozen=True):
    """A new subscription with its secret, or the one there was before, whose secret is not shown again."""

    hook: Hook
    secret: Secret | None


class Rotated(msgspec.Struct, frozen=True):
    hook: Hook
    secret: Secret
    effective_at: datetime


class Recovery(msgspec.Struct, frozen=True):
    """How many deliveries were planned, and whether there are more to plan by the same call again."""

    planned: int
    """How many deliveries were planned."""
    has_more: bool
    """Whether there are more, to be planned by the same call again."""


class Delivery(msgspec.Struct, frozen=True):
    """One event on its way to one subscription."""

    id: str
    """The delivery's id."""
    hook_id: str
    """The webhook it goes to."""
    event_id: str
    """The event it tells of."""
    type: str
    """The kind of the event."""
    status: DeliveryStatus
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


class DeliveryPart(msgspec.Struct, frozen=True):
    """Which deliveries to list, newest first: of one subscription or of all, in some status or in any."""

    limit: int
    cursor: str | None = None
    hook_id: str | None = None
    statuses: tuple[DeliveryStatus, ...] = ()


class Attempt(msgspec.Struct, frozen=True):
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


class DeliveryDetail(Delivery, frozen=True, kw_only=True):
    target_url: str
    """Where the next attempt would be made: the webhook's present target."""
    request_body: str
    """The bytes that every attempt sends."""
    attempts_made: list[Attempt]
    """Each attempt that has ended."""
