"""The deliveries table as a queue. Whoever ends a delivery names the worker and the claim, so a lapsed lease
changes nothing. All of it runs under read committed: workers skip each other's rows instead of failing."""

from datetime import datetime, timedelta

from deedbox.kernel.clock import instant, moment
from deedbox.kernel.db import Tx
from deedbox.kernel.jobs import Backlog
from deedbox.webhooks import limits
from deedbox.webhooks.queue.claim import AttemptOutcome, AttemptSlots, Claim, WebhookEndpoint
from deedbox.webhooks.store import add_attempt

# From one subscription with something to send to the next, however much each of them has.
_WAITING = """
with recursive waiting (hook_id) as (
    select min(hook_id) from deliveries where status = 'pending'
    union all
    select (select min(hook_id) from deliveries where status = 'pending' and hook_id > waiting.hook_id)
    from waiting where waiting.hook_id is not null
)
select waiting.hook_id from waiting join hooks on hooks.id = waiting.hook_id
where hooks.status = 'active' and exists (
    select 1 from deliveries
    where deliveries.hook_id = waiting.hook_id and deliveries.status = 'pending' and deliveries.due_at <= :now
)
union
select deliveries.hook_id from deliveries join hooks on hooks.id = deliveries.hook_id
where deliveries.status = 'sending' and deliveries.lease_until < :now and hooks.status = 'active'
"""
# A later event of a line waits for the first attempt at each earlier one; a retry that waits holds up nobody.
_CLAIM = """
with due as materialized (
    select id from deliveries as candidate
    where hook_id = :hook_id and status = 'pending' and due_at <= :now
    and (attempts > 0 or not exists (
        select 1 from deliveries as earlier
        where earlier.hook_id = candidate.hook_id and earlier.line = candidate.line
        and earlier.number < candidate.number and earlier.attempts = 0
        and earlier.status in ('pending', 'sending')
    ))
    order by due_at, id limit :most
), lapsed as materialized (
    select id from deliveries where hook_id = :hook_id and status = 'sending' and lease_until < :now limit :most
), chosen as materialized (
    select id from (select id from lapsed union all select id from due) as both_kinds limit :most
)
update deliveries set status = 'sending', worker = :worker, lease_until = :lease_until, claims = claims + 1
where id in (select id from chosen) and (status = 'pending' or status = 'sending' and lease_until < :now)
returning id, event_id, kind, body, attempts, claims
"""
_OURS = "where id = :id and worker = :worker and claims = :claims and status = 'sending'"


def due_hooks(tx: Tx, now: datetime) -> list[str]:
    """The active subscriptions that have something to send now."""
    return [row[0] for row in tx.all(_WAITING, now=now.timestamp())]


def claim(tx: Tx, worker: str, hook_id: str, room: AttemptSlots, now: datetime) -> list[Claim]:
    """Some of the subscription's deliveries that are due, leased to this worker; with those that are under way in
    any process, never more than its endpoint may have at a time."""
    endpoint = _endpoint(tx, hook_id)
    most = room.of(endpoint) if endpoint else 0
    if endpoint is None or most <= 0:
        return []
    bound = limits.WEBHOOK_PER_FAILING_ENDPOINT if endpoint.failing else limits.WEBHOOK_PER_ENDPOINT
    busy = tx.one(
        "select count(*) from deliveries where hook_id = :hook_id and status = 'sending' and lease_until >= :now",
        hook_id=hook_id,
        now=now.timestamp(),
    )
    free = min(most, bound - (int(busy[0]) if busy else 0))
    if free <= 0:
        return []
    rows = tx.all(
        _CLAIM,
        worker=worker,
        lease_until=now.timestamp() + limits.WEBHOOK_LEASE_SECONDS,
        hook_id=hook_id,
        now=now.timestamp(),
        most=free,
    )
    return [Claim(*(*row, endpoint)) for row in rows]


def _endpoint(tx: Tx, hook_id: str) -> WebhookEndpoint | None:
    """The subscription, held until the end of the transaction; None if it is not active, or another worker has it."""
    lock = "for no key update skip locked" if tx.dialect == "postgres" else ""
    row = tx.one(
        "select id, target_url, signature_scheme, secrets, consecutive_failures > 0 or last_success_at is null"
        f" from hooks where id = :id and status = 'active' {lock}",
        id=hook_id,
    )
    return WebhookEndpoint(row[0], row[1], row[2], bytes(row[3]), bool(row[4])) if row else None


