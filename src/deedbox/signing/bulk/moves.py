"""What a sender does with a bulk send: pause, resume, cancel, and another try of what failed."""

from msgspec.structs import asdict, replace

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.kernel.outbox import News
from deedbox.signing.action_context import Desk
from deedbox.signing.bulk import model, store
from deedbox.signing.bulk.accept import begin, reopened
from deedbox.signing.bulk.model import BulkSend

COMPLETED = "bulk_send.completed"


def find(tx: Tx, workspace_id: str, bulk_send_id: str) -> BulkSend:
    """The workspace's bulk send; another's is not there at all."""
    found = store.find(tx, workspace_id, bulk_send_id)
    if found is None:
        raise NotFound("Bulk send does not exist")
    return found


def pause(desk: Desk, bulk_send: BulkSend) -> BulkSend:
    """No more rows are sent until it is resumed."""
    after = replace(bulk_send, status=model.after(bulk_send.status, "pause"), updated_at=desk.at)
    store.change(desk.tx, bulk_send, after)
    return after


def resume(desk: Desk, bulk_send: BulkSend) -> BulkSend:
    """The rows that wait are sent, in the same pace."""
    after = reopened(bulk_send, model.after(bulk_send.status, "resume"), bulk_send.counts, desk.at)
    store.change(desk.tx, bulk_send, after)
    begin(desk, after)
    return after


def cancel(desk: Desk, bulk_send: BulkSend) -> BulkSend:
    """The rows that wait are never sent; what was sent stays sent."""
    status = model.after(bulk_send.status, "cancel")
    canceled = store.move_rows(desk.tx, bulk_send.id, "queued", "canceled")
    counts = replace(bulk_send.counts, queued=0, canceled=bulk_send.counts.canceled + canceled)
    after = replace(bulk_send, status=status, counts=counts, updated_at=desk.at, canceled_at=desk.at)
    store.change(desk.tx, bulk_send, after)
    tell_end(desk, after)
    return after


def retry(desk: Desk, bulk_send: BulkSend) -> BulkSend:
    """The rows that failed, if any have, are tried again."""
    status = model.after(bulk_send.status, "retry")
    failed = store.move_rows(desk.tx, bulk_send.id, "failed", "queued")
    if not failed:
        return bulk_send
    counts = replace(bulk_send.counts, queued=bulk_send.counts.queued + failed, failed=0)
    after = reopened(bulk_send, status, counts, desk.at)
    store.change(desk.tx, bulk_send, after)
    begin(desk, after)
    return after


def tell_end(desk: Desk, bulk_send: BulkSend) -> None:
    """The event that no row waits any more; after a retry it comes again."""
    told = {
        "bulk_send_id": bulk_send.id,
        "name": bulk_send.name,
        "template_id": bulk_send.template_id,
        "status": bulk_send.status,
        "counts": asdict(bulk_send.counts),
    }
    desk.tell(News(COMPLETED, bulk_send.id, told))
