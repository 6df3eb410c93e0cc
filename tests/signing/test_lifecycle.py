"""From a draft to the last signature: turns, rules, declines, and what everyone hears of it."""

import asyncio

import pytest

from deedbox.kernel import jobs
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, NotFound
from deedbox.signing import sessions
from deedbox.signing.actions.delete import delete
from deedbox.signing.actions.fill import fill
from deedbox.signing.actions.view import view
from deedbox.signing.actions.void import void
from deedbox.signing.new_document import NewField, NewParty
from deedbox.signing.store import audit
from tests.signing.desk import SEEN, Desk, lone, party, signer

pytestmark = pytest.mark.anyio


async def test_a_draft_has_what_it_was_given_and_a_signature_field_for_everyone(desk: Desk) -> None:
    document = await desk.draft(party("Buyer", "ann"), party("Seller", "bob", order=2), metadata={"deal": "7"})
    assert (document.status, document.progress.signers_total, document.progress.parties_total) == ("draft", 2, 2)
    assert [(file.name, file.pages, file.position) for file in document.files] == [("lease.pdf", 2, 0)]
    fields = [(field.type, field.page, field.required) for field in document.fields]
    assert fields == [("signature", 2, True)] * 2
    assert {field.signer_id for field in document.fields} == {desk.id_of(document, "ann"), desk.id_of(document, "bob")}
    assert document.verification_code is not None
    assert await desk.acts(document) == ["document.created"]
    assert await desk.events(document) == []
    assert desk.post.sent == []


async def test_sending_invites_only_those_who_sign_first(desk: Desk) -> None:
    document = await desk.sent(party("Buyer", "ann", "cem"), party("Seller", "bob", order=2))
    assert document.status == "sent"
    assert document.sent_at == "2026-03-01T12:00:00Z"
    assert await desk.statuses(document) == {"Ann": "notified", "Cem": "notified", "Bob": "waiting"}
    assert [one.status for one in document.parties] == ["active", "waiting"]
    assert sorted(desk.post.sent) == [("invite", "ann@example.com"), ("invite", "cem@example.com")]
    assert await desk.events(document) == ["document.sent"]


async def test_the_next_order_is_released_when_the_one_before_is_complete(desk: Desk) -> None:
    document = await desk.sent(party("Buyer", "ann", "cem"), party("Seller", "bob", order=2))
    await desk.sign(document, "ann")
    assert (await desk.statuses(document))["Bob"] == "waiting"
    after = await desk.sign(document, "cem")
    assert (after.status, after.progress.signers_signed, after.progress.parties_completed) == ("sent", 2, 1)
    assert (await desk.statuses(document))["Bob"] == "notified"
    done = await desk.sign(document, "bob")
    assert (done.status, done.progress.signers_signed) == ("finalizing", 3)
    kinds = ["document.sent", "document.signed", "document.signed", "party.completed"]
    assert await desk.events(document) == [*kinds, "document.signed", "party.completed"]
    assert await desk.db.read(jobs.counts) == {"ready": 1}


async def test_two_of_three_complete_a_quorum_and_the_third_is_no_longer_needed(desk: Desk) -> None:
    document = await desk.sent(party("Board", "ann", "bob", "cem", rule="quorum", quorum=2))
    await desk.sign(document, "ann")
    assert (await desk.now(document)).status == "sent"
    assert (await desk.sign(document, "cem")).status == "finalizing"
    assert await desk.statuses(document) == {"Ann": "signed", "Bob": "canceled", "Cem": "signed"}
    with pytest.raises(Conflict, match="is being sealed"):
        await desk.sign(document, "bob")


async def test_one_of_a_party_is_enough_for_any(desk: Desk) -> None:
    document = await desk.sent(party("Office", "ann", "bob", rule="any"), party("Seller", "cem", order=2))
    await desk.sign(document, "bob")
    assert await desk.statuses(document) == {"Ann": "canceled", "Bob": "signed", "Cem": "notified"}
    with pytest.raises(Conflict, match="no longer needed"):
        await desk.sign(document, "ann")


async def test_a_lone_signer_s_party_is_not_announced(desk: Desk) -> None:
    document = await desk.sent(signers=[lone("ann")])
    await desk.sign(document, "ann")
    assert await desk.events(document) == ["document.sent", "document.signed"]


async def test_a_decline_ends_the_document_and_everyone_hears_of_it(desk: Desk) -> None:
    document = await desk.sent(party("Buyer", "ann", "bob"), party("Seller", "cem", order=2))
    await desk.sign(document, "ann")
    ended = await desk.decline(document, "bob", "the price")
    assert ended.status == "declined"
    assert ended.decline is not None
    assert await desk.statuses(document) == {"Ann": "signed", "Bob": "declined", "Cem": "canceled"}
    assert (await desk.events(document))[-1] == "document.declined"
    assert ("declined", "ann@example.com") in desk.post.sent
    assert ("declined", "cem@example.com") not in desk.post.sent, "who was never invited hears nothing"
    with pytest.raises(Conflict):
        await desk.sign(document, "ann")


