"""A rotation puts every encrypted value under a new key, beside a running server and across a crash."""

import asyncio
from pathlib import Path

import pytest

from deedbox.kernel import crypto, limits
from deedbox.kernel.crypto import ValueCipher, create_key_file, key_ids, key_of
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import SetupError
from deedbox.kernel.rotation import EncryptedColumn, rotate

pytestmark = pytest.mark.anyio

RESPONSES = EncryptedColumn(
    table="idempotency",
    key_columns=("caller", "idempotency_key"),
    column="exchange",
    place="idempotency.exchange:{caller}/{idempotency_key}",
)


class Killed(BaseException):
    """Stands for the death of the process."""


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "keys" / "master.key"
    path.parent.mkdir()
    create_key_file(path)
    return path


def quiet(done: int, total: int) -> None:
    assert 0 <= done <= total


def place(number: int) -> str:
    return f"idempotency.exchange:key_{number % 7}/{{n}}{number}"


def keep(tx: Tx, box: ValueCipher, number: int, plain: bytes) -> None:
    tx.run(
        "insert into idempotency (caller, idempotency_key, status, exchange, created_at)"
        " values (:caller, :key, 200, :exchange, '2026-03-01T12:00:00Z')"
        " on conflict (caller, idempotency_key) do update set exchange = excluded.exchange",
        caller=f"key_{number % 7}",
        key=f"{{n}}{number}",
        exchange=box.encrypt(plain, place(number)),
    )


async def fill(db: Database, ring: Path, count: int) -> None:
    box = ValueCipher(ring)

    def keep_all(tx: Tx) -> None:
        for number in range(count):
            keep(tx, box, number, b"%d" % number)

    await db.write(keep_all)


async def values(db: Database) -> dict[int, bytes]:
    rows = await db.read(lambda tx: tx.all("select idempotency_key, exchange from idempotency"))
    return {int(key.removeprefix("{n}")): bytes(encrypted) for key, encrypted in rows}


async def opened(db: Database, ring: Path) -> dict[int, bytes]:
    box = ValueCipher(ring)
    return {number: box.decrypt(encrypted, place(number)) for number, encrypted in (await values(db)).items()}


async def keys_in_use(db: Database) -> set[bytes]:
    return {key_of(encrypted) for encrypted in (await values(db)).values()}


async def test_every_value_is_under_the_new_key_and_says_what_it_said(db: Database, ring: Path) -> None:
    await fill(db, ring, 130)
    heard: list[tuple[int, int]] = []
    result = await rotate(db, ring, [RESPONSES], lambda done, total: heard.append((done, total)))
    assert (result.resumed, result.reencrypted, result.unreadable, result.dropped) == (False, 130, 0, 0)
    assert await keys_in_use(db) == {ValueCipher(ring).newest}
    assert await opened(db, ring) == {number: b"%d" % number for number in range(130)}
    assert heard[0] == (0, 130)
    assert heard[-1] == (130, 130)
    assert len(heard) > 130 // limits.ROTATION_BATCH
    assert heard == sorted(heard)


async def test_a_replaced_key_is_forgotten_one_rotation_later(db: Database, ring: Path) -> None:
    await fill(db, ring, 3)
    first = key_ids(ring)[0]
    await rotate(db, ring, [RESPONSES], quiet)
    assert key_ids(ring)[0] == first
    assert len(key_ids(ring)) == 2
    second = key_ids(ring)[1]
    assert (await rotate(db, ring, [RESPONSES], quiet)).dropped == 1
    assert first not in key_ids(ring)
    assert second in key_ids(ring)
    assert len(await opened(db, ring)) == 3


async def test_an_old_key_that_a_late_value_uses_stays_until_that_value_follows(db: Database, ring: Path) -> None:
    late = ring.with_name("late.key")
    late.write_bytes(ring.read_bytes())
    await rotate(db, ring, [RESPONSES], quiet)
    await db.write(lambda tx: keep(tx, ValueCipher(late), 1, b"late"))
    assert (await rotate(db, ring, [RESPONSES], quiet)).dropped == 0
    assert await opened(db, ring) == {1: b"late"}
    assert (await rotate(db, ring, [RESPONSES], quiet)).dropped == 2
    assert await opened(db, ring) == {1: b"late"}


