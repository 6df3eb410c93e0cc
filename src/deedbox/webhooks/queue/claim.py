"""The claim that the sender holds while it makes an attempt, and the outcome that it writes down."""

from collections.abc import Sequence

import msgspec

from deedbox.webhooks.hook import DeliveryStatus, Scheme
from deedbox.webhooks.store import AttemptRow


class WebhookEndpoint(msgspec.Struct, frozen=True):
    """A subscription that may be sent to."""

    hook_id: str
    target_url: str
    scheme: Scheme
    secrets: bytes
    failing: bool
    """The last attempt failed, or none has ever succeeded: it may have fewer at a time."""


class AttemptSlots(msgspec.Struct, frozen=True):
    """How many more attempts this process can have under way, and how many of them at failing endpoints."""

    most: int
    failing: int

    def of(self, endpoint: WebhookEndpoint) -> int:
        return min(self.most, self.failing) if endpoint.failing else self.most

    def without(self, claims: "Sequence[Claim]") -> "AttemptSlots":
        failing = sum(claim.endpoint.failing for claim in claims)
        return AttemptSlots(self.most - len(claims), self.failing - failing)


class Claim(msgspec.Struct, frozen=True):
    """One delivery that is this worker's until its lease lapses."""

    id: str
    event_id: str
    kind: str
    body: str
    attempts: int
    """Attempts that have ended. One that a dead process had begun is not counted: it is made again."""
    claims: int
    """Grows with every claim, so that a worker whose lease has lapsed changes nothing."""
    endpoint: WebhookEndpoint


class AttemptOutcome(msgspec.Struct, frozen=True):
    """The end of an attempt: its row, the delivery's next status and when that is due."""

    claim: Claim
    attempt: AttemptRow
    status: DeliveryStatus
    due_at: float
    gone: bool = False
    """The receiver wants no more of this."""
