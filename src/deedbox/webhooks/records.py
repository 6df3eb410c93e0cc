"""Rows as the records that the API shows."""

from datetime import UTC, datetime

import msgspec

from deedbox.kernel.clock import instant
from deedbox.webhooks.hook import Attempt, Delivery, Hook
from deedbox.webhooks.store import AttemptRow, DeliveryRow, HookRow

_HEADERS = msgspec.json.Decoder(dict[str, str])


def shown_hook(row: HookRow) -> Hook:
    return Hook(
        id=row.id,
        target_url=row.target_url,
        events=row.events.split(),
        status=row.status,
        managed_by=row.managed_by,
        signature_scheme=row.signature_scheme,
        description=row.description,
        created_at=row.created_at,
        disabled_reason=row.disabled_reason,
        last_success_at=row.last_success_at,
        last_failure_at=row.last_failure_at,
        consecutive_failures=row.consecutive_failures,
    )


def shown_delivery(row: DeliveryRow) -> Delivery:
    return Delivery(
        id=row.id,
        hook_id=row.hook_id,
        event_id=row.event_id,
        type=row.kind,
        status=row.status,
        attempts=row.attempts,
        created_at=row.created_at,
        next_attempt_at=instant(datetime.fromtimestamp(row.due_at, UTC)) if row.status == "pending" else None,
        delivered_at=row.ended_at if row.status == "delivered" else None,
        failed_at=row.ended_at if row.status == "failed" else None,
        response_status=row.response_status,
        error=row.error,
    )


def shown_attempt(row: AttemptRow) -> Attempt:
    return Attempt(
        number=row.number,
        started_at=row.started_at,
        duration_ms=row.duration_ms,
        request_headers=_HEADERS.decode(row.request_headers),
        response_status=row.response_status,
        response_headers=_HEADERS.decode(row.response_headers) if row.response_headers is not None else None,
        response_body=bytes(row.response_body).decode("utf-8", "replace") if row.response_body is not None else None,
        response_truncated=bool(row.response_truncated),
        error=row.error,
        target_url=row.target_url,
    )
