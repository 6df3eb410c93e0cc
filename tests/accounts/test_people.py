"""People, login links, sessions and passwords."""

import functools
from datetime import timedelta

import pytest

from deedbox.accounts import people, store, workspaces
from deedbox.accounts.passkeys import store as passkeys_store
from deedbox.accounts.passkeys.store import PasskeyRow
from deedbox.accounts.people import AccountChange
from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest, Conflict, NotFound, Unauthorized
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio


@pytest.fixture
async def workspace(db: Database, clock: HandClock) -> str:
    return (await db.write(lambda tx: workspaces.ensure(tx, now=clock.now()))).id


async def session_by_link(db: Database, workspace: str, clock: HandClock) -> Secret:
    def enter(tx: Tx) -> Secret:
        token = workspaces.owner_link(tx, workspace, now=clock.now())
        return people.redeem(tx, token.reveal(), now=clock.now())

    return await db.write(enter)


async def test_the_first_workspace_is_made_once_with_its_owner(db: Database, clock: HandClock, workspace: str) -> None:
    again = await db.write(lambda tx: workspaces.ensure(tx, now=clock.now()))
    assert again.id == workspace
    assert len(await db.read(lambda tx: tx.all("select * from people"))) == 1


async def test_first_access_is_given_once(db: Database, clock: HandClock) -> None:
    first = await db.write(lambda tx: workspaces.first_access(tx, now=clock.now()))
    assert first.login_token is not None
    assert first.api_key is not None
    second = await db.write(lambda tx: workspaces.first_access(tx, now=clock.now()))
    assert (second.api_key, second.login_token, second.owner_settled) == (None, None, False)
    assert first.login_token.reveal() not in repr(first)


async def test_a_settled_owner_gets_no_link_at_start(db: Database, clock: HandClock, workspace: str) -> None:
    session = await session_by_link(db, workspace, clock)
    person = await db.read(lambda tx: people.session(tx, session.reveal(), now=clock.now()))
    await db.write(
        lambda tx: people.settle(
            tx, person.person_id, AccountChange(" Ann ", "Ann@Example.com", "hash"), keep=session.reveal()
        )
    )
    access = await db.write(lambda tx: workspaces.first_access(tx, now=clock.now()))
    assert (access.login_token, access.owner_settled) == (None, True)
    person = await db.read(lambda tx: people.session(tx, session.reveal(), now=clock.now()))
    assert (person.name, person.email, person.workspace_id) == ("Ann", "ann@example.com", workspace)


async def test_a_link_works_once_and_for_an_hour(db: Database, clock: HandClock, workspace: str) -> None:
    used = await db.write(lambda tx: workspaces.owner_link(tx, workspace, now=clock.now()))
    old = await db.write(lambda tx: workspaces.owner_link(tx, workspace, now=clock.now()))
    await db.write(lambda tx: people.redeem(tx, used.reveal(), now=clock.now()))
    clock.forward(limits.LOGIN_LINK_MINUTES * 60)
    for token in (used.reveal(), old.reveal(), "", "deed_login_", "deed_session_" + "x" * 43):
        with pytest.raises(Unauthorized):
            await db.write(functools.partial(people.redeem, token=token, now=clock.now()))


async def test_a_link_token_is_no_session_and_a_session_no_link(db: Database, clock: HandClock, workspace: str) -> None:
    link = await db.write(lambda tx: workspaces.owner_link(tx, workspace, now=clock.now()))
    session = await session_by_link(db, workspace, clock)
    with pytest.raises(Unauthorized):
        await db.read(lambda tx: people.session(tx, link.reveal(), now=clock.now()))
    with pytest.raises(Unauthorized):
        await db.write(lambda tx: people.redeem(tx, session.reveal(), now=clock.now()))


async def test_a_session_ends_by_time_by_closing_and_by_a_new_password(
    db: Database, clock: HandClock, workspace: str
) -> None:
    closed, dropped, kept = [await session_by_link(db, workspace, clock) for _ in range(3)]
    person = await db.read(lambda tx: people.session(tx, kept.reveal(), now=clock.now()))
    await db.write(lambda tx: people.close_session(tx, closed.reveal()))
    change = AccountChange("A", "a@b.c", "hash")
    await db.write(lambda tx: people.settle(tx, person.person_id, change, keep=kept.reveal()))
    for token in (closed, dropped):
        with pytest.raises(Unauthorized):
            await db.read(functools.partial(people.session, token=token.reveal(), now=clock.now()))
    clock.forward(limits.LOGIN_SESSION_DAYS * 86400)
    with pytest.raises(Unauthorized):
        await db.read(lambda tx: people.session(tx, kept.reveal(), now=clock.now()))


async def test_a_password_chosen_anew_by_mail_removes_passkeys(db: Database, clock: HandClock, workspace: str) -> None:
    person_id = await db.write(lambda tx: people.add_owner(tx, workspace, now=clock.now()))
    row = PasskeyRow("psk_1", person_id, "Phone", b"credential", b"public", 0, instant(clock.now()), None)
    await db.write(lambda tx: passkeys_store.add(tx, row))
    link = await db.write(lambda tx: people.reset_link(tx, person_id, now=clock.now()))
    await db.write(lambda tx: people.reset(tx, link.reveal(), "hash", now=clock.now()))
    assert await db.read(lambda tx: passkeys_store.of_person(tx, person_id)) == []