async def test_a_rotation_cut_short_is_taken_up_where_it_stopped(db: Database, ring: Path) -> None:
    await fill(db, ring, 130)

    def die(done: int, total: int) -> None:
        if done:
            raise Killed

    with pytest.raises(Killed):
        await rotate(db, ring, [RESPONSES], die)
    assert len(await keys_in_use(db)) == 2
    assert len(await opened(db, ring)) == 130
    before = await values(db)
    result = await rotate(db, ring, [RESPONSES], quiet)
    assert result.resumed
    assert result.reencrypted == 130 - limits.ROTATION_BATCH
    assert len(key_ids(ring)) == 2
    after = await values(db)
    assert sum(before[number] == after[number] for number in after) == limits.ROTATION_BATCH
    assert await opened(db, ring) == {number: b"%d" % number for number in range(130)}
    assert not (await rotate(db, ring, [RESPONSES], quiet)).resumed


async def test_a_server_that_writes_all_the_while_loses_nothing(db: Database, ring: Path) -> None:
    await fill(db, ring, 200)
    server, truth, over = ValueCipher(ring), {number: b"%d" % number for number in range(200)}, asyncio.Event()

    async def write() -> None:
        turn = 0
        while not over.is_set():
            number, plain = turn * 37 % 250, b"written %d" % turn
            await db.write(lambda tx, n=number, p=plain: keep(tx, server, n, p))  # type: ignore[misc]
            truth[number] = plain
            turn += 1

    writer = asyncio.create_task(write())
    for _ in range(3):
        await rotate(db, ring, [RESPONSES], quiet)
    over.set()
    await writer
    assert any(plain.startswith(b"written") for plain in truth.values())
    assert await opened(db, ring) == truth


async def test_a_value_changed_between_reading_and_writing_stays_as_changed(db: Database, ring: Path) -> None:
    from deedbox.kernel.rotation import store

    await fill(db, ring, 2)
    old = ValueCipher(ring).newest
    box_before = ValueCipher(ring)
    crypto.add_key(ring, drop=set())
    rows = await db.read(lambda tx: store.list_outdated(tx, RESPONSES, ValueCipher(ring).newest, None))
    assert {key_of(row.value) for row in rows} == {old}
    await db.write(lambda tx: keep(tx, box_before, 0, b"the server was faster"))
    changes = [store.EncryptedChange(row, b"\x01stale") for row in rows]
    assert await db.write(lambda tx: store.replace(tx, RESPONSES, changes)) == 1
    assert ValueCipher(ring).decrypt((await values(db))[0], place(0)) == b"the server was faster"


async def test_a_value_that_no_key_opens_is_counted_and_stops_nothing(db: Database, ring: Path) -> None:
    await fill(db, ring, 60)
    await db.write(lambda tx: tx.run("update idempotency set exchange = :x where caller = 'key_3'", x=b"\x01junkjunk"))
    result = await rotate(db, ring, [RESPONSES], quiet)
    damaged = len([number for number in range(60) if number % 7 == 3])
    assert (result.reencrypted, result.unreadable) == (60 - damaged, damaged)
    assert len([value for value in (await values(db)).values() if value == b"\x01junkjunk"]) == damaged


async def test_two_rotations_at_once_are_refused(db: Database, ring: Path) -> None:
    await fill(db, ring, 60)
    refused: list[SetupError] = []

    async def another() -> None:
        with pytest.raises(SetupError, match="Another rotation") as second:
            await rotate(db, ring, [RESPONSES], quiet)
        refused.append(second.value)

    first = asyncio.create_task(rotate(db, ring, [RESPONSES], quiet))
    await asyncio.sleep(0)
    await another()
    assert (await first).reencrypted == 60
    assert len(refused) == 1
    assert len(key_ids(ring)) == 2


async def test_nothing_encrypted_is_a_rotation_too(db: Database, ring: Path) -> None:
    result = await rotate(db, ring, [RESPONSES], quiet)
    assert (result.reencrypted, len(key_ids(ring))) == (0, 2)
