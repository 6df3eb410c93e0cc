"""Keys as the domain makes, finds and ends them."""

import functools
from datetime import timedelta

import pytest

from deedbox.accounts import keys, store, workspaces
from deedbox.accounts.caller import Caller
from deedbox.accounts.scopes import expand_scopes
from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.db import Database
from deedbox.kernel.errors import BadRequest, Conflict, Forbidden, NotFound, Unauthorized
from deedbox.kernel.ratelimit import Allowance
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio


@pytest.fixture
async def operator(db: Database, clock: HandClock) -> Caller:
    workspace = await db.write(lambda tx: workspaces.ensure(tx, now=clock.now()))
    return workspaces.operator(workspace.id)


async def make(db: Database, creator: Caller, clock: HandClock, wish: keys.NewKey) -> tuple[keys.KeyRecord, Secret]:
    return await db.write(lambda tx: keys.create(tx, creator, wish, now=clock.now()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "deed_live_",
        "deed_live_" + "0" * 31,
        "deed_live_" + "F" * 32,
        " deed_live_" + "0" * 32,
        "deed_live_" + "0" * 32 + "\n",
    ],
)
async def test_only_the_prefix_and_32_lowercase_hex_digits_have_the_shape(text: str) -> None:
    assert not keys.has_shape(text)
    assert keys.has_shape("deed_live_0123456789abcdef0123456789abcdef")


async def test_a_made_key_has_the_shape_and_names_its_caller(db: Database, clock: HandClock, operator: Caller) -> None:
    record, plain = await make(db, operator, clock, keys.NewKey(name="a", scopes=["documents:send"], tier="starter"))
    assert keys.has_shape(plain.reveal())
    caller = await db.read(lambda tx: keys.authenticate(tx, plain.reveal(), instant(clock.now())))
    assert caller == Caller(
        record.id, operator.workspace_id, expand_scopes("documents:send"), Allowance(60, 5000), record.name
    )


async def test_no_two_keys_are_alike(db: Database, clock: HandClock, operator: Caller) -> None:
    made = [await make(db, operator, clock, keys.NewKey(name="a")) for _ in range(20)]
    assert len({plain.reveal() for _, plain in made}) == len({record.id for record, _ in made}) == 20


async def test_only_the_hash_finds_a_key(db: Database, clock: HandClock, operator: Caller) -> None:
    record, plain = await make(db, operator, clock, keys.NewKey(name="a"))
    found = await db.read(lambda tx: store.key_by_hash(tx, sha256(plain.reveal())))
    assert found is not None
    assert found.id == record.id
    assert await db.read(lambda tx: store.key_by_hash(tx, plain.reveal().encode())) is None


async def test_unknown_revoked_and_expired_keys_get_the_same_sentence(
    db: Database, clock: HandClock, operator: Caller
) -> None:
    revoked, plain = await make(db, operator, clock, keys.NewKey(name="a"))
    _, short = await make(db, operator, clock, keys.NewKey(name="b", expires_at=clock.now() + timedelta(seconds=5)))
    await db.write(lambda tx: keys.revoke(tx, operator, revoked.id, now=clock.now()))
    clock.forward(5)
    for text in (plain.reveal(), short.reveal(), "deed_live_" + "0" * 32):
        with pytest.raises(Unauthorized, match=r"^Invalid, revoked or expired API key$"):
            await db.read(functools.partial(keys.authenticate, plain=text, now=instant(clock.now())))


async def test_a_key_of_another_workspace_cannot_be_seen_or_ended(
    db: Database, clock: HandClock, operator: Caller
) -> None:
    record, plain = await make(db, operator, clock, keys.NewKey(name="a"))
    stranger = workspaces.operator("wsp_elsewhere")
    with pytest.raises(NotFound):
        await db.write(lambda tx: keys.revoke(tx, stranger, record.id, now=clock.now()))
    assert await db.read(lambda tx: keys.page(tx, stranger, limit=10, after=None, now=clock.now())) == []
    assert await db.read(lambda tx: keys.authenticate(tx, plain.reveal(), instant(clock.now())))


async def test_an_operator_is_no_key(db: Database, clock: HandClock, operator: Caller) -> None:
    with pytest.raises(NotFound):
        await db.read(lambda tx: keys.mine(tx, operator, now=clock.now()))


async def test_wishes_that_cannot_be(db: Database, clock: HandClock, operator: Caller) -> None:
    _, plain = await make(db, operator, clock, keys.NewKey(name="weak", scopes=["keys:write"]))
    weak = await db.read(lambda tx: keys.authenticate(tx, plain.reveal(), instant(clock.now())))
    with pytest.raises(BadRequest, match="Unknown scope 'x'"):
        await make(db, operator, clock, keys.NewKey(name="a", scopes=["x"]))
    with pytest.raises(Forbidden, match="search:read"):
        await make(db, weak, clock, keys.NewKey(name="a"))
    for late in (0, 0.9):
        with pytest.raises(BadRequest, match="future"):
            await make(db, operator, clock, keys.NewKey(name="a", expires_at=clock.now() + timedelta(seconds=late)))


async def test_expired_and_revoked_keys_take_no_room(
    db: Database, clock: HandClock, operator: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "KEYS_PER_WORKSPACE", 2)
    first, _ = await make(db, operator, clock, keys.NewKey(name="a"))
    await make(db, operator, clock, keys.NewKey(name="b", expires_at=clock.now() + timedelta(seconds=5)))
    with pytest.raises(Conflict):
        await make(db, operator, clock, keys.NewKey(name="c"))
    await db.write(lambda tx: keys.revoke(tx, operator, first.id, now=clock.now()))
    await make(db, operator, clock, keys.NewKey(name="c"))
    clock.forward(5)
    await make(db, operator, clock, keys.NewKey(name="d"))


async def test_use_is_noted_and_never_goes_back(db: Database, clock: HandClock, operator: Caller) -> None:
    record, _ = await make(db, operator, clock, keys.NewKey(name="a"))
    later, earlier = instant(clock.now() + timedelta(seconds=60)), instant(clock.now())
    await db.write(lambda tx: store.record_key_use(tx, {record.id: later, "key_unknown": later}))
    await db.write(lambda tx: store.record_key_use(tx, {record.id: earlier}))
    [seen] = await db.read(lambda tx: keys.page(tx, operator, limit=10, after=None, now=clock.now()))
    assert seen.last_used_at == later
