"""A backup is complete, is made under load, and is restored as a whole or not at all."""

import asyncio
import contextlib
import fcntl
import functools
import gzip
import hashlib
import io
import json
import os
import struct
import subprocess
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from deedbox import VERSION
from deedbox.kernel import outbox
from deedbox.kernel.backup import BackupManifest, backup, restore, rows
from deedbox.kernel.backup.archive import rows_of
from deedbox.kernel.blobs import Blob, store
from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.db import Database, Row, Tx, migrate
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.errors import SetupError
from tests.postgres import Cluster

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
KEY = b"k" * 32
ACCOUNTS = 10
EACH = 1000


class Installation(msgspec.Struct):
    """A data folder and its database."""

    data_dir: Path
    url: str | None
    db: Database
    blobs: LocalBlobs

    def backup(self, target: Path, progress: Callable[[str, int, int], None] | None = None) -> BackupManifest:
        return backup(self.data_dir, self.url, target, now=NOW, progress=progress)


class Place(msgspec.Struct):
    """Where something can be restored."""

    data_dir: Path
    url: str | None

    def nothing_there(self) -> bool:
        rows = 0
        if self.url is not None:
            with psycopg.connect(self.url) as connection:
                row = connection.execute("select count(*) from workspaces").fetchone()
                rows = row[0] if row else 0
        parent = self.data_dir.parent
        beside = [path for path in parent.iterdir() if "restoring" in path.name] if parent.exists() else []
        return not self.data_dir.exists() and not beside and rows == 0


def connect(url: str | None, data_dir: Path) -> Database:
    return PostgresDatabase(url) if url else SqliteDatabase(data_dir / "deedbox.sqlite")


@pytest.fixture
async def source(database_url: str, db: Database, tmp_path: Path) -> Installation:
    (tmp_path / "master.key").write_bytes(KEY)
    (tmp_path / "deedbox.toml").write_text("# settings\n")
    (tmp_path / "deedbox.lock").write_text("")
    (tmp_path / "backups").mkdir()
    url = None if database_url.startswith("sqlite:") else database_url
    installation = Installation(tmp_path, url, db, LocalBlobs(tmp_path / "blobs"))
    await db.write(open_accounts)
    return installation


@pytest.fixture
def place(source: Installation, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        url = None
        if source.url is not None:
            cluster: Cluster = request.getfixturevalue("cluster")
            url = stack.enter_context(cluster.database(f"{source.url.split('/')[3].split('?')[0]}_elsewhere"))
        yield Place(tmp_path / "elsewhere" / "data", url)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "backups" / "one.tar.gz"


@contextlib.asynccontextmanager
async def opened(place: Place) -> AsyncIterator[tuple[Database, LocalBlobs]]:
    database = connect(place.url, place.data_dir)
    try:
        yield database, LocalBlobs(place.data_dir / "blobs")
    finally:
        await database.close()


def open_accounts(tx: Tx) -> None:
    """Workspaces whose names are balances."""
    sql = "insert into workspaces (id, name, created_at) values (:id, :balance, '2026-03-01T12:00:00Z')"
    tx.many(sql, [{"id": f"wsp_{n}", "balance": str(EACH)} for n in range(ACCOUNTS)])


def transfer(tx: Tx, number: int) -> None:
    """Moves one from an account to the next: the sum of all stays."""
    sql = "update workspaces set name = cast(cast(name as integer) + :change as text) where id = :id"
    tx.run(sql, change=-1, id=f"wsp_{number % ACCOUNTS}")
    tx.run(sql, change=1, id=f"wsp_{(number + 1) % ACCOUNTS}")


def add_a_person(tx: Tx, name: str) -> None:
    add = "insert into people (id, name, created_at) values ('per_1', :name, '2026-03-01T12:00:00Z')"
    tx.run(add, name=name)
    link = "insert into login_links (token_hash, person_id, created_at, expires_at) values (:hash, 'per_1', '', '')"
    tx.run(link, hash=bytes(range(256)))


def everything(tx: Tx) -> list[list[Row]]:
    """The rows of some tables: text, numbers, bytes and references."""
    orders = ("workspaces order by id", "people order by id", "login_links order by 1", "blob_refs order by owner")
    return [tx.all(f"select * from {order}") for order in orders]


async def put(source: Installation, data: bytes, owner: str) -> Blob:
    async with source.blobs.receive(10_000_000) as incoming:
        await incoming.write(data)
        received = await incoming.finish()
        return await source.db.write(lambda tx: store.adopt(tx, received, owner, NOW))


async def contents(db: Database, blobs: LocalBlobs) -> set[bytes]:
    """The bytes of every blob that a row names; fails if one is missing."""
    rows = await db.read(lambda tx: tx.all("select location, size_bytes from blobs"))
    return {await blobs.read(location, size) for location, size in rows}


def repack(path: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]) -> None:
    """Writes the archive anew with changed members."""
    with tarfile.open(path) as old:
        members = [(info, file.read()) for info in old.getmembers() if (file := old.extractfile(info))]
    change(members)
    plain = io.BytesIO()
    for info, data in members:
        info.size = len(data) if info.isreg() else 0
        plain.write(info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512))
    path.write_bytes(gzip.compress(plain.getvalue() + bytes(1024)))


