"""What a sender does with a bulk send: pause, resume, cancel, and another try of what failed."""

from msgspec.structs import asdict, replace

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.kernel.outbox import NewEvent
from deedbox.signing.action_context import ActionContext
from deedbox.signing.bulk import model, store
from deedbox.signing.bulk.accept import begin, reopen
from deedbox.signing.bulk.model import BulkSend

COMPLETED = "bulk_send.completed"


def find(tx: Tx, workspace_id: str, bulk_send_id: str) -> BulkSend:
    """The workspace's bulk send; another's is not there at all."""
    found = store.find(tx, workspace_id, bulk_send_id)
    if found is None:
        raise NotFound("Bulk send does not exist")
    return found


def pause(ctx: ActionContext, bulk_send: BulkSend) -> BulkSend:
    """No more rows are sent until it is resumed."""
    after = replace(bulk_send, status=model.after(bulk_send.status, "pause"), updated_at=ctx.at)
    store.change(ctx.tx, bulk_send, after)
    return after


def resume(ctx: ActionContext, bulk_send: BulkSend) -> BulkSend:
    """The rows that wait are sent, in the same pace."""
    after = reopen(bulk_send, model.after(bulk_send.status, "resume"), bulk_send.counts, ctx.at)
    store.change(ctx.tx, bulk_send, after)
    begin(ctx, after)
    return after


def cancel(ctx: ActionContext, bulk_send: BulkSend) -> BulkSend:
    """The rows that wait are never sent; what was sent stays sent."""
    status = model.after(bulk_send.status, "cancel")
    canceled = store.move_rows(ctx.tx, bulk_send.id, "queued", "canceled")
    counts = replace(bulk_send.counts, queued=0, canceled=bulk_send.counts.canceled + canceled)
    after = replace(bulk_send, status=status, counts=counts, updated_at=ctx.at, canceled_at=ctx.at)
    store.change(ctx.tx, bulk_send, after)
    emit_end(ctx, after)
    return after


def retry(ctx: ActionContext, bulk_send: BulkSend) -> BulkSend:
    """The rows that failed, if any have, are tried again."""
    status = model.after(bulk_send.status, "retry")
    failed = store.move_rows(ctx.tx, bulk_send.id, "failed", "queued")
    if not failed:
        return bulk_send
    counts = replace(bulk_send.counts, queued=bulk_send.counts.queued + failed, failed=0)
    after = reopen(bulk_send, status, counts, ctx.at)
    store.change(ctx.tx, bulk_send, after)
    begin(ctx, after)
    return after


def emit_end(ctx: ActionContext, bulk_send: BulkSend) -> None:
    """The event that no row waits any more; after a retry it comes again."""
    told = {
        "bulk_send_id": bulk_send.id,
        "name": bulk_send.name,
        "template_id": bulk_send.template_id,
        "status": bulk_send.status,
        "counts": asdict(bulk_send.counts),
    }
    ctx.tell(NewEvent(COMPLETED, bulk_send.id, told))
