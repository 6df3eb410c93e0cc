"""A backup goes into any kind of database and store, goes on after a kill, and is compared row by row."""

import contextlib
import hashlib
import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from deedbox.kernel import limits
from deedbox.kernel.backup import BackupManifest, backup, restore
from deedbox.kernel.backup.files import BucketFiles
from deedbox.kernel.backup.tables import snapshot
from deedbox.kernel.db import migrate
from deedbox.kernel.errors import SetupError, Unavailable
from deedbox.kernel.s3.bucket import Bucket
from tests.postgres import Cluster
from tests.s3 import Store

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
AWKWARD = "tab\t newline\n backslash \\ quote ' null \\N snow ☃ 𝄞 \x7f"
PEOPLE = 3000
_numbers = itertools.count()


class Place(msgspec.Struct):
    """A data folder and a database, filled or to be filled."""

    data_dir: Path
    url: str | None

    def run(self, sql: str, *rows: tuple[Any, ...]) -> None:
        if self.url is None:
            with contextlib.closing(sqlite3.connect(self.data_dir / "deedbox.sqlite")) as file, file:
                file.executemany(sql.replace("%s", "?"), rows or [()])
            return
        with psycopg.connect(self.url) as connection:
            connection.cursor().executemany(sql.encode(), rows or [()])

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if self.url is None:
            with contextlib.closing(sqlite3.connect(self.data_dir / "deedbox.sqlite")) as file:
                return file.execute(sql).fetchall()
        with psycopg.connect(self.url) as connection:
            return connection.execute(sql.encode()).fetchall()

    def put(self, data: bytes) -> Path:
        """A stored file and its row."""
        sha256 = hashlib.sha256(data).hexdigest()
        location = f"{sha256[:2]}/{sha256}.{os.urandom(8).hex()}"
        path = self.data_dir / "blobs" / location
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.run("insert into blobs values (%s, %s, %s, '')", (sha256, location, len(data)))
        return path

    def backup(self, target: Path, now: datetime = NOW) -> BackupManifest:
        return backup(self.data_dir, self.url, target, now=now)

    def tables(self, folder: Path) -> dict[str, Any]:
        """The hash of every table's rows, as a backup has them."""
        made = self.backup(folder / f"look-{next(_numbers)}.tar")
        return {name: entry for name, entry in made.files.items() if name.startswith("tables/")}


@pytest.fixture
def make(tmp_path: Path, cluster: Cluster, empty_sqlite: bytes) -> Iterator[Callable[[str], Place]]:
    """Makes an empty installation, or (`bare`) room for one, of either kind."""
    with contextlib.ExitStack() as stack:

        def made(kind: str, *, bare: bool = False) -> Place:
            number = next(_numbers)
            data = tmp_path / f"data{number}"
            worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
            url = stack.enter_context(cluster.database(f"moving_{worker}_{number}")) if kind == "postgres" else None
            if not bare:
                (data / "blobs").mkdir(parents=True)
                (data / "master.key").write_bytes(b"k" * 32)
                if url is None:
                    (data / "deedbox.sqlite").write_bytes(empty_sqlite)
            return Place(data, url)

        yield made


Make = Callable[..., Place]


def fill(place: Place, files: int = 3) -> None:
    """Rows of every kind of value, references, and files."""
    people = [(f"per_{n:05}", f"{n} {AWKWARD}", "2026-03-01T12:00:00Z") for n in range(PEOPLE)]
    place.run("insert into people (id, name, created_at) values (%s, %s, %s)", *people)
    place.run("insert into people (id, email, name, created_at) values ('per_x', %s, '', '')", ("e\u0301@ä.example",))
    link = "insert into login_links (token_hash, person_id, created_at, expires_at) values (%s, 'per_00001', '', '')"
    place.run(link, *[(bytes(range(n, 256)),) for n in range(5)])
    jobs = [("job_1", 0.1), ("job_2", -0.0), ("job_3", 1e300), ("job_4", 5e-324), ("job_5", 1767225600.123456)]
    job = (
        "insert into jobs (id, kind, payload, priority, state, run_at, attempts, max_attempts, created_at)"
        " values (%s, 'x', '{}', -9223372036854775807, 'done', %s, 9223372036854775807, 1, '')"
    )
    place.run(job, *jobs)
    place.run("insert into workspaces (id, name, created_at) values ('wsp_1', 'Ours', '')")
    event = (
        "insert into events (number, id, workspace_id, kind, subject_id, sequence, data, created_at, line)"
        " values (%s, %s, 'wsp_1', 'x', %s, 1, '{}', '', '')"
    )
    place.run(event, (7, "evt_1", "a"), (40, "evt_2", "b"))
    for number in range(files):
        place.put(b"%d " % number * 50_000)