def edit_manifest(path: Path, **values: Any) -> None:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        members[0] = (members[0][0], json.dumps({**json.loads(members[0][1]), **values}).encode())

    repack(path, change)


async def test_a_restored_installation_is_the_one_that_was_backed_up(
    source: Installation, place: Place, target: Path
) -> None:
    data = {b"one", b"two", os.urandom(600_000), b""}
    for number, each in enumerate(sorted(data)):
        await put(source, each, f"doc_{number}")
    awkward = "tab\t newline\n backslash \\ quote ' null \\N snow ☃"
    await source.db.write(lambda tx: add_a_person(tx, awkward))
    steps: list[tuple[str, int, int]] = []

    manifest = source.backup(target, lambda *step: steps.append(step))
    assert restore(target, place.data_dir, place.url) == manifest

    assert (manifest.deedbox, manifest.schema) == (VERSION, migrate.newest_schema())
    assert (manifest.created_at, manifest.blob_count) == ("2026-03-01T12:00:00Z", 4)
    assert steps[-1] == ("writing", manifest.total_bytes(), manifest.total_bytes())
    assert steps == sorted(steps)
    assert [step for step in steps if step[0] == "reading rows"][-1][1:] == (manifest.total_rows(),) * 2
    assert (place.data_dir / "master.key").read_bytes() == KEY
    assert sorted(path.name for path in place.data_dir.iterdir() if path.name != "deedbox.sqlite") == [
        "blobs",
        "deedbox.toml",
        "master.key",
    ]
    async with opened(place) as (db, blobs):
        assert await contents(db, blobs) == data
        assert await db.read(everything) == await source.db.read(everything)
        assert await db.read(lambda tx: tx.one("select name from people")) == (awkward,)


async def test_a_backup_leaves_out_snapshots_of_indexes_and_their_files(
    source: Installation, place: Place, target: Path
) -> None:
    await put(source, b"a document", "doc_1")
    await put(source, b"of both", "doc_1")
    await put(source, b"of both", "snapshot:snp_1")
    await put(source, b"a part of an index", "snapshot:snp_1")
    row = "insert into index_snapshots values ('snp_1', 'wsp_1', 'recipe', 3, 7, 1, 18, '{}', '2026-03-01T12:00:00Z')"
    await source.db.write(lambda tx: tx.run(row))
    steps: list[tuple[str, int, int]] = []
    manifest = source.backup(target, lambda *step: steps.append(step))
    assert manifest.blob_count == 2
    assert [step for step in steps if step[0] == "reading rows"][-1][1:] == (manifest.total_rows(),) * 2
    restore(target, place.data_dir, place.url)
    async with opened(place) as (db, blobs):
        assert await contents(db, blobs) == {b"a document", b"of both"}
        assert await db.read(lambda tx: tx.all("select owner from blob_refs")) == [("doc_1",), ("doc_1",)]
        assert await db.read(lambda tx: tx.all("select * from index_snapshots")) == []