def end(tx: Tx, worker: str, outcome: AttemptOutcome, now: datetime) -> bool:
    """Whether the outcome was written down: not if the lease has lapsed and another worker has the delivery."""
    claim, attempt = outcome.claim, outcome.attempt
    ended = outcome.status in ("delivered", "failed")
    ours = tx.run(
        "update deliveries set status = :status, attempts = attempts + 1, due_at = :due_at, worker = null,"
        f" lease_until = null, ended_at = :ended_at, response_status = :response_status, error = :error {_OURS}",
        id=claim.id,
        worker=worker,
        claims=claim.claims,
        status=outcome.status,
        due_at=outcome.due_at,
        ended_at=instant(now) if ended else None,
        response_status=attempt.response_status,
        error=attempt.error,
    )
    if not ours:
        return False
    add_attempt(tx, attempt)
    if outcome.status == "delivered":
        _note_success(tx, claim.endpoint, now)
    else:
        _note_failure(tx, claim.endpoint, now, gone=outcome.gone)
    return True


# What an attempt has shown is said of the target that it was made at: a hook may have got another one meanwhile.
_SAME_TARGET = "where id = :id and target_url = :target_url"


def _note_success(tx: Tx, endpoint: WebhookEndpoint, now: datetime) -> None:
    # Written once a second at most: every delivery would otherwise wait for the one row.
    tx.run(
        f"update hooks set last_success_at = :now, consecutive_failures = 0, failing_since = null {_SAME_TARGET}"
        " and (last_success_at is null or last_success_at < :now or consecutive_failures > 0)",
        id=endpoint.hook_id,
        target_url=endpoint.target_url,
        now=instant(now),
    )


def _note_failure(tx: Tx, endpoint: WebhookEndpoint, now: datetime, *, gone: bool) -> None:
    known = {"id": endpoint.hook_id, "target_url": endpoint.target_url}
    row = tx.one(f"select failing_since, last_failure_at from hooks {_SAME_TARGET}", **known)
    if row is None:
        return
    since = _failing_since(row[0], row[1], now)
    tx.run(
        "update hooks set last_failure_at = :now, consecutive_failures = consecutive_failures + 1,"
        f" failing_since = :since {_SAME_TARGET}",
        now=instant(now),
        since=instant(since),
        **known,
    )
    if gone or since <= now - timedelta(days=limits.WEBHOOK_DISABLE_DAYS):
        always = f"Every attempt has failed for {limits.WEBHOOK_DISABLE_DAYS} days."
        reason = "The endpoint answered 410 Gone." if gone else always
        disable = f"update hooks set status = 'disabled', disabled_reason = :reason {_SAME_TARGET}"
        tx.run(f"{disable} and status in ('active', 'paused')", reason=reason, **known)


def _failing_since(since: str | None, last_failure: str | None, now: datetime) -> datetime:
    """Since when nothing but failures was seen, without the time in which nothing was tried at all."""
    if since is None:
        return now
    idle = now - moment(last_failure or since)
    return moment(since) + (idle if idle.total_seconds() > limits.WEBHOOK_IDLE_SECONDS else timedelta())


def backlog(tx: Tx, now: datetime) -> Backlog:
    """The deliveries to active subscriptions that are due or under way. Failed ones are the receiver's concern."""
    due = tx.one(
        "select count(*), min(due_at) from deliveries join hooks on hooks.id = deliveries.hook_id"
        " where hooks.status = 'active' and deliveries.status = 'pending' and deliveries.due_at <= :now",
        now=now.timestamp(),
    )
    sending = tx.one(
        "select count(*) from deliveries where status = 'sending' and lease_until >= :now", now=now.timestamp()
    )
    since = due[1] if due and due[1] is not None else now.timestamp()
    return Backlog(
        due=due[0] if due else 0,
        oldest_due_seconds=now.timestamp() - since,
        running=sending[0] if sending else 0,
    )


def hand_back(tx: Tx, worker: str, now: datetime) -> None:
    """Returns this worker's deliveries, as if never claimed: the process is stopping."""
    tx.run(
        "update deliveries set status = 'pending', worker = null, lease_until = null, due_at = :now"
        " where worker = :worker and status = 'sending'",
        worker=worker,
        now=now.timestamp(),
    )


def bring_forward(tx: Tx, now: datetime) -> int:
    """The number of deliveries that were never tried and would now wait: they were written down before the clock was
    set back. Those that were tried go on waiting; no lease lasts longer than one that begins now."""
    lease = now.timestamp() + limits.WEBHOOK_LEASE_SECONDS
    tx.run("update deliveries set lease_until = :lease where status = 'sending' and lease_until > :lease", lease=lease)
    sooner = "update deliveries set due_at = :now where status = 'pending' and attempts = 0 and due_at > :now"
    return tx.run(sooner, now=now.timestamp())


def abandon_all(tx: Tx) -> int:
    """Lapses every lease: only for a database that has one process, which has just started."""
    return tx.run("update deliveries set lease_until = 0 where status = 'sending'")
