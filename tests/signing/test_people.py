"""The people of a document: who signs, who approves, who gets a copy, who passes it on, and who is put right."""

import msgspec
import pytest

from deedbox.kernel.clock import instant, moment
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.signing.actions.remind import by_day
from deedbox.signing.model import Reminders
from deedbox.signing.new_document import NewField, NewParty
from tests.signing.desk import Desk, lone, party, signer

pytestmark = pytest.mark.anyio

TEXT = {"type": "text", "page": 1, "x": 0.1, "y": 0.1, "w": 0.3, "h": 0.05}


async def test_an_approval_counts_like_a_signature_and_leaves_no_field(desk: Desk) -> None:
    board = NewParty("Board", [signer("ann"), signer("bob", role="approver"), signer("cem")], rule="quorum", quorum=2)
    document = await desk.sent(board)
    assert {field.signer_id for field in document.fields} == {desk.id_of(document, "ann"), desk.id_of(document, "cem")}
    await desk.sign(document, "ann")
    done = await desk.approve(document, "bob")
    assert (done.status, done.progress.signers_total, done.progress.signers_signed) == ("finalizing", 3, 2)
    assert await desk.statuses(document) == {"Ann": "signed", "Bob": "signed", "Cem": "canceled"}
    assert await desk.events(document) == ["document.sent", "document.signed", "document.approved", "party.completed"]
    assert "signer.approved" in await desk.acts(document)


async def test_everyone_acts_in_their_role_only(desk: Desk) -> None:
    document = await desk.sent(signers=[lone("ann"), lone("bob", role="approver"), lone("cem", role="cc")])
    with pytest.raises(BadRequest, match="Type your name"):
        await desk.approve(document, "ann")
    with pytest.raises(BadRequest, match="leaves no signature"):
        await desk.sign(document, "bob")
    for act in (desk.sign(document, "cem"), desk.approve(document, "cem"), desk.decline(document, "cem")):
        with pytest.raises(Conflict, match="You receive a copy"):
            await act
    await desk.approve(document, "bob")
    with pytest.raises(Conflict, match="already approved"):
        await desk.approve(document, "bob")


async def test_a_copy_is_never_waited_for_and_its_party_holds_nobody_up(desk: Desk) -> None:
    readers, mixed = NewParty("Readers", [signer("cem", role="cc")]), NewParty("B", [signer("bob")], order=3)
    both = NewParty("A", [signer("ann"), signer("dan", role="cc")], order=2)
    document = await desk.sent(readers, both, mixed)
    assert desk.post.sent == [("invite", "ann@example.com")]
    assert [one.status for one in document.parties] == ["completed", "active", "waiting"]
    assert await desk.events(document) == ["document.sent", "party.completed"]
    assert (await desk.acts(document)).count("party.completed") == 1
    progress = document.progress
    assert (progress.signers_total, progress.parties_total, progress.parties_completed) == (2, 2, 0)
    after = await desk.sign(document, "ann")
    assert (after.progress.parties_completed, (await desk.statuses(document))["Bob"]) == (1, "notified")
    assert (await desk.sign(document, "bob")).status == "finalizing"
    assert await desk.statuses(document) == {"Cem": "waiting", "Ann": "signed", "Dan": "waiting", "Bob": "signed"}


async def test_copies_end_with_the_document_and_nobody_tells_them(desk: Desk) -> None:
    document = await desk.sent(signers=[lone("ann"), lone("cem", role="cc")])
    await desk.void(document)
    assert await desk.statuses(document) == {"Ann": "canceled", "Cem": "canceled"}
    assert desk.post.of("voided") == ["ann@example.com"]


async def test_what_only_gets_copies_cannot_be_sent(desk: Desk) -> None:
    draft = await desk.draft(signers=[lone("cem", role="cc")])
    with pytest.raises(BadRequest, match="add someone who signs or approves"):
        await desk.send(draft.id)


async def test_a_quorum_is_of_those_who_act(desk: Desk) -> None:
    with pytest.raises(BadRequest, match="between 1 and its 1 signers"):
        await desk.draft(NewParty("A", [signer("ann"), signer("cem", role="cc")], rule="quorum", quorum=2))


@pytest.mark.parametrize(
    ("whose", "reason"),
    [({"signer": "Bob"}, "role is approver"), ({"signer": "Cem"}, "role is cc"), ({"party": "Ear"}, "nobody signs")],
)
async def test_only_signers_fill_fields(desk: Desk, whose: dict[str, str], reason: str) -> None:
    people = NewParty("All", [signer("ann"), signer("bob", role="approver"), signer("cem", role="cc")])
    ears = NewParty("Ear", [signer("dan", role="cc")])
    with pytest.raises(BadRequest, match=reason):
        await desk.draft(people, ears, fields=[NewField(**TEXT, **whose)])  # type: ignore[arg-type]