@pytest.mark.parametrize(("here", "there"), [("sqlite", "postgres"), ("postgres", "sqlite")])
def test_an_installation_moves_to_the_other_database_and_back_without_a_change(
    make: Make, tmp_path: Path, here: str, there: str
) -> None:
    first, second, third = make(here), make(there, bare=True), make(here, bare=True)
    fill(first)
    manifest = first.backup(tmp_path / "one.tgz")
    assert manifest.database == here
    restore(tmp_path / "one.tgz", second.data_dir, second.url)
    assert second.rows("select name from people where id = 'per_00001'") == [(f"1 {AWKWARD}",)]
    second.backup(tmp_path / "two.tar")
    restore(tmp_path / "two.tar", third.data_dir, third.url)
    assert first.tables(tmp_path) == second.tables(tmp_path) == third.tables(tmp_path)
    assert (third.data_dir / "master.key").read_bytes() == b"k" * 32
    for place in (second, third):
        add = "insert into events (id, workspace_id, kind, subject_id, sequence, data, created_at, line)"
        place.run(f"{add} values ('evt_3', 'wsp_1', 'x', 'c', 1, '{{}}', '', '')")
        assert place.rows("select number from events where id = 'evt_3'") == [(41,)]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_every_table_has_a_key_by_which_its_rows_are_ordered(make: Make, kind: str) -> None:
    place = make(kind)
    with snapshot(place.data_dir, place.url) as tables:
        shapes = tables.shapes()
        assert all(shape.key != tuple(shape.columns) or len(shape.key) < 4 for shape in shapes.values())
    assert len(shapes) > 40


def test_a_text_that_postgres_cannot_hold_is_refused_by_the_name_of_its_table(make: Make, tmp_path: Path) -> None:
    here, there = make("sqlite"), make("postgres", bare=True)
    here.run("insert into workspaces (id, name, created_at) values ('wsp_1', %s, '')", ("a\0b",))
    here.backup(tmp_path / "one.tar")
    with pytest.raises(SetupError, match=r"does not take a row of the table workspaces.*Nothing was restored"):
        restore(tmp_path / "one.tar", there.data_dir, there.url)
    assert not there.data_dir.exists()
    assert there.rows("select count(*) from people") == [(0,)]
    migrate.migrate_postgres(str(there.url))


def test_a_database_that_changes_what_it_is_given_is_refused(make: Make, tmp_path: Path) -> None:
    here, there = make("sqlite"), make("postgres", bare=True)
    fill(here)
    here.backup(tmp_path / "one.tar")
    there.run(
        "create function meddle() returns trigger language plpgsql as"
        " $$ begin if new.id = 'per_00042' then new.name = 'x'; end if; return new; end $$"
    )
    there.run("create trigger meddle before insert on people for each row execute function meddle()")
    with pytest.raises(SetupError, match="does not match the backup: the table people differs from its row 43"):
        restore(tmp_path / "one.tar", there.data_dir, there.url)
    assert not there.data_dir.exists()
    assert there.rows("select count(*) from people") == [(0,)]


KILLED = """
    import os, signal, sys
    from datetime import UTC, datetime
    from pathlib import Path
    from deedbox.kernel import limits
    from deedbox.kernel.backup import backup, restore

    verb, data, url, file, stage, share = sys.argv[1:]
    limits.BACKUP_FLUSH_BYTES = limits.BACKUP_LOAD_BYTES = 50_000

    def die(now_at, done, total):
        if now_at == stage and done >= total * float(share):
            os.kill(os.getpid(), signal.SIGKILL)

    if verb == "backup":
        moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
        backup(Path(data), url or None, Path(file), now=moment, progress=die)
    else:
        restore(Path(file), Path(data), url or None, progress=die)
"""


