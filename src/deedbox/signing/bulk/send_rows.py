"""The job that sends the rows of a bulk send, some in each transaction, by turns with everything else."""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from deedbox.kernel import log
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.db import Dialect, Tx
from deedbox.kernel.errors import NotFound, ServiceError, Unavailable
from deedbox.kernel.jobs import Work
from deedbox.signing import limits, sessions
from deedbox.signing.action_context import ActionContext, ActionScope, SigningServices
from deedbox.signing.actions import create_from_template, send
from deedbox.signing.actions.create_from_template import ReadyTemplate
from deedbox.signing.bulk import model, moves, store, turns
from deedbox.signing.bulk.model import ENCRYPTED_ROWS, BulkSend, NewRow
from deedbox.signing.bulk.store import QueuedRow, RowOutcome
from deedbox.signing.model import Packet
from deedbox.signing.new_document import NewParty
from deedbox.signing.sessions import HashedCodes
from deedbox.signing.store import templates

_ROW = msgspec.json.Decoder(NewRow)


class _Stopped(Exception):
    """It was paused, canceled or taken over since its rows were read: nothing of this slice was sent."""


class _Slice(NamedTuple):
    """Some rows of a bulk send, to be sent together."""

    bulk_send: BulkSend
    rows: Sequence[QueuedRow]


class _Sending(NamedTuple):
    """The packet of one document before and after it is sent; neither is stored yet."""

    draft: Packet
    sent: Packet


class _Drafted(NamedTuple):
    """A row with the document that it becomes, or why it becomes none."""

    row: QueuedRow
    sending: _Sending | None = None
    error: str | None = None


class _Opened(NamedTuple):
    """A row, decrypted."""

    row: QueuedRow
    new: NewRow
    codes: HashedCodes


class SendRows:
    def __init__(self, services: SigningServices, box: ValueCipher) -> None:
        self._services = services
        self._box = box

    async def run(self, work: Work) -> None:
        """The handler of BULK_JOB: sends slices until none is left, it is another's turn, or the pace says wait."""
        workspace_id, bulk_send_id = work.named("bulk_send_id")
        template: ReadyTemplate | None = None
        progress = False
        for _ in range(limits.BULK_SLICES):
            part = await self._services.db.read(lambda tx: _next(tx, workspace_id, bulk_send_id))
            if part is None or part.bulk_send.round != work.job.payload["round"]:
                return
            if part.bulk_send.next_at > self._services.clock.now().timestamp():
                await work.put_off(datetime.fromtimestamp(part.bulk_send.next_at, UTC), progress=progress)
                return
            try:
                template = template or await self._template(part.bulk_send)
                await self._send(part, template)
                progress = True
            except NotFound as error:
                await self._refuse(part, error.message)
            except _Stopped:
                continue
        await work.put_off(self._services.clock.now(), progress=progress)

    async def _template(self, bulk_send: BulkSend) -> ReadyTemplate:
        one = bulk_send
        return await self._services.db.read(
            lambda tx: create_from_template.ready(tx, one.workspace_id, one.template_id, one.template_version)
        )

    async def _refuse(self, part: _Slice, reason: str) -> None:
        """Notes that none of these rows can be sent."""
        with contextlib.suppress(_Stopped):
            drafted = [_Drafted(row, error=_cut(reason)) for row in part.rows]
            await self._store(part.bulk_send, drafted, None, self._services.clock.now())

    async def _send(self, part: _Slice, template: ReadyTemplate) -> None:
        now = self._services.clock.now()
        opened = [await self._opened(part.bulk_send, row) for row in part.rows]
        drafting = (self._drafted(part.bulk_send, one, template, now) for one in opened)
        drafted = await turns.take(drafting, self._services.under_way)
        await self._services.under_way.passed()
        try:
            await self._store(part.bulk_send, drafted, template, now)
        except (_Stopped, Unavailable, NotFound, asyncio.CancelledError):
            raise
        except Exception as error:  # whatever one row does must not keep the others from being sent
            log.warning("rows are sent one by one", bulk_send=part.bulk_send.id, reason=type(error).__name__)
            await self._one_by_one(drafted, part.bulk_send, template, now)

    async def _opened(self, bulk_send: BulkSend, row: QueuedRow) -> _Opened | _Drafted:
        place = ENCRYPTED_ROWS.place.format(bulk_send_id=bulk_send.id, row_key=row.key)
        try:
            new = _ROW.decode(self._box.decrypt(row.content, place))
            people = [NewParty(role, model.people(new, role)) for role in new.roles]
            send.need_mail_for_codes(people, self._services.notifier)
            return _Opened(row, new, await sessions.hashed_codes(people))
        except Unavailable:
            raise
        except Exception as error:  # as below
            return _failed(bulk_send, row, error)

    def _drafted(
        self, bulk_send: BulkSend, opened: _Opened | _Drafted, template: ReadyTemplate, now: datetime
    ) -> _Drafted:
        if isinstance(opened, _Drafted):
            return opened
        wanted = model.to_request(bulk_send.template_id, bulk_send.common, opened.new)
        try:
            draft = create_from_template.draft_document(
                ActionScope(bulk_send.workspace_id, now), template, wanted,
                source="bulk", bulk_send_id=bulk_send.id, codes=opened.codes,
            )  # fmt: skip
            return _Drafted(opened.row, _Sending(draft, send.as_sent(draft, now)))
        except Exception as error:  # whatever one row does must not keep the others from being sent
            return _failed(bulk_send, opened.row, error)

    async def _one_by_one(
        self, drafted: Sequence[_Drafted], bulk_send: BulkSend, template: ReadyTemplate, now: datetime
    ) -> None:
        """Each row in a transaction of its own: one that fails is noted as failed."""
        for one in drafted:
            try:
                await self._store(bulk_send, [one], template, now)
            except (_Stopped, Unavailable, NotFound, asyncio.CancelledError):
                raise
            except Exception as error:  # the row's own fault, which it is told, and no other's
                await self._store(bulk_send, [_failed(bulk_send, one.row, error)], template, now)

    async def _store(
        self, bulk_send: BulkSend, drafted: Sequence[_Drafted], template: ReadyTemplate | None, now: datetime
    ) -> None:
        def write(tx: Tx) -> None:
            with self._services.action(tx, bulk_send.workspace_id, bulk_send.actor, now) as ctx:
                _sent(ctx, bulk_send, drafted, template)

        # Not serializable: PostgreSQL takes new rows side by side in an index for a conflict, and a slice would lose to
        # nearly every single document. All that it decides upon is in the bulk send's row, which it changes.
        await self._services.db.write(write, isolation="repeatable read")