async def test_only_the_owner_can_read_a_backup_and_what_is_restored(
    source: Installation, place: Place, target: Path
) -> None:
    await put(source, b"private", "doc_1")
    source.backup(target)
    restore(target, place.data_dir, place.url)
    assert target.stat().st_mode & 0o777 == 0o600
    for path in [place.data_dir, *place.data_dir.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


async def test_a_backup_under_load_is_of_one_moment(source: Installation, place: Place, target: Path) -> None:
    done = asyncio.Event()

    async def move(first: int) -> int:
        number = first
        while not done.is_set():
            await source.db.write(functools.partial(transfer, number=number))
            number += 3
        return number - first

    async def come_and_go(owner: str) -> int:
        number = 0
        while not done.is_set():
            blob = await put(source, f"{owner} {number}".encode() * 2000, owner)
            if number % 3:
                release = functools.partial(store.release, sha256=blob.sha256, owner=owner, now=NOW)
                await source.db.write(release)
            await source.blobs.sweep(source.db, NOW)
            number += 1
        return number

    load = [asyncio.create_task(work) for work in (move(0), move(1), come_and_go("doc_1"), come_and_go("doc_2"))]
    for number in range(3):
        await asyncio.sleep(0.1)
        copy = target.with_name(f"{number}.tar")
        await asyncio.to_thread(source.backup, copy)
    done.set()
    moved = await asyncio.gather(*load)
    assert min(moved[:2]) > 0
    restore(copy, place.data_dir, place.url)
    async with opened(place) as (db, blobs):
        total = await db.read(lambda tx: tx.one("select sum(cast(name as integer)) from workspaces"))
        assert total is not None
        assert int(total[0]) == ACCOUNTS * EACH
        assert len(await contents(db, blobs)) > 0


async def test_a_restored_database_goes_on_working(source: Installation, place: Place, target: Path) -> None:
    kept = await put(source, b"goes on", "doc_1")
    source.backup(target)
    restore(target, place.data_dir, place.url)
    async with opened(place) as (db, blobs):
        await db.write(lambda tx: store.release(tx, kept.sha256, "doc_1", NOW))
        assert await blobs.sweep(db, NOW) == 1
        await db.write(lambda tx: transfer(tx, 1))


async def test_events_of_a_restored_database_are_numbered_behind_those_that_it_had(
    source: Installation, place: Place, target: Path
) -> None:
    def emit(tx: Tx) -> str:
        add = "insert into workspaces (id, name, created_at) values ('wsp_events', '', '') on conflict do nothing"
        tx.run(add)
        return outbox.emit(tx, "wsp_events", "thing.happened", "doc_1", {}, now=NOW).id

    emitted = [await source.db.write(emit) for _ in range(3)]
    source.backup(target)
    restore(target, place.data_dir, place.url)
    async with opened(place) as (db, _):
        emitted.append(await db.write(emit))
        rows = await db.read(lambda tx: tx.all("select id from events where subject_id = 'doc_1' order by number"))
    assert [row[0] for row in rows] == emitted


async def test_an_existing_target_is_refused(source: Installation, target: Path) -> None:
    target.write_bytes(b"an older backup")
    with pytest.raises(SetupError, match="already a file"):
        source.backup(target)
    assert target.read_bytes() == b"an older backup"


async def test_two_backups_to_one_target_do_not_mix(source: Installation, target: Path) -> None:
    target.with_name(f"{target.name}.partial").mkdir()
    with open(f"{target}.partial/lock", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(SetupError, match="Another backup"):
            source.backup(target)


async def test_an_interrupted_backup_leaves_no_target_and_the_next_one_succeeds(
    source: Installation, target: Path
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source.backup(target, interrupt)
    assert not target.exists()
    source.backup(target)
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("harm", ["missing", "shorter", "changed"])
async def test_a_backup_that_would_not_be_complete_is_not_made(source: Installation, target: Path, harm: str) -> None:
    blob = await put(source, b"precious", "doc_1")
    path = source.data_dir / "blobs" / blob.location
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(b"prec" if harm == "shorter" else b"PRECIOUS")
    with pytest.raises(SetupError, match=f"would not be complete.*{blob.location}"):
        source.backup(target)
    assert list(target.parent.iterdir()) == []


def test_a_folder_without_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    with pytest.raises(SetupError, match="no database"):
        backup(tmp_path, None, tmp_path / "one.tar", now=NOW)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"no data folder .*/elsewhere"):
        backup(tmp_path / "elsewhere", None, tmp_path / "one.tar", now=NOW)


async def test_a_used_data_folder_is_refused(source: Installation, place: Place, target: Path) -> None:
    source.backup(target)
    place.data_dir.mkdir(parents=True)
    (place.data_dir / "something").write_text("mine")
    with pytest.raises(SetupError, match="not empty"):
        restore(target, place.data_dir, place.url)
    assert [path.name for path in place.data_dir.iterdir()] == ["something"]


async def test_an_empty_data_folder_is_filled(source: Installation, place: Place, target: Path) -> None:
    source.backup(target)
    place.data_dir.mkdir(parents=True)
    restore(target, place.data_dir, place.url)
    assert (place.data_dir / "master.key").read_bytes() == KEY


async def test_a_data_folder_that_is_a_disk_of_its_own_is_filled(
    source: Installation, place: Place, target: Path
) -> None:
    await put(source, b"on another disk", "doc_1")
    source.backup(target)
    place.data_dir.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=20m", "deedbox-test", str(place.data_dir)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root on Linux can mount a disk")
    try:
        restore(target, place.data_dir, place.url)
        assert not [path for path in place.data_dir.iterdir() if "restoring" in path.name]
        async with opened(place) as (db, blobs):
            assert await contents(db, blobs) == {b"on another disk"}
    finally:
        subprocess.run(["umount", str(place.data_dir)], check=True)


async def test_a_used_database_is_refused(postgres_url: str, cluster: Cluster, tmp_path: Path) -> None:
    LocalBlobs(tmp_path / "blobs")
    backup(tmp_path, postgres_url, tmp_path / "one.tar", now=NOW)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("insert into workspaces (id, name, created_at) values ('wsp_1', 'already there', '')")
    with pytest.raises(SetupError, match="not empty: the table workspaces"):
        restore(tmp_path / "one.tar", tmp_path / "elsewhere", postgres_url)
    assert not (tmp_path / "elsewhere").exists()


async def test_a_database_without_tables_gets_them(postgres_url: str, cluster: Cluster, tmp_path: Path) -> None:
    LocalBlobs(tmp_path / "blobs")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("insert into workspaces (id, name, created_at) values ('wsp_1', 'here', '')")
    backup(tmp_path, postgres_url, tmp_path / "one.tar", now=NOW)
    with cluster.database(f"bare_{os.getpid()}", template="template0") as bare:
        restore(tmp_path / "one.tar", tmp_path / "elsewhere", bare)
        with psycopg.connect(bare) as connection:
            assert connection.execute("select id, name from workspaces").fetchall() == [("wsp_1", "here")]


@pytest.mark.parametrize(("field", "value"), [("format", 3), ("schema", "9999")])
async def test_a_backup_of_a_newer_version_is_refused(
    source: Installation, place: Place, target: Path, field: str, value: object
) -> None:
    source.backup(target)
    edit_manifest(target, **{field: value, "deedbox": "9.9.9"})
    with pytest.raises(SetupError, match=r"newer version of Deedbox \(9\.9\.9"):
        restore(target, place.data_dir, place.url)
    assert place.nothing_there()


Members = list[tuple[tarfile.TarInfo, bytes]]


def flip_a_blob(members: Members) -> None:
    info, data = members[-1]
    members[-1] = (info, bytes([data[0] ^ 1]) + data[1:])


def flip_the_key(members: Members) -> None:
    position = next(n for n, (info, _) in enumerate(members) if info.name == "master.key")
    members[position] = (members[position][0], b"x" * len(KEY))


def drop_a_blob(members: Members) -> None:
    members.pop()


def drop_the_manifest(members: Members) -> None:
    members.pop(0)


def repeat_a_member(members: Members) -> None:
    members.append(members[-1])


def climb_out(members: Members) -> None:
    members.append((tarfile.TarInfo("blobs/../../evil"), b"evil"))


def start_at_the_root(members: Members) -> None:
    members.append((tarfile.TarInfo("/tmp/evil"), b"evil"))


def add_a_stranger(members: Members) -> None:
    members.append((tarfile.TarInfo("authorized_keys"), b"evil"))


def add_a_link(members: Members) -> None:
    info = tarfile.TarInfo("blobs/link")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc"
    members.insert(1, (info, b""))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (flip_a_blob, "was changed"),
        (flip_the_key, "master.key was changed"),
        (drop_a_blob, "a part of it is missing"),
        (drop_the_manifest, "does not begin with a manifest"),
        (repeat_a_member, "more files than it should"),
        (climb_out, "unexpected file 'blobs/../../evil'"),
        (start_at_the_root, "unexpected file '/tmp/evil'"),
        (add_a_stranger, "unexpected file 'authorized_keys'"),
        (add_a_link, "'blobs/link' is no plain file"),
    ],
)
async def test_an_archive_that_was_tampered_with_is_refused(
    source: Installation, place: Place, target: Path, change: Callable[[Members], None], message: str
) -> None:
    for data in (b"first", b"second"):
        await put(source, data, "doc_1")
    source.backup(target)
    repack(target, change)
    with pytest.raises(SetupError, match="Nothing was restored") as refusal:
        restore(target, place.data_dir, place.url)
    assert message in refusal.value.reason
    assert place.nothing_there()