def killed(verb: str, place: Place, file: Path, stage: str, share: float) -> None:
    """Runs the verb in a process that is killed when it has done this share of the stage."""
    words = [verb, str(place.data_dir), place.url or "", str(file), stage, str(share)]
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), *words], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_backup_goes_on_with_the_snapshot_it_had(make: Make, tmp_path: Path, kind: str) -> None:
    here, there = make(kind), make(kind, bare=True)
    fill(here)
    before, target = here.tables(tmp_path), tmp_path / "one.tgz"
    killed("backup", here, target, "writing", 0.9)
    assert not target.exists()
    here.run("insert into people (id, name, created_at) values ('per_new', '', '')")
    manifest = here.backup(target, LATER)
    assert manifest.created_at == "2026-03-01T12:00:00Z"
    assert not target.with_name("one.tgz.partial").exists()
    restore(target, there.data_dir, there.url)
    assert there.tables(tmp_path) == before


def test_a_backup_killed_before_its_snapshot_was_kept_begins_anew(make: Make, tmp_path: Path) -> None:
    here = make("sqlite")
    fill(here)
    killed("backup", here, tmp_path / "one.tgz", "reading rows", 0.5)
    assert here.backup(tmp_path / "one.tgz", LATER).created_at == "2026-03-01T13:00:00Z"


@pytest.mark.parametrize("why", ["a file is gone", "too long ago", "of another installation"])
def test_a_backup_that_cannot_go_on_begins_anew(make: Make, tmp_path: Path, why: str) -> None:
    here, there, target = make("sqlite"), make("sqlite", bare=True), tmp_path / "one.tgz"
    fill(here)
    killed("backup", here, target, "writing", 0.9)
    now = LATER
    if why == "a file is gone":
        for path in (here.data_dir / "blobs").glob("??/*"):
            path.unlink()
        here.run("delete from blobs")
    elif why == "too long ago":
        now = NOW + timedelta(seconds=limits.BACKUP_RESUME_SECONDS + 1)
    else:
        shutil.copytree(here.data_dir, tmp_path / "another")
        here = Place(tmp_path / "another", None)
    assert here.backup(target, now).created_at == f"{now:%Y-%m-%dT%H:%M:%SZ}"
    restore(target, there.data_dir, None)
    assert there.tables(tmp_path) == here.tables(tmp_path)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
@pytest.mark.parametrize(("stage", "share"), [("reading", 0.99), ("loading rows", 0.5), ("comparing rows", 0.5)])
def test_a_killed_restore_goes_on_from_what_it_finds(
    make: Make, tmp_path: Path, kind: str, stage: str, share: float
) -> None:
    here, there, file = make("sqlite"), make(kind, bare=True), tmp_path / "one.tgz"
    fill(here)
    here.backup(file)
    killed("restore", there, file, stage, share)
    assert not there.data_dir.exists()
    staging = there.data_dir.with_name(f".{there.data_dir.name}.restoring")
    staged = {path.name: path.stat().st_ino for path in (staging / "blobs").glob("??/*")}
    assert staged
    if kind == "postgres":
        with pytest.raises(SetupError, match="being restored into this database"):
            migrate.migrate_postgres(str(there.url))
    restore(file, there.data_dir, there.url)
    assert staged.items() <= {path.name: path.stat().st_ino for path in (there.data_dir / "blobs").glob("??/*")}.items()
    assert there.tables(tmp_path) == here.tables(tmp_path)
    assert not staging.exists()
    assert not (there.data_dir / "restoring").exists()
    if there.url:
        migrate.migrate_postgres(there.url)


