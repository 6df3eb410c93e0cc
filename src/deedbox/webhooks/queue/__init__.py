"""Deliveries as the sender sees them: claimed with a lease, endpoint by endpoint, and ended with an outcome."""

from deedbox.webhooks.queue.claim import Claim, Endpoint, Outcome, Room
from deedbox.webhooks.queue.store import backlog

__all__ = ["Claim", "Endpoint", "Outcome", "Room", "backlog"]
