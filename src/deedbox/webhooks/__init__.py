"""Webhooks: subscriptions, signed deliveries that are tried again until they arrive, and the event feed."""
