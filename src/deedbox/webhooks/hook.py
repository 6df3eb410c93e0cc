"""A subscription, a delivery and an attempt at it, as the API shows them."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest
from deedbox.webhooks import catalogue

Status: TypeAlias = Literal["active", "paused", "disabled"]
ManagedBy: TypeAlias = Literal["dashboard", "api"]
Scheme: TypeAlias = Literal["body", "timestamped"]
DeliveryStatus: TypeAlias = Literal["pending", "sending", "delivered", "failed"]

SCHEMES: dict[ManagedBy, Scheme] = {"dashboard": "body", "api": "timestamped"}


class Hook(msgspec.Struct, frozen=True):
    """A subscription, as the API shows it."""

    id: str
    target_url: str
    events: list[str]
    status: Status
    managed_by: ManagedBy
    signature_scheme: Scheme
    description: str | None
    created_at: str
    disabled_reason: Annotated[str | None, Meta(description="Why Deedbox stopped sending to it.")]
    last_success_at: str | None
    last_failure_at: str | None
    consecutive_failures: int


TargetUrl = Annotated[
    str,
    Meta(
        max_length=limits.EGRESS_URL_CHARS,
        description="Where deliveries are posted: http or https, at a public address, without user name and password.",
        extra_json_schema={"format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"},
    ),
]
EventName = Annotated[
    str, Meta(max_length=40, extra_json_schema={"enum": list(catalogue.KINDS)}, description="A kind of event.")
]
EventNames = Annotated[list[EventName], Meta(min_length=1, max_length=limits.HOOK_EVENTS)]
Description = Annotated[str, Meta(max_length=limits.HOOK_DESCRIPTION_CHARS, extra_json_schema=limits.NO_NUL)]


class NewHook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    target_url: TargetUrl
    event: Annotated[EventName | None, Meta(description="What to send. Either this or `events`.")] = None
    events: Annotated[EventNames | None, Meta(description="What to send, if it is more than one kind.")] = None
    description: Description | None = None

    def kinds(self) -> list[str]:
        """The kinds of event to send."""
        if (self.event is None) == (self.events is None):
            raise BadRequest("Give either event, one kind of event, or events, a list of them")
        return [self.event] if self.event is not None else list(self.events or ())


class HookChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is not given stays as it is."""

    target_url: TargetUrl | UnsetType = UNSET
    events: EventNames | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET


class Made(msgspec.Struct, frozen=True):
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
    has_more: bool


class Delivery(msgspec.Struct, frozen=True):
    """One event on its way to one subscription."""

    id: str
    hook_id: str
    event_id: str
    type: str
    status: DeliveryStatus
    attempts: int
    created_at: str
    next_attempt_at: str | None
    delivered_at: str | None
    failed_at: str | None
    response_status: int | None
    error: str | None


class DeliveryPart(msgspec.Struct, frozen=True):
    """Which deliveries to list, newest first: of one subscription or of all, in some status or in any."""

    limit: int
    cursor: str | None = None
    hook_id: str | None = None
    statuses: tuple[DeliveryStatus, ...] = ()


class Attempt(msgspec.Struct, frozen=True):
    """One attempt that has ended: what was sent, what came back, and how long it took."""

    number: int
    started_at: str
    duration_ms: int
    request_headers: dict[str, str]
    response_status: int | None
    response_headers: dict[str, str] | None
    response_body: Annotated[str | None, Meta(description="The first 16 KiB, as text.")]
    response_truncated: bool
    error: str | None
    target_url: Annotated[str | None, Meta(description="Where it was made; null if that was not kept yet.")]


class DeliveryDetail(Delivery, frozen=True, kw_only=True):
    target_url: Annotated[str, Meta(description="Where the next attempt would be made: the webhook's present target.")]
    request_body: Annotated[str, Meta(description="The bytes that every attempt sends.")]
    attempts_made: list[Attempt]
