"""Deliveries as the sender sees them: claimed with a lease, endpoint by endpoint, and ended with an outcome."""

from deedbox.webhooks.queue.claim import AttemptOutcome, AttemptSlots, Claim, WebhookEndpoint
from deedbox.webhooks.queue.store import backlog

__all__ = ["AttemptOutcome", "AttemptSlots", "Claim", "WebhookEndpoint", "backlog"]
