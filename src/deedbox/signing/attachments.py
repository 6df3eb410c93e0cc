"""Files that signers give for fields: what is joined behind the paper, how much of it, and what becomes of the rest."""

from collections.abc import Sequence

from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.errors import BadRequest
from deedbox.signing import limits, parties
from deedbox.signing.action_context import ActionContext
from deedbox.signing.model import Attachment, Document, Field, Packet
from deedbox.signing.store import attachments as store


def join_attachments(
    fields: Sequence[Field], before: Sequence[Attachment], mine: Sequence[Attachment]
) -> list[Attachment]:
    """What is joined behind the paper, in the order of the fields: where a signer has given a file, that one."""
    known = {one.field_id: one for one in (*before, *mine)}
    return [known[field.id] for field in fields if field.value and field.id in known]


def need_room(document: Document, paper_bytes: int, attachments: Sequence[Attachment]) -> None:
    """Raises BadRequest if the paper would grow too large with these behind it."""
    size = max(sum(one.paper_bytes for one in attachments), sum(one.size_bytes for one in attachments))
    if paper_bytes + size > limits.ATTACHED_FILE_BYTES:
        raise refusal(BadRequest, "attached_bytes", most=str(limits.ATTACHED_FILE_BYTES // shared_limits.MB))
    pages = sum(file.pages for file in document.files) + sum(one.pages for one in attachments)
    if pages > shared_limits.DOCUMENT_PAGES:
        raise refusal(BadRequest, "attached_pages", most=str(shared_limits.DOCUMENT_PAGES))


def owner(attachment: Attachment) -> str:
    """For whom its two files are stored."""
    return f"attachment:{attachment.field_id}:{attachment.signer_id}"


def release(ctx: ActionContext, attachment: Attachment, instead: Attachment | None = None) -> None:
    """Lets its files go, but for those that the other one needs too, of the same signer for the same field."""
    still = {instead.sha256, instead.paper_sha256} if instead else set()
    for sha256 in {attachment.sha256, attachment.paper_sha256} - still:
        blobs.release(ctx.tx, sha256, owner(attachment), ctx.now)


def settle(ctx: ActionContext, before: Packet, after: Packet) -> None:
    """After an act: what was kept, and what was attached, goes unless it is attached now or its signer may yet sign."""
    if not any(field.type == "attachment" for document in before.documents for field in document.fields):
        return
    still_open = {signer.id for _, signer in after.signers() if signer.status in parties.OPEN}
    values = {field.id: field.value for document in before.documents for field in document.fields}
    changed = {field.id for document in after.documents for field in document.fields if field.value != values[field.id]}
    kept = store.list_all(ctx.tx, before.id)
    over = [one for one in kept if one.signer_id not in still_open or one.field_id in changed]
    store.drop(ctx.tx, over)
    attached_now = [one for document in after.documents for one in document.attachments]
    attached_before = [one for document in before.documents for one in document.attachments]
    for one in {*map(_key, (*over, *attached_before))} - {*map(_key, attached_now)}:
        release(ctx, next(each for each in (*over, *attached_before) if _key(each) == one))


def drop_uploads(ctx: ActionContext, packet: Packet, signer_id: str) -> None:
    """What the signer has given and not signed with is gone."""
    kept = [one for one in store.list_all(ctx.tx, packet.id) if one.signer_id == signer_id]
    store.drop(ctx.tx, kept)
    for one in kept:
        release(ctx, one)


def _key(attachment: Attachment) -> tuple[str, str]:
    return attachment.field_id, attachment.signer_id
