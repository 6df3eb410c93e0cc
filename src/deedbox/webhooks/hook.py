"""A subscription, a delivery and an attempt at it, as the API shows them."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from deedbox.kernel.crypto import Secret

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


class Wish(msgspec.Struct, frozen=True):
    """What a new subscription should be; the edge has judged the URL and checked the bounds."""

    target_url: str
    events: list[str]
    managed_by: ManagedBy
    description: str | None = None


class Change(msgspec.Struct, frozen=True):
    """The new values of a subscription; UNSET leaves one as it is."""

    target_url: str | msgspec.UnsetType = msgspec.UNSET
    events: list[str] | msgspec.UnsetType = msgspec.UNSET
    description: str | msgspec.UnsetType | None = msgspec.UNSET


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
    more: bool


class Delivery(msgspec.Struct, frozen=True):
    """One event on its way to one subscription."""

    id: str
    hook_id: str
    event_id: str
    event: str
    status: DeliveryStatus
    attempts: int
    created_at: str
    next_attempt_at: str | None
    delivered_at: str | None
    failed_at: str | None
    response_status: int | None
    error: str | None


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
