"""A packet of several documents: what is shared is shared, and what is a document's own stays so."""

from typing import Any

import msgspec
import pytest

from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict
from deedbox.kernel.ids import new_id
from deedbox.signing import action_context as desks
from deedbox.signing.actions.change import amend
from deedbox.signing.actions.change_packet import amend as amend_packet
from deedbox.signing.actions.create import made_parties
from deedbox.signing.actions.send import send
from deedbox.signing.actions.sign import SigningAct, sign
from deedbox.signing.model import Field, Packet, Reminders
from deedbox.signing.new_document import DocumentChange
from deedbox.signing.new_packet import PacketChange
from deedbox.signing.store import documents, people
from tests.signing.desk import SEEN, TYPED, Desk, party

pytestmark = pytest.mark.anyio


async def pair(desk: Desk, **more: Any) -> Packet:
    """A packet of two documents that are alike, made as the store sees it."""
    lone = await desk.draft(**more)

    def add(tx: Tx) -> Packet:
        seen = desks.packet_of(tx, desk.workspace, lone.id)
        now = desk.clock.now()
        packet_id = new_id("pkt", now)
        parties = made_parties([party("Both", "ann", "bob")], "en", now)
        twins = [
            msgspec.structs.replace(
                seen.first,
                id=new_id("doc", now),
                packet_id=packet_id,
                title=f"Lease {number}",
                verification_code=f"CODE-{number}",
                fields=[
                    Field(
                        new_id("fld", now), seen.first.files[0].id, one.id, None, "signature", 1, 0.1, 0.1, 0.2, 0.1,
                        True, None, None, [], None,
                    )
                    for one in parties[0].signers
                ],
            )
            for number in (1, 2)
        ]  # fmt: skip
        whole = msgspec.structs.replace(
            seen, id=packet_id, lone=False, title="Both leases", parties=parties, documents=twins
        )
        return documents.add(tx, whole, {twin.id: [] for twin in twins})

    return await desk.db.write(add)


async def kinds(desk: Desk, subject: str) -> list[str]:
    sql = "select kind from events where subject_id = :id order by number"
    return [row[0] for row in await desk.db.read(lambda tx: tx.all(sql, id=subject))]


async def test_one_signature_signs_every_document_and_the_last_one_finalizes_all(desk: Desk) -> None:
    packet = await pair(desk)

    def go(tx: Tx) -> Packet:
        with desk.at(tx) as at:
            sent = send(at, packet)
            for _, signer in sent.signers():
                sent = sign(at, at.packet_of(packet.first.id), signer.id, SigningAct(TYPED, {}, SEEN))
            return sent

    signed = await desk.db.write(go)
    assert [one.status for one in signed.documents] == ["finalizing", "finalizing"]
    assert all(field.value for one in signed.documents for field in one.fields)
    for one in packet.documents:
        assert await kinds(desk, one.id) == ["document.sent", "document.signed", "document.signed"]
    assert await kinds(desk, packet.id) == ["packet.sent", "party.completed"]
    invited = [name for name, _ in desk.post.sent].count("invite")
    assert invited == 2, "each signer is invited once, not once a document"


async def test_what_belongs_to_the_packet_is_changed_and_recorded_for_each_document(desk: Desk) -> None:
    packet = await pair(desk)
    first, second = packet.documents

    def change(tx: Tx) -> Packet:
        with desk.at(tx) as at:
            own = amend(at, packet, first.id, DocumentChange(title="New"))
            return amend_packet(at, own, PacketChange(reminders=Reminders(1, 1, 1)))

    await desk.db.write(change)
    after = await desk.db.read(lambda tx: desks.packet_of(tx, desk.workspace, second.id))
    assert [one.title for one in after.documents] == ["New", "Lease 2"]
    assert after.reminders == Reminders(1, 1, 1)
    rows = await desk.db.read(lambda tx: tx.all("select document_id, detail from audit where act = 'document.amended'"))
    told = sorted((row[0], *msgspec.json.decode(row[1])["changed"]) for row in rows)
    assert told == sorted([(first.id, "title"), (first.id, "reminders"), (second.id, "reminders")])
    for shared in (DocumentChange(reminders=None), DocumentChange(message=None), DocumentChange(expires_at=None)):
        with pytest.raises(Conflict, match=f"the packet {packet.id} with others"):
            await desk.db.write(lambda tx, shared=shared: amend(desk.at(tx), packet, first.id, shared))  # type: ignore[misc]


async def test_other_people_take_the_fields_of_every_document_with_them(desk: Desk) -> None:
    packet = await pair(desk)
    others = made_parties([party("Others", "cem")], "en", desk.clock.now())
    signer_id = others[0].signers[0].id
    moved = [
        msgspec.structs.replace(
            one, fields=[msgspec.structs.replace(one.fields[0], id=one.fields[0].id, signer_id=signer_id)]
        )
        for one in packet.documents
    ]
    after = msgspec.structs.replace(packet, parties=others, documents=moved)
    await desk.db.write(lambda tx: documents.change(tx, packet, after))
    ids = [one.id for one in packet.documents]
    found = await desk.db.read(lambda tx: people.fields(tx, ids))
    assert {one: [field.signer_id for field in found[one]] for one in ids} == {one: [signer_id] for one in ids}


async def test_a_document_of_a_packet_is_not_ended_alone(desk: Desk) -> None:
    packet = await pair(desk)

    def alone(tx: Tx) -> None:
        with desk.at(tx) as at:
            at.lone_packet_of(packet.first.id)

    with pytest.raises(Conflict, match="with the packet"):
        await desk.db.write(alone)


async def test_what_is_recorded_at_a_closed_desk_is_refused(desk: Desk) -> None:
    packet = await pair(desk)
    with pytest.raises(RuntimeError, match="would be lost"):
        await desk.db.write(lambda tx: desk.at(tx).record(packet.first, "document.sent", {}))