async def test_a_blob_that_the_database_does_not_name_is_refused(
    source: Installation, place: Place, target: Path
) -> None:
    await put(source, b"first", "doc_1")
    source.backup(target)

    def exchange(members: Members) -> None:
        other = b"other"
        sha256 = hashlib.sha256(other).hexdigest()
        members[-1] = (tarfile.TarInfo(f"blobs/{sha256[:2]}/{sha256}.{'0' * 16}"), other)

    repack(target, exchange)
    with pytest.raises(SetupError, match=r"the stored file .* is missing"):
        restore(target, place.data_dir, place.url)
    assert place.nothing_there()


@pytest.mark.parametrize("name", ["../evil", "tables/../../evil.copy", "blobs/evil"])
async def test_a_manifest_that_names_a_strange_file_is_refused(
    source: Installation, place: Place, target: Path, name: str
) -> None:
    manifest = source.backup(target)
    entry = {"sha256": "0" * 64, "size_bytes": 4}
    edit_manifest(target, files={**msgspec.to_builtins(manifest.files), name: entry})
    with pytest.raises(SetupError, match="unexpected or a missing file"):
        restore(target, place.data_dir, place.url)
    assert place.nothing_there()


async def test_an_archive_larger_than_the_disk_is_refused_before_it_is_unpacked(
    source: Installation, place: Place, target: Path
) -> None:
    source.backup(target)
    edit_manifest(target, blob_bytes=10**18, blob_count=1)
    with pytest.raises(SetupError, match="the disk has"):
        restore(target, place.data_dir, place.url)
    assert place.nothing_there()