# delegation


async def test_who_it_is_passed_on_to_takes_the_place_with_all_fields(desk: Desk) -> None:
    people = NewParty("Buyer", [signer("ann", delegation=True, language="de", time_zone="Asia/Tokyo"), signer("bob")])
    document = await desk.sent(people, fields=[NewField(**TEXT, signer="Ann", label="Town")])  # type: ignore[arg-type]
    ann = desk.id_of(document, "ann")
    town = next(field.id for field in document.fields if field.type == "text")
    after = await desk.delegate(document, "ann", "eve")
    [old, new, bob] = after.parties[0].signers
    assert (old.status, old.delegated_to, old.id) == ("canceled", new.id, ann)
    assert (new.name, new.status, new.language, new.time_zone) == ("Eve", "notified", "de", "Asia/Tokyo")
    assert (new.delegation, new.role, new.notified_at) == (False, "signer", "2026-03-01T12:00:00Z")
    assert {field.signer_id for field in after.fields} == {new.id, bob.id}
    assert after == await desk.now(document), "what is answered is what is stored"
    assert desk.post.of("passed on to eve@example.com") == ["ann@example.com"]
    assert ("invite", "eve@example.com") in desk.post.sent
    assert (after.progress.signers_total, after.progress.signers_signed) == (2, 0)
    with pytest.raises(Conflict, match="have delegated this document"):
        await desk.sign(document, "ann")
    with pytest.raises(Conflict, match="does not allow"):
        await desk.delegate(after, "eve", "fay")
    await desk.sign(after, "bob")
    assert (await desk.sign(after, "eve", **{town: "Bergen"})).status == "finalizing"
    assert (await desk.acts(document)).count("signer.delegated") == 1
    assert "party.completed" in await desk.events(document)


async def test_a_place_that_was_passed_on_counts_once(desk: Desk) -> None:
    seats = [signer(name, delegation=True) for name in ("ann", "bob", "cem")]
    rules = {"rule": "quorum", "quorum": 2, "on_decline": "continue_while_possible"}
    document = await desk.sent(NewParty("Board", seats, **rules))  # type: ignore[arg-type]
    after = await desk.delegate(document, "ann", "eve")
    assert (await desk.decline(after, "eve")).status == "sent", "two are left for a quorum of two"
    assert (await desk.decline(after, "bob")).status == "declined"
    assert desk.post.of("declined") == ["bob@example.com", "cem@example.com"], "who passed it on hears no more"


async def test_it_is_passed_on_at_one_s_turn_and_where_the_sender_allows_it(desk: Desk) -> None:
    document = await desk.sent(NewParty("A", [signer("ann")]), NewParty("B", [signer("bob", delegation=True)], order=2))
    with pytest.raises(Conflict, match="does not allow"):
        await desk.delegate(document, "ann", "eve")
    with pytest.raises(Conflict, match="not your turn"):
        await desk.delegate(document, "bob", "eve")
    await desk.sign(document, "ann")
    with pytest.raises(BadRequest, match="same e-mail address and the same name"):
        await desk.delegate(document, "bob", "ann")
    await desk.decline(document, "bob")
    with pytest.raises(Conflict, match="declined"):
        await desk.delegate(document, "bob", "eve")


async def test_what_asks_for_an_agreed_code_cannot_be_passed_on(desk: Desk) -> None:
    coded = signer("ann", auth="access_code", access_code="1234", delegation=True)
    with pytest.raises(BadRequest, match="Do not send `delegation` with `auth` `access_code`"):
        await desk.draft(NewParty("A", [coded]))
    document = await desk.sent(NewParty("A", [signer("ann", delegation=True)]))
    with pytest.raises(BadRequest, match="Do not send `delegation` with `auth` `access_code`"):
        await desk.correct(document, "ann", auth="access_code", access_code="1234")


# corrections


async def test_a_correction_that_leaves_the_address_leaves_the_links(desk: Desk) -> None:
    document = await desk.sent()
    after = await desk.correct(document, "ann", name="Anna", language="fr", time_zone="Europe/Paris", delegation=True)
    [ann] = after.parties[0].signers
    assert (ann.name, ann.language, ann.time_zone, ann.delegation) == ("Anna", "fr", "Europe/Paris", True)
    assert desk.post.sent == [("invite", "ann@example.com")]
    assert await desk.db.read(lambda tx: tx.all("select count(*) from signing_links")) == [(1,)]
    assert (await desk.acts(document))[-1] == "signer.corrected"
    again = await desk.correct(document, "ann", name="Anna")
    assert (again.updated_at, (await desk.acts(document)).count("signer.corrected")) == (after.updated_at, 1)