def test_a_restore_killed_between_folder_and_database_goes_on(make: Make, tmp_path: Path) -> None:
    here, there, file = make("sqlite"), make("postgres", bare=True), tmp_path / "one.tar"
    fill(here)
    here.backup(file)
    script = """
        import os, signal, sys
        from pathlib import Path
        from deedbox.kernel.backup import restore, targets

        targets._Postgres.end = lambda _self: os.kill(os.getpid(), signal.SIGKILL)
        restore(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
    """
    words = [str(file), str(there.data_dir), str(there.url)]
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), *words], check=False)
    assert done.returncode == -signal.SIGKILL
    assert there.data_dir.exists()
    with pytest.raises(SetupError, match="being restored into this database"):
        migrate.migrate_postgres(str(there.url))
    restore(file, there.data_dir, there.url)
    migrate.migrate_postgres(str(there.url))
    assert there.tables(tmp_path) == here.tables(tmp_path)
    with pytest.raises(SetupError, match="not empty"):
        restore(file, there.data_dir, there.url)


@pytest.mark.parametrize("harm", ["a row is changed", "a row is gone", "another backup"])
def test_a_restore_that_finds_other_rows_than_it_left_is_refused(make: Make, tmp_path: Path, harm: str) -> None:
    here, there, file = make("sqlite"), make("postgres", bare=True), tmp_path / "one.tar"
    fill(here)
    here.backup(file)
    killed("restore", there, file, "comparing rows", 0.5)
    message = "does not match the backup"
    if harm == "a row is changed":
        there.run("update people set name = 'x' where id = 'per_00007'")
    elif harm == "a row is gone":
        there.run("delete from people where id = 'per_00007'")
    else:
        file = tmp_path / "two.tar"
        here.backup(file, LATER)
        message = "Another restore into this database was stopped"
    with pytest.raises(SetupError, match=message):
        restore(file, there.data_dir, there.url)
    assert not there.data_dir.exists()


def test_two_restores_into_one_place_do_not_mix(make: Make, tmp_path: Path) -> None:
    here, there, file = make("sqlite"), make("sqlite", bare=True), tmp_path / "one.tar"
    here.backup(file)

    def again(*_: object) -> None:
        restore(file, there.data_dir, None)

    fill(here)
    here.backup(tmp_path / "two.tar")
    with pytest.raises(SetupError, match="Another restore works"):
        restore(tmp_path / "two.tar", there.data_dir, None, progress=again)


def interrupted(stage: str, share: float) -> Callable[[str, int, int], None]:
    def stop(now_at: str, done: int, total: int) -> None:
        if now_at == stage and done >= total * share:
            raise KeyboardInterrupt

    return stop


def stored(bucket: Bucket) -> dict[str, datetime]:
    return {one.name: one.modified for page in bucket.pages() for one in page}


def test_a_restore_into_a_bucket_goes_on_and_puts_no_file_twice(make: Make, tmp_path: Path, s3_store: Store) -> None:
    here, file, bucket = make("sqlite"), tmp_path / "one.tar", s3_store.bucket()
    there, back = make("postgres", bare=True), make("sqlite", bare=True)
    fill(here, files=6)
    here.backup(file)
    stop = interrupted("reading", 0.8)
    with pytest.raises(KeyboardInterrupt):
        restore(file, there.data_dir, there.url, files=BucketFiles(bucket), progress=stop)
    before = stored(bucket)
    assert 0 < len(before) < 6
    restore(file, there.data_dir, there.url, files=BucketFiles(bucket))
    after = stored(bucket)
    assert len(after) == 6
    assert before.items() <= after.items()
    assert sorted(path.name for path in there.data_dir.iterdir()) == ["master.key"]
    backup(there.data_dir, there.url, tmp_path / "two.tgz", now=NOW, files=BucketFiles(bucket))
    restore(tmp_path / "two.tgz", back.data_dir, None)
    assert back.tables(tmp_path) == here.tables(tmp_path)