async def test_a_quorum_goes_on_after_a_decline_while_it_can_be_reached(desk: Desk) -> None:
    board = party("Board", "ann", "bob", "cem", rule="quorum", quorum=2, on_decline="continue_while_possible")
    document = await desk.sent(board)
    assert (await desk.decline(document, "ann")).status == "sent"
    assert (await desk.decline(document, "bob")).status == "declined"
    told = [data for kind, data in await desk.told(document) if kind == "document.declined"]
    assert [(one["signer"]["name"], one["final"], one["status"]) for one in told] == [
        ("Ann", False, "sent"),
        ("Bob", True, "declined"),
    ], "every decline is told, and whether it ended the document"
    other = await desk.sent(board)
    await desk.decline(other, "ann")
    await desk.sign(other, "bob")
    assert (await desk.sign(other, "cem")).status == "finalizing"


async def test_only_at_their_turn_and_only_once(desk: Desk) -> None:
    document = await desk.sent(party("Buyer", "ann", "cem"), party("Seller", "bob", order=2))
    with pytest.raises(Conflict, match="not your turn"):
        await desk.sign(document, "bob")
    await desk.sign(document, "ann")
    with pytest.raises(Conflict, match="already signed"):
        await desk.sign(document, "ann")
    with pytest.raises(Conflict, match="already signed"):
        await desk.decline(document, "ann")


async def test_void_ends_a_draft_silently_and_a_sent_document_aloud(desk: Desk) -> None:
    draft, sent = await desk.draft(), await desk.sent()
    assert (await desk.void(draft)).status == "voided"
    assert await desk.events(draft) == []
    assert (await desk.void(sent, "a mistake")).status == "voided"
    assert (await desk.events(sent))[-1] == "document.voided"
    for document in (draft, sent):
        with pytest.raises(Conflict, match="was voided"):
            await desk.void(document)
    with pytest.raises(Conflict, match="was withdrawn"):
        await desk.sign(sent, "ann")


async def test_a_document_past_its_time_expires_and_cannot_be_signed_even_before_the_timer(desk: Desk) -> None:
    document = await desk.sent(expires_at="2026-03-02T12:00:00Z")
    assert not await desk.expire(document)
    desk.clock.forward(86400)
    with pytest.raises(Conflict, match="has expired"):
        await desk.sign(document, "ann")
    assert await desk.expire(document)
    assert not await desk.expire(document)
    assert (await desk.now(document)).status == "expired"
    assert (await desk.events(document))[-1] == "document.expired"


async def test_what_is_being_sealed_can_neither_be_voided_nor_expire(desk: Desk) -> None:
    document = await desk.sent(expires_at="2026-03-02T12:00:00Z")
    await desk.sign(document, "ann")
    desk.clock.forward(86401)
    assert not await desk.expire(document)
    with pytest.raises(Conflict, match="is being sealed"):
        await desk.void(document)


async def test_a_reminder_goes_to_those_whose_turn_it_is(desk: Desk) -> None:
    document = await desk.sent(party("Buyer", "ann", "cem"), party("Seller", "bob", order=2))
    await desk.sign(document, "ann")
    desk.post.sent.clear()
    await desk.remind(document)
    assert desk.post.sent == [("remind", "cem@example.com")]


async def test_required_fields_must_be_filled_and_values_must_fit(desk: Desk) -> None:
    fields = [
        NewField("text", 1, 0.1, 0.1, 0.3, 0.05, signer="ann@example.com", label="Place"),
        NewField("select", 1, 0.1, 0.2, 0.3, 0.05, signer="ann@example.com", label="Colour", options=["red", "blue"]),
        NewField("date_signed", 1, 0.1, 0.3, 0.3, 0.05, signer="ann@example.com"),
        NewField("text", 1, 0.1, 0.4, 0.3, 0.05, signer="bob@example.com", required=False),
    ]
    document = await desk.sent(party("Both", "ann", "bob"), fields=fields)
    ids = {field.label: field.id for field in document.fields if field.label}
    other = next(field.id for field in document.fields if field.type == "text" and field.label is None)
    with pytest.raises(BadRequest, match="Place: This field is required; Colour: This field is required"):
        await desk.sign(document, "ann")
    with pytest.raises(BadRequest, match="Colour: Choose one of red, blue"):
        await desk.sign(document, "ann", **{ids["Place"]: "Bonn", ids["Colour"]: "green"})
    with pytest.raises(BadRequest, match="not one of your fields"):
        await desk.sign(document, "ann", **{other: "mine"})
    signed = await desk.sign(document, "ann", **{ids["Place"]: "Bonn", ids["Colour"]: "red"})
    values = {field.type: field.value for field in signed.fields if field.signer_id == desk.id_of(document, "ann")}
    assert values == {
        "text": "Bonn",
        "select": "red",
        "date_signed": "2026-03-01",
        "signature": desk.id_of(document, "ann"),
    }