async def test_another_check_of_identity_ends_what_was_opened_before(desk: Desk) -> None:
    document = await desk.sent(party("Both", "ann", "bob"))
    with pytest.raises(BadRequest, match="Send `access_code` only with `auth` `access_code`"):
        await desk.correct(document, "ann", auth="access_code")
    await desk.correct(document, "ann", auth="email_code")
    assert desk.post.sent[-2:] == [("recall", "ann@example.com"), ("invite", "ann@example.com")]
    with pytest.raises(BadRequest, match="same e-mail address and the same name"):
        await desk.correct(document, "ann", email="bob@example.com", name="Bob")
    await desk.sign(document, "ann")
    with pytest.raises(Conflict, match="has already signed"):
        await desk.correct(document, "ann", name="Anna")


async def test_whoever_has_the_corrected_address_is_reminded_from_the_beginning(desk: Desk) -> None:
    document = await desk.sent(party("A", "ann"), reminders=reminders())
    for _ in range(3):
        desk.clock.forward(86400)
        await desk.remind_due(document)
    assert desk.post.of("remind") == ["ann@example.com"] * 2
    await desk.remind(document)
    await desk.correct(document, "ann", email="anna@example.com")
    await desk.remind(document)
    for _ in range(3):
        desk.clock.forward(86400)
        await desk.remind_due(document)
    assert desk.post.of("remind") == [*["ann@example.com"] * 3, *["anna@example.com"] * 3]


# reminders by the timer

DAILY = {"first_after_hours": 24, "every_hours": 24, "max": 2}


def reminders(**more: int | bool) -> Reminders:
    return msgspec.convert({**DAILY, **more}, Reminders)


async def test_each_is_reminded_from_their_own_invitation_and_so_often(desk: Desk) -> None:
    document = await desk.sent(party("A", "ann"), party("B", "bob", order=2), reminders=reminders())
    desk.clock.forward(86400)
    await desk.remind_due(document)
    desk.clock.forward(3600)
    await desk.sign(document, "ann")
    desk.clock.forward(86399)
    await desk.remind_due(document)
    assert desk.post.of("remind") == ["ann@example.com"], "a day after sending, but not yet after bob's invitation"
    for _ in range(5):
        desk.clock.forward(86400)
        await desk.remind_due(document)
        await desk.remind_due(document)
    assert desk.post.of("remind") == ["ann@example.com", *["bob@example.com"] * 2], "at most two for each"


async def test_reminders_by_hand_are_not_counted(desk: Desk) -> None:
    document = await desk.sent(reminders=reminders(max=1))
    desk.clock.forward(3600)
    await desk.remind(document)
    desk.clock.forward(86400)
    await desk.remind_due(document)
    await desk.remind_due(document)
    assert desk.post.of("remind") == ["ann@example.com"] * 2


@pytest.mark.parametrize(
    ("zone", "at_night", "hour"),
    [("Asia/Tokyo", False, 23), ("America/Los_Angeles", False, 16), (None, False, 14), ("Asia/Tokyo", True, 14)],
)
async def test_nobody_is_reminded_at_night_unless_asked(
    desk: Desk, zone: str | None, at_night: bool, hour: int
) -> None:
    """Sent at 12:00 UTC; two hours later it is 23:00 in Tokyo and 06:00 in Los Angeles."""
    plan = reminders(first_after_hours=2, every_hours=2, max=9, at_night=at_night)
    document = await desk.sent(NewParty("A", [signer("ann", time_zone=zone)]), reminders=plan)
    passed = 0
    while not desk.post.of("remind"):
        desk.clock.forward(3600)
        passed += 1
        await desk.remind_due(document)
    assert 12 + passed == hour


@pytest.mark.parametrize(
    ("at", "zone", "morning"),
    [
        ("2026-03-28T20:00:00Z", "Europe/Berlin", "2026-03-29T06:00:00Z"),  # the clock is put forward that night
        ("2026-10-24T19:30:00Z", "Europe/Berlin", "2026-10-25T07:00:00Z"),  # and back
        ("2026-03-01T19:59:59Z", None, "2026-03-01T19:59:59Z"),
        ("2026-03-01T20:00:00Z", None, "2026-03-02T08:00:00Z"),
        ("2026-03-01T07:59:59Z", None, "2026-03-01T08:00:00Z"),
        ("2026-03-01T02:14:00Z", "Asia/Kathmandu", "2026-03-01T02:15:00Z"),
    ],
)
def test_the_morning_is_that_of_the_place(at: str, zone: str | None, morning: str) -> None:
    assert instant(by_day(moment(at), zone)) == morning
