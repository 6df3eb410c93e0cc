"""Accept: a bulk send whose rows can all be sent, kept for the job that sends them; or more rows for a known one.

Under one name and template there is one bulk send, and in it one row for each key: whoever uploads the same file again
gets the same bulk send, and nobody gets the same document twice."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from deedbox.kernel import jobs
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.kernel.ids import new_id
from deedbox.signing import limits
from deedbox.signing.action_context import ActionContext, ActionScope, SigningServices
from deedbox.signing.actions import create_from_template, send
from deedbox.signing.actions.create_from_template import ReadyTemplate
from deedbox.signing.bulk import model, store, turns
from deedbox.signing.bulk.model import (
    ENCRYPTED_ROWS,
    BulkSend,
    CheckedRow,
    Counts,
    Flaw,
    NewBulkSend,
    NewRow,
    ReadRow,
    RowPosition,
)
from deedbox.signing.bulk.store import KnownRow
from deedbox.signing.new_document import NewParty

BULK_JOB = "bulk_send"
_TRIED_AGAIN = ("failed", "canceled")


class Start(NamedTuple):
    """What a request builds upon: the template in the version that counts, and the bulk send if it is known."""

    new: NewBulkSend
    workspace_id: str
    bulk_send_id: str
    template: ReadyTemplate
    known: BulkSend | None
    known_rows: Mapping[str, KnownRow]


class RowsReport(NamedTuple):
    """What came of checking every row."""

    rows: Sequence[CheckedRow]
    flaws: Sequence[Flaw]
    total: int
    invalid: int
    """Rows with flaws."""

    def need_flawless(self) -> None:
        """BadRequest, naming the first flaws, if there are any: nothing is sent by halves."""
        if self.invalid:
            first = self.flaws[: limits.BULK_FLAWS_SAID]
            more = f" Send it with dry_run to see all {len(self.flaws)}." if len(self.flaws) > len(first) else ""
            said = "; ".join(flaw.said() for flaw in first)
            raise BadRequest(f"{self.invalid} of {self.total} rows cannot be sent, so none is: {said}.{more}")

    def flawless(self) -> "RowsReport":
        """The rows that can be sent, for whoever has seen the others and leaves them out."""
        return RowsReport(self.rows, [], len(self.rows), 0)


class _Plan(NamedTuple):
    """Rows by what is to be done with them."""

    fresh: Sequence[CheckedRow]
    again: Sequence[CheckedRow]
    """Known ones that failed or were canceled."""
    failed: int
    """How many of these had failed."""
    flaws: Sequence[Flaw]
    """Known ones that say something else now."""


def start(tx: Tx, services: SigningServices, workspace_id: str, new: NewBulkSend) -> Start:
    """What the request builds upon; Conflict if the name is taken by one with other words for all."""
    known = store.find_by_name(tx, workspace_id, new.template_id, new.name)
    if known is not None and known.common != new.common:
        raise Conflict(
            f"The bulk send {new.name!r} of this template has another title, message, language, end or reminders."
            " Give another name, or the same again."
        )
    version = known.template_version if known else None
    template = create_from_template.ready(tx, workspace_id, new.template_id, version)
    bulk_send_id = known.id if known else new_id("blk", services.clock.now())
    return Start(new, workspace_id, bulk_send_id, template, known, store.known_rows(tx, known.id) if known else {})


async def check_rows(services: SigningServices, box: ValueCipher, begun: Start, rows: Iterator[ReadRow]) -> RowsReport:
    """Every row checked as if it were sent, by turns with whatever else the server does."""
    check = _Check(services, box, begun)
    await turns.take(check.each(rows), services.under_way)
    return check.report()


def compare(tx: Tx, begun: Start, report: RowsReport) -> RowsReport:
    """The report with the flaws that only a look at known rows shows; BadRequest if they are too many with these."""
    plan = _plan(tx, begun, report.rows)
    if begun.known:
        _need_room(begun.known, len(plan.fresh))
    bad = {flaw.index for flaw in plan.flaws}
    return report._replace(
        rows=[row for row in report.rows if row.place.index not in bad],
        flaws=[*report.flaws, *plan.flaws],
        invalid=report.invalid + len(plan.flaws),
    )


def accept(ctx: ActionContext, begun: Start, report: RowsReport) -> BulkSend:
    """The bulk send with its rows queued; those that were sent or wait under the same keys are left as they are."""
    report.need_flawless()
    known = store.find_by_name(ctx.tx, ctx.workspace_id, begun.new.template_id, begun.new.name)
    if (known and known.id) != (begun.known and begun.known.id):
        raise Conflict("A bulk send with this name was created at the same time. Try again.")
    if known is None:
        return _made(ctx, begun, report.rows)
    plan = _plan(ctx.tx, begun, report.rows)
    report._replace(flaws=plan.flaws, invalid=len(plan.flaws)).need_flawless()
    return _joined(ctx, known, begun.new, plan)


def begin(ctx: ActionContext, bulk_send: BulkSend) -> None:
    """The job that sends what is queued, of this round."""
    jobs.put(
        ctx.tx,
        jobs.NewJob(
            BULK_JOB,
            {"bulk_send_id": bulk_send.id, "round": bulk_send.round},
            priority=jobs.BULK,
            unique_key=f"{BULK_JOB}:{bulk_send.id}:{bulk_send.round}",
            workspace_id=bulk_send.workspace_id,
            max_attempts=limits.BULK_ATTEMPTS,
        ),
        now=ctx.now,
    )


class _Check:
    """Whether rows can be sent; each row has a key of its own."""

    def __init__(self, services: SigningServices, box: ValueCipher, begun: Start) -> None:
        self._services = services
        self._box = box
        self._begun = begun
        self._keys: dict[str, RowPosition] = {}
        self._found: list[CheckedRow] = []
        self._flaws: list[Flaw] = []
        self._total = 0

    def each(self, rows: Iterator[ReadRow]) -> Iterator[None]:
        """Checks one row with each step."""
        for read in rows:
            self._total += 1
            if self._total > shared_limits.BULK_ROWS:
                raise BadRequest(f"{read.place}: a bulk send has at most {shared_limits.BULK_ROWS:,} rows")
            one = self._row(read)
            if isinstance(one, CheckedRow):
                self._found.append(one)
            else:
                self._flaws += one[: shared_limits.BULK_FLAWS - len(self._flaws)]
            yield

    def report(self) -> RowsReport:
        if not self._total:
            raise BadRequest("There are no rows")
        return RowsReport(self._found, self._flaws, self._total, self._total - len(self._found))

    def _row(self, read: ReadRow) -> CheckedRow | Sequence[Flaw]:
        """The row, or what is wrong with it."""
        row = read.row
        if row is None:
            return read.flaws
        digest, place = row.digest(), read.place
        key = row.key or f"row-{digest[:32]}"
        if (twin := self._keys.setdefault(key, place)) is not place:
            return [place.flaw(_twins(row, twin), "key")]
        before = self._begun.known_rows.get(key)
        # One that is sent or waits is compared alone: whether it could be sent now is not asked.
        if before is None or before.status in _TRIED_AGAIN:
            try:
                self._try(row)
            except BadRequest as error:
                return [place.flaw(error.message[: limits.BULK_ERROR_CHARS])]
        named = ENCRYPTED_ROWS.place.format(bulk_send_id=self._begun.bulk_send_id, row_key=key)
        return CheckedRow(place, key, digest, self._box.encrypt(msgspec.json.encode(row), named))

    def _try(self, row: NewRow) -> None:
        begun = self._begun
        wanted = model.to_request(begun.new.template_id, begun.new.common, row)
        people = [NewParty(role, model.people(row, role)) for role in row.roles]
        send.need_mail_for_codes(people, self._services.notifier)
        occasion = ActionScope(begun.workspace_id, self._services.clock.now())
        draft = create_from_template.draft_document(occasion, begun.template, wanted, codes=_AnyCode())
        send.as_sent(draft, occasion.now)


class _AnyCode(dict[tuple[str, str], str]):
    """In place of the hashes of access codes, which take their time: whether a row can be sent does not depend on
    them."""

    def __missing__(self, _: tuple[str, str]) -> str:
        return ""


def _plan(tx: Tx, begun: Start, rows: Sequence[CheckedRow]) -> _Plan:
    known = store.known_rows(tx, begun.known.id) if begun.known else {}
    fresh, again, flaws, failed = list[CheckedRow](), list[CheckedRow](), list[Flaw](), 0
    for row in rows:
        before = known.get(row.key)
        if before is None:
            fresh.append(row)
        elif before.status in _TRIED_AGAIN:
            again.append(row)
            failed += before.status == "failed"
        elif before.digest != row.digest:
            flaws.append(row.place.flaw(_differs(row, before), "key"))
    return _Plan(fresh, again, failed, flaws)


def _made(ctx: ActionContext, begun: Start, rows: Sequence[CheckedRow]) -> BulkSend:
    new, template, total = begun.new, begun.template.template, len(rows)
    made = BulkSend(
        id=begun.bulk_send_id,
        workspace_id=ctx.workspace_id,
        name=new.name,
        template_id=template.id,
        template_version=template.version,
        status="queued",
        common=new.common,
        rows_per_minute=new.rows_per_minute,
        actor=ctx.actor,
        counts=Counts(total, total, 0, 0, 0),
        created_at=ctx.at,
        updated_at=ctx.at,
    )
    store.add(ctx.tx, made)
    store.add_rows(ctx.tx, made.id, rows, 0)
    begin(ctx, made)
    return made


def _joined(ctx: ActionContext, known: BulkSend, new: NewBulkSend, plan: _Plan) -> BulkSend:
    """The known bulk send with the rows that are new to it, and those that were not sent before."""
    counts, more = known.counts, len(plan.fresh) + len(plan.again)
    _need_room(known, len(plan.fresh))
    after = replace(known, rows_per_minute=new.rows_per_minute, next_at=known.next_at if new.rows_per_minute else 0)
    if more:
        after = reopen(
            after,
            model.after(known.status, "add"),
            Counts(
                counts.total + len(plan.fresh),
                counts.queued + more,
                counts.sent,
                counts.failed - plan.failed,
                counts.canceled - (len(plan.again) - plan.failed),
            ),
            ctx.at,
        )
        store.add_rows(ctx.tx, known.id, plan.fresh, counts.total)
        store.queue_again(ctx.tx, known.id, plan.again)
        begin(ctx, after)
    store.change(ctx.tx, known, after)
    return after


def _need_room(known: BulkSend, fresh: int) -> None:
    if known.counts.total + fresh > shared_limits.BULK_ROWS:
        raise BadRequest(
            f"{fresh} rows are new to the bulk send {known.name!r}, which has {known.counts.total} already; it can have"
            f" {shared_limits.BULK_ROWS:,}. Send them under another name."
        )


def reopen(bulk_send: BulkSend, status: model.Status, counts: Counts, at: str) -> BulkSend:
    """The bulk send with rows to send, in a new round."""
    return replace(
        bulk_send,
        status=status,
        counts=counts,
        round=bulk_send.round + 1,
        updated_at=at,
        completed_at=None,
        canceled_at=None,
    )


def _twins(row: NewRow, twin: RowPosition) -> str:
    if row.key is not None:
        return f"{row.key[: shared_limits.MISTAKE_CHARS]!r} is the key of {twin} too"
    return f"it says the same as {twin}; give both a key to send both"


def _differs(row: CheckedRow, before: KnownRow) -> str:
    sent = f"was sent before, as {before.document_id}" if before.status == "sent" else "waits to be sent already"
    return f"{row.key[: shared_limits.MISTAKE_CHARS]!r} {sent}, with other content; give another key to send both"