async def test_what_was_filled_in_before_counts_when_signing(desk: Desk) -> None:
    fields = [NewField("text", 1, 0.1, 0.1, 0.3, 0.05, signer="ann@example.com", label="Place")]
    document = await desk.sent(fields=fields)
    place = next(field.id for field in document.fields if field.label == "Place")
    ann = desk.id_of(document, "ann")

    def fill_in(tx: Tx) -> None:
        with desk.at(tx) as at:
            fill(at, at.packet_of(document.id), ann, {place: "Bonn"})

    await desk.db.write(fill_in)
    assert (await desk.now(document)).fields[0].value is None
    signed = await desk.sign(document, "ann")
    assert next(field.value for field in signed.fields if field.id == place) == "Bonn"


async def test_a_view_is_noted_once(desk: Desk) -> None:
    document = await desk.sent()
    ann = desk.id_of(document, "ann")

    token = desk.post.tokens["ann@example.com"]

    def come(tx: Tx) -> Secret:
        return sessions.open_session(tx, token, sessions.link(tx, token), "Example Ltd", now=desk.clock.now())

    session = await desk.db.write(come)

    def look(tx: Tx) -> None:
        with desk.at(tx) as at:
            view(at, at.packet_of(document.id), ann, session, SEEN)

    for _ in range(3):
        await desk.db.write(look)
    assert (await desk.acts(document)).count("signer.viewed") == 1
    assert await desk.statuses(document) == {"Ann": "viewed"}


async def test_a_corrected_address_gets_the_invitation_and_the_old_link_dies(desk: Desk) -> None:
    document = await desk.sent()
    await desk.correct(document, "ann", email="anna@example.com")
    assert desk.post.sent[-1] == ("invite", "anna@example.com")
    links = await desk.db.read(lambda tx: tx.all("select count(*) from signing_links"))
    assert links == [(1,)]


async def test_a_deleted_draft_leaves_nothing(desk: Desk) -> None:
    document = await desk.draft()

    def drop(tx: Tx, document_id: str) -> None:
        with desk.at(tx) as at:
            delete(at, at.packet_of(document_id))

    await desk.db.write(lambda tx: drop(tx, document.id))
    for table in ("documents", "packets", "parties", "signers", "fields", "audit", "blob_refs"):
        assert await desk.db.read(lambda tx, table=table: tx.all(f"select * from {table}")) == []  # type: ignore[misc]
    with pytest.raises(NotFound):
        await desk.now(document)
    sent = await desk.sent()
    with pytest.raises(Conflict, match="has been sent"):
        await desk.db.write(lambda tx: drop(tx, sent.id))


@pytest.mark.parametrize(
    ("parties", "reason"),
    [
        ([party("Empty")], "has no signers"),
        ([party("Two", "ann"), party("Three", "ann")], "same e-mail"),
        ([party("Board", "ann", rule="quorum", quorum=2)], "between 1 and its 1"),
        ([party("Board", "ann", quorum=1)], "Send `quorum` with `rule` `quorum`, and with no other"),
    ],
)
@pytest.mark.one_database
async def test_parties_that_could_never_sign_are_refused(desk: Desk, parties: list[NewParty], reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        await desk.draft(*parties)


async def test_another_workspace_sees_nothing(desk: Desk) -> None:
    document = await desk.sent()

    def foreign(tx: Tx) -> None:
        with desk.at(tx, "wsp_two") as at:
            void(at, at.packet_of(document.id), None)

    with pytest.raises(NotFound):
        await desk.db.write(foreign)


async def test_one_of_many_moves_at_once_wins(desk: Desk) -> None:
    async def outcome(act: object) -> str:
        try:
            await act  # type: ignore[misc]
        except Conflict:
            return "refused"
        return "done"

    for _ in range(8):
        document = await desk.sent(party("Ann", "ann"), expires_at="2026-03-02T12:00:00Z")
        outcomes = await asyncio.gather(
            outcome(desk.sign(document, "ann")),
            outcome(desk.decline(document, "ann")),
            outcome(desk.void(document)),
            outcome(desk.sign(document, "ann")),
        )
        assert outcomes.count("done") == 1
        events = await desk.events(document)
        assert len(set(events) & {"document.declined", "document.voided", "document.signed"}) == 1


async def test_access_codes_belong_to_their_kind_of_check(desk: Desk) -> None:
    for one in (signer("ann", auth="access_code"), signer("ann", access_code="1234")):
        with pytest.raises(BadRequest, match="Send `access_code` with `auth` `access_code`"):
            await desk.draft(NewParty("Ann", [one]))


async def test_a_trail_never_runs_backwards(desk: Desk) -> None:
    document = await desk.sent(party("Buyer", "ann"), party("Seller", "bob", order=2))
    desk.clock.forward(-3600)
    await desk.sign(document, "ann")
    desk.clock.forward(7200)
    await desk.sign(document, "bob")
    times = [entry.at for entry in await desk.db.read(lambda tx: audit.trail(tx, document.id))]
    assert times == sorted(times)
    assert (times[0], times[-1]) == ("2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z")
