"""Attachments in the records: whose file counts in a field of a whole party, what is let go, and how much may be."""

from typing import Any

import pytest
from msgspec.structs import replace

from deedbox.kernel.blobs import ReceivedBlob
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing import action_context as desks
from deedbox.signing import attachments, limits
from deedbox.signing.actions import attach
from deedbox.signing.model import Attachment
from deedbox.signing.new_document import NewField, NewParty
from deedbox.signing.store import attachments as store
from deedbox.signing.store import audit
from deedbox.web.api_v1.document_record import DocumentRecord
from tests.signing.desk import Desk, party, received, signer

pytestmark = pytest.mark.anyio


async def sent(desk: Desk, **more: Any) -> DocumentRecord:
    field = NewField(type="attachment", page=1, x=0.1, y=0.1, w=0.5, h=0.05, party="Tenants", label="Passport")
    return await desk.sent(party("Tenants", "ann", "bob", **more), fields=[field])


async def given(desk: Desk, document: DocumentRecord, name: str, text: str) -> Attachment:
    """A file of two pages that somebody gives, and the PDF that was made of it."""
    file, pdf = received(text), received(f"ready {text}")
    made = _made(document.fields[0].id, desk.id_of(document, name), file, pdf)

    def keep(tx: Tx) -> Attachment:
        with desk.at(tx) as at:
            return attach.keep(at, at.packet_of(document.id), made, file, pdf)

    return await desk.db.write(keep)


def _made(field_id: str, signer_id: str, file: ReceivedBlob, pdf: ReceivedBlob) -> Attachment:
    sizes = [(595.0, 842.0)] * 2
    blob, ready = file.blob, pdf.blob
    return Attachment(field_id, signer_id, "a.pdf", blob.sha256, blob.size_bytes, ready.sha256, ready.size_bytes, sizes)


async def owners(desk: Desk) -> list[str]:
    sql = "select owner from blob_refs where owner like 'attachment:%' order by owner"
    return [row[0] for row in await desk.db.read(lambda tx: tx.all(sql))]


async def test_the_file_of_whoever_signs_first_counts_for_a_whole_party_and_the_other_goes(desk: Desk) -> None:
    document = await sent(desk)
    first = await given(desk, document, "ann", "one")
    await given(desk, document, "bob", "two")
    signed = await desk.sign(document, "ann")
    assert [(one.signer, one.sha256, one.pages) for one in signed.attachments] == [
        (first.signer_id, first.sha256, [3, 4])
    ]
    assert await owners(desk) == 2 * [attachments.owner(first)], "what Bob gave before is out of date, like a text"
    with pytest.raises(Conflict, match="already signed with this value"):
        await given(desk, document, "bob", "two")
    signed = await desk.sign(document, "bob")
    assert [(one.signer, one.sha256) for one in signed.attachments] == [(first.signer_id, first.sha256)]
    assert await owners(desk) == 2 * [attachments.owner(first)]
    trail = await desk.db.read(lambda tx: audit.trail(tx, document.id))
    told = [entry.detail.get("attachments") for entry in trail if entry.act == "signer.signed"]
    assert told == [{first.field_id: first.sha256}, None]
    with pytest.raises(Conflict):
        await given(desk, document, "bob", "three")


async def test_what_was_given_goes_when_an_approval_is_enough(desk: Desk) -> None:
    people = [signer("ann"), signer("bob"), signer("cem", role="approver")]
    field = NewField(type="attachment", page=1, x=0.1, y=0.1, w=0.5, h=0.05, party="Tenants", label="Passport")
    document = await desk.sent(NewParty("Tenants", people, rule="any"), fields=[field])
    await given(desk, document, "ann", "one")
    await desk.approve(document, "cem")
    assert await owners(desk) == []


async def test_what_is_given_by_one_who_is_not_needed_any_more_goes(desk: Desk) -> None:
    document = await sent(desk, rule="any")
    kept = await given(desk, document, "ann", "one")
    await given(desk, document, "bob", "two")
    await desk.sign(document, "ann")
    assert await owners(desk) == 2 * [attachments.owner(kept)]
    assert await desk.db.read(lambda tx: store.list_all(tx, _packet(desk, tx, document))) == []


def _packet(desk: Desk, tx: Tx, document: DocumentRecord) -> str:
    return desks.packet_of(tx, desk.workspace, document.id).id


async def test_paper_and_attachments_are_bounded_together(desk: Desk) -> None:
    document = await sent(desk)
    found = (await desk.db.read(lambda tx: desks.packet_of(tx, desk.workspace, document.id))).first
    one = _made("fld", "sgn", received("a"), received("b"))
    attachments.need_room(found, limits.ATTACHED_FILE_BYTES - 1, [one])
    with pytest.raises(BadRequest, match="larger than 96 MB"):
        attachments.need_room(found, limits.ATTACHED_FILE_BYTES - 1, [replace(one, size_bytes=2)])
    with pytest.raises(BadRequest, match="more than 5000 pages"):
        attachments.need_room(found, 1, [replace(one, sizes=one.sizes * 2500)])