@pytest.mark.parametrize("keep", [0, 1, 100, 1500, -200, -1])
async def test_a_truncated_archive_is_refused(source: Installation, place: Place, target: Path, keep: int) -> None:
    await put(source, os.urandom(50_000), "doc_1")
    source.backup(target)
    target.write_bytes(target.read_bytes()[:keep])
    with pytest.raises(SetupError, match="damaged or not a Deedbox backup"):
        restore(target, place.data_dir, place.url)
    assert place.nothing_there()


async def test_an_archive_with_something_after_its_end_is_refused(
    source: Installation, place: Place, target: Path
) -> None:
    source.backup(target)
    for more in (b"more", bytes(50_000)):
        target.write_bytes(gzip.compress(gzip.decompress(target.read_bytes()) + more))
        with pytest.raises(SetupError, match="something follows its end"):
            restore(target, place.data_dir, place.url)
    assert place.nothing_there()


async def test_a_file_that_is_no_backup_is_refused(place: Place, target: Path) -> None:
    for junk in (b"hello", os.urandom(5000), gzip.compress(b"hello"), gzip.compress(bytes(100_000))):
        target.write_bytes(junk)
        with pytest.raises(SetupError, match="damaged or not a Deedbox backup"):
            restore(target, place.data_dir, place.url)
    with pytest.raises(SetupError, match="There is no backup"):
        restore(target.with_name("missing"), place.data_dir, place.url)
    assert place.nothing_there()