def _sent(ctx: ActionContext, seen: BulkSend, drafted: Sequence[_Drafted], template: ReadyTemplate | None) -> None:
    """The rows with their documents, people, links, mails and events: all of it in one transaction."""
    bulk_send = store.find(ctx.tx, seen.workspace_id, seen.id)
    if bulk_send is None or bulk_send.round != seen.round or (bulk_send.status, "send") not in model.MOVES:
        raise _Stopped
    if template is not None and not templates.hold(ctx.tx, seen.workspace_id, seen.template_id):
        raise NotFound("Template does not exist")
    if not store.all_in_queue(ctx.tx, seen.id, [one.row.number for one in drafted]):
        raise _Stopped
    _create_all(ctx, template, [one.sending for one in drafted if one.sending])
    outcomes = [_outcome(one) for one in drafted]
    store.settle(ctx.tx, seen.id, outcomes)
    after = _counted(bulk_send, outcomes, ctx)
    store.change(ctx.tx, bulk_send, after)
    if after.status == "completed":
        moves.emit_end(ctx, after)


def _outcome(drafted: _Drafted) -> RowOutcome:
    document_id = drafted.sending.sent.first.id if drafted.sending else None
    return RowOutcome(drafted.row.number, document_id, drafted.error)


def _create_all(ctx: ActionContext, template: ReadyTemplate | None, sending: Sequence[_Sending]) -> None:
    """As `create_from_template.create`, for many: hardly more statements than for one."""
    if template is None or not sending:
        return
    ids = [one.sent.first.id for one in sending]
    blobs.share(ctx.tx, template.hashes, ids)
    stored = ctx.add_all([one.sent for one in sending], {document_id: [] for document_id in ids})
    for one, packet in zip(sending, stored, strict=True):
        ctx.record(packet.first, "document.created", create_from_template.creation_details(packet.first))
        send.announce(ctx, one.draft, packet)


def _counted(bulk_send: BulkSend, outcomes: Sequence[RowOutcome], ctx: ActionContext) -> BulkSend:
    """The bulk send as these rows leave it: completed with the last, else waiting as its pace says."""
    failed = sum(one.document_id is None for one in outcomes)
    sent = len(outcomes) - failed
    counts = bulk_send.counts
    counts = replace(
        counts, queued=counts.queued - sent - failed, sent=counts.sent + sent, failed=counts.failed + failed
    )
    after = replace(
        bulk_send, status=model.after(bulk_send.status, "send"), counts=counts, updated_at=ctx.at,
        next_at=_next_at(bulk_send, len(outcomes), ctx.now.timestamp()),
    )  # fmt: skip
    return after if counts.queued else replace(after, status="completed", completed_at=ctx.at)


def _next(tx: Tx, workspace_id: str, bulk_send_id: str) -> _Slice | None:
    """The next rows to send; None if there are none, or they may not be sent."""
    bulk_send = store.find(tx, workspace_id, bulk_send_id)
    if bulk_send is None or (bulk_send.status, "send") not in model.MOVES:
        return None
    rows = store.next_rows(tx, bulk_send_id, _together(bulk_send, tx.dialect))
    return _Slice(bulk_send, rows) if rows else None


def _together(bulk_send: BulkSend, dialect: Dialect) -> int:
    """How many rows are sent in one transaction."""
    most = limits.BULK_SLICE_ROWS if dialect == "sqlite" else limits.BULK_SLICE_ROWS_POSTGRES
    if bulk_send.rows_per_minute is None:
        return most
    return min(most, max(1, bulk_send.rows_per_minute * limits.BULK_PACE_SECONDS // 60))


def _next_at(bulk_send: BulkSend, rows: int, now: float) -> float:
    """When the next rows may follow: as planned, so that what comes a little late does not slow down the rest."""
    if bulk_send.rows_per_minute is None:
        return 0
    seconds = rows * 60 / bulk_send.rows_per_minute
    return max(bulk_send.next_at or now, now - seconds) + seconds


def _failed(bulk_send: BulkSend, row: QueuedRow, error: Exception) -> _Drafted:
    """The row with the reason why it is not sent; what is no fault of the row's content goes to the log."""
    if isinstance(error, ServiceError):
        return _Drafted(row, error=_cut(error.message))
    log.error("a row cannot be sent", exception=error, bulk_send=bulk_send.id, row=row.number)
    return _Drafted(row, error="The server could not make a document of it. See the log.")


def _cut(error: str) -> str:
    return error[: limits.BULK_ERROR_CHARS]