def test_a_restore_that_went_on_and_fails_takes_every_file_out_of_the_bucket(
    make: Make, tmp_path: Path, s3_store: Store
) -> None:
    here, there = make("sqlite"), make("sqlite", bare=True)
    file, bucket = tmp_path / "one.tar", s3_store.bucket()
    fill(here, files=6)
    here.backup(file)
    with pytest.raises(KeyboardInterrupt):
        restore(file, there.data_dir, None, files=BucketFiles(bucket), progress=interrupted("reading", 0.8))
    assert stored(bucket)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) - 2048])
    with pytest.raises(SetupError, match="damaged"):
        restore(file, there.data_dir, None, files=BucketFiles(bucket))
    assert stored(bucket) == {}
    assert not [path for path in tmp_path.iterdir() if "restoring" in path.name]


def test_a_bucket_that_is_away_stops_a_restore_that_goes_on_later(make: Make, tmp_path: Path, s3_store: Store) -> None:
    here, there = make("sqlite"), make("sqlite", bare=True)
    file, bucket = tmp_path / "one.tar", s3_store.bucket()
    fill(here)
    here.backup(file)
    taken = itertools.count()

    class Failing(BucketFiles):
        def keep(self, staging: Path, location: str) -> None:
            if next(taken) == 1:
                raise Unavailable("The store for files is away.")
            super().keep(staging, location)

    with pytest.raises(SetupError, match=r"is away.*run the same command again"):
        restore(file, there.data_dir, None, files=Failing(bucket))
    before = stored(bucket)
    assert len(before) == 1
    restore(file, there.data_dir, None, files=BucketFiles(bucket))
    assert before.items() <= stored(bucket).items()
    assert len(stored(bucket)) == 3


REVISION = """
from alembic import op
from deedbox.kernel.db.migrations import ddl

revision = "{new}"
down_revision = "{old}"

def upgrade():
    ddl.apply(op.get_bind(), "{script}")
"""
SCRIPT = "alter table people add column colour TEXT; update people set colour = 'red' where id = 'per_00001'"


def become_a_later_version(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str = SCRIPT) -> str:
    """This Deedbox has one more revision from now on."""
    old = migrate.newest_schema()
    new = f"{int(old) + 1:04}"
    shutil.copytree(migrate.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"{new}_later.py").write_text(REVISION.format(new=new, old=old, script=script))
    monkeypatch.setattr(migrate, "MIGRATIONS", folder)
    return new


@pytest.fixture
def bare_postgres(cluster: Cluster, tmp_path: Path) -> Iterator[Place]:
    with cluster.database(f"older_{os.getpid()}_{next(_numbers)}", template="template0") as url:
        yield Place(tmp_path / "elsewhere", url)


@pytest.mark.parametrize("there", ["sqlite", "postgres"])
def test_an_older_backup_comes_to_the_newest_schema(
    make: Make, bare_postgres: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    here = make("sqlite")
    fill(here)
    here.backup(tmp_path / "one.tar")
    place = bare_postgres if there == "postgres" else Place(tmp_path / "elsewhere", None)
    new = become_a_later_version(tmp_path / "later", monkeypatch)
    restore(tmp_path / "one.tar", place.data_dir, place.url)
    assert place.rows("select version_num from alembic_version") == [(new,)]
    assert place.rows("select id, colour from people where colour is not null") == [("per_00001", "red")]
    assert place.rows("select count(*) from people") == [(PEOPLE + 1,)]


def test_an_older_backup_whose_upgrade_fails_is_not_restored_and_leaves_nothing(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, place = make("sqlite"), Place(tmp_path / "elsewhere", None)
    fill(here)
    here.backup(tmp_path / "one.tar")
    become_a_later_version(tmp_path / "later", monkeypatch, "insert into nowhere values (1)")
    with pytest.raises(SetupError, match="nowhere"):
        restore(tmp_path / "one.tar", place.data_dir, None)
    assert not place.data_dir.exists()
    assert not [path for path in tmp_path.iterdir() if "restoring" in path.name]


def test_a_newer_empty_database_does_not_take_an_older_backup(
    make: Make, tmp_path: Path, bare_postgres: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = make("sqlite")
    here.backup(tmp_path / "one.tar")
    become_a_later_version(tmp_path / "later", monkeypatch)
    migrate.migrate_postgres(str(bare_postgres.url))
    with pytest.raises(SetupError, match="already, the backup has"):
        restore(tmp_path / "one.tar", bare_postgres.data_dir, bare_postgres.url)