async def test_a_backup_in_an_older_form_is_refused_with_the_way_out(
    source: Installation, place: Place, target: Path
) -> None:
    source.backup(target)
    edit_manifest(target, format=1, deedbox="0.0.1")
    with pytest.raises(SetupError, match=r"older version of Deedbox \(0\.0\.1\).* Restore it with that version"):
        restore(target, place.data_dir, place.url)
    assert place.nothing_there()


async def test_a_schema_that_this_version_never_had_is_refused(
    source: Installation, place: Place, target: Path
) -> None:
    source.backup(target)
    edit_manifest(target, schema="0000")
    with pytest.raises(SetupError, match="does not know the schema 0000"):
        restore(target, place.data_dir, place.url)
    assert place.nothing_there()


async def test_a_full_disk_ends_a_backup_without_a_trace(source: Installation, tmp_path: Path) -> None:
    await put(source, os.urandom(3_000_000), "doc_1")
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "deedbox-test", str(disk)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root on Linux can mount a small disk")
    try:
        with pytest.raises(SetupError, match="No space left"):
            source.backup(disk / "one.tar.gz")
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("harm", ["too short", "a list", "a huge number"])
async def test_damaged_rows_are_reported_in_words(source: Installation, place: Place, target: Path, harm: str) -> None:
    source.backup(target)
    name = rows_of("workspaces")
    changed = b""

    def change(members: Members) -> None:
        nonlocal changed
        at = next(number for number, (member, _) in enumerate(members) if member.name == name)
        row = rows.decode(next(rows.read(io.BytesIO(members[at][1]))))
        other = {"too short": row[:1], "a list": ([1], *row[1:]), "a huge number": (2**64 - 1, *row[1:])}[harm]
        line = rows.encode(tuple(other))
        changed = struct.pack(">I", len(line)) + line
        members[at] = members[at][0], changed

    repack(target, change)
    manifest = json.loads(_member(target, "manifest.json"))
    entry = {"sha256": hashlib.sha256(changed).hexdigest(), "size_bytes": len(changed)}
    manifest["tables"]["workspaces"]["rows"] = 1
    edit_manifest(target, files={**manifest["files"], name: entry}, tables=manifest["tables"])
    with pytest.raises(SetupError, match="row"):
        restore(target, place.data_dir, place.url)
    assert not place.data_dir.exists() or not list(place.data_dir.iterdir())


def _member(path: Path, name: str) -> bytes:
    with tarfile.open(path) as archive:
        found = archive.extractfile(name)
        assert found is not None
        return found.read()
