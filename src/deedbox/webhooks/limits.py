"""Bounds of `deedbox.webhooks`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import KB, WEBHOOK_RETRY_SECONDS

# webhooks
HOOK_EVENTS = 100
WEBHOOK_SECRET_BYTES = 32
WEBHOOK_SECONDS = 15
WEBHOOK_PER_ENDPOINT = 4
WEBHOOK_PER_FAILING_ENDPOINT = 1
WEBHOOK_CONCURRENCY = 512
WEBHOOK_FAILING_CONCURRENCY = 256
"""Of all attempts at a time, those to endpoints that failed last: the rest is for those that work."""
WEBHOOK_CHAIN_ROOM = 64
"""With more room than this, an endpoint goes on at once with its next delivery instead of waiting for its turn."""
WEBHOOK_CLAIM_HOOKS = 64
WEBHOOK_LEASE_SECONDS = 60
WEBHOOK_POLL_SECONDS = 1
WEBHOOK_DISABLE_DAYS = 5
WEBHOOK_IDLE_SECONDS = 2 * WEBHOOK_RETRY_SECONDS[-1] + 3600
"""Longer than any wait for a retry: an endpoint without an attempt for so long was not failing all the time."""
WEBHOOK_FAILING_KNOWN = 10_000
WEBHOOK_RESPONSE_BYTES = 16 * KB
WEBHOOK_RESPONSE_HEADERS_CHARS = 8 * KB
WEBHOOK_ERROR_CHARS = 500
WEBHOOK_KEEP_DAYS = 30
RECOVER_EVENTS = 500