async def test_links_that_were_sent_before_end_with_another_address(
    db: Database, clock: HandClock, workspace: str
) -> None:
    person_id = await db.write(lambda tx: people.add_owner(tx, workspace, now=clock.now()))
    await db.write(lambda tx: people.settle(tx, person_id, AccountChange("A", "a@b.c", "hash"), keep=""))
    reset = await db.write(lambda tx: people.reset_link(tx, person_id, now=clock.now()))
    login = await db.write(lambda tx: people.login_link(tx, person_id, now=clock.now()))
    moved = AccountChange("A", "new@b.c", None, Secret("hash"))
    await db.write(lambda tx: people.settle(tx, person_id, moved, keep=""))
    with pytest.raises(Unauthorized):
        await db.write(lambda tx: people.reset(tx, reset.reveal(), "other", now=clock.now()))
    with pytest.raises(Unauthorized):
        await db.write(lambda tx: people.redeem(tx, login.reveal(), now=clock.now()))


async def test_what_has_expired_is_forgotten_and_nothing_else(db: Database, clock: HandClock, workspace: str) -> None:
    session = await session_by_link(db, workspace, clock)
    await db.write(lambda tx: workspaces.owner_link(tx, workspace, now=clock.now()))
    clock.forward(limits.LOGIN_LINK_MINUTES * 60 + 1)
    assert await db.write(lambda tx: store.prune(tx, instant(clock.now()))) == 2
    assert await db.read(lambda tx: people.session(tx, session.reveal(), now=clock.now()))
    later = clock.now() + timedelta(days=limits.LOGIN_SESSION_DAYS)
    assert await db.write(lambda tx: store.prune(tx, instant(later))) == 1


@pytest.mark.parametrize(
    ("name", "email"),
    [
        ("", "a@b.c"),
        (" ", "a@b.c"),
        ("x" * 101, "a@b.c"),
        ("A", ""),
        ("A", "a"),
        ("A", "a@"),
        ("A", "@b"),
        ("A", "a@b@c"),
        ("A", "a\n@b.c"),
    ],
)
@pytest.mark.one_database
async def test_a_person_needs_a_name_and_an_address(
    db: Database, clock: HandClock, workspace: str, name: str, email: str
) -> None:
    del workspace
    with pytest.raises(BadRequest):
        await db.write(lambda tx: people.settle(tx, "per_x", AccountChange(name, email, "hash"), keep=""))


async def test_an_address_is_taken_whatever_its_case(db: Database, clock: HandClock, workspace: str) -> None:
    second = await db.write(lambda tx: people.add_owner(tx, workspace, now=clock.now()))
    everybody = await db.read(lambda tx: tx.all("select id from people"))
    [first] = [person for (person,) in everybody if person != second]
    await db.write(lambda tx: people.settle(tx, first, AccountChange("A", "a@b.c", "hash"), keep=""))
    same = AccountChange("A", "A@B.C", None, Secret("hash"))
    await db.write(lambda tx: people.settle(tx, first, same, keep=""))
    with pytest.raises(Conflict):
        await db.write(lambda tx: people.settle(tx, second, AccountChange("B", "A@b.c", "hash"), keep=""))


async def test_of_two_that_change_a_password_at_once_one_does(db: Database, clock: HandClock, workspace: str) -> None:
    person = await db.write(lambda tx: people.add_owner(tx, workspace, now=clock.now()))
    for change in (AccountChange("A", "a@b.c", "one"), AccountChange("A", "a@b.c", "two", Secret("one"))):
        await db.write(functools.partial(people.settle, person_id=person, wanted=change, keep=""))
    for late in (AccountChange("A", "a@b.c", "three", Secret("one")), AccountChange("A", "a@b.c", "three")):
        with pytest.raises(Conflict, match="at this very moment"):
            await db.write(functools.partial(people.settle, person_id=person, wanted=late, keep=""))
    assert await db.read(lambda tx: store.credentials(tx, "a@b.c")) == (person, "two")


async def test_a_workspace_without_owner_has_no_link(db: Database, clock: HandClock) -> None:
    with pytest.raises(NotFound):
        await db.write(lambda tx: workspaces.owner_link(tx, "wsp_none", now=clock.now()))
    with pytest.raises(NotFound):
        await db.read(lambda tx: workspaces.find(tx, "wsp_none"))


@pytest.mark.parametrize(("length", "fits"), [(0, False), (9, False), (10, True), (256, True), (257, False)])
def test_a_password_has_a_least_and_a_greatest_length(length: int, fits: bool) -> None:
    if fits:
        people.check_password_rules("x" * length)
    else:
        with pytest.raises(BadRequest):
            people.check_password_rules("x" * length)


async def test_a_person_signs_in_with_either_spelling_of_the_address_s_domain(
    db: Database, clock: HandClock, workspace: str
) -> None:
    person = await db.write(lambda tx: people.add_owner(tx, workspace, now=clock.now()))
    await db.write(lambda tx: people.settle(tx, person, AccountChange("A", "Ann@Bücher.example", "hash"), keep=""))
    for typed in ("ann@bücher.example", "ANN@xn--bcher-kva.example"):
        found = await db.read(lambda tx, typed=typed: store.credentials(tx, people.login_name(typed)))  # type: ignore[misc]
        assert found == (person, "hash")
    assert people.login_name("No Address") == "no address"
