"""What every test may use: both databases, a clock in hand, no network but loopback."""

import contextlib
import functools
import gc
import importlib
import itertools
import os
import socket
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import hypothesis
import pytest
from httpx._transports import default

from deedbox.kernel import limits
from deedbox.kernel.db import Database, migrate
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.pdf import limits as pdf_limits
from deedbox.signing import limits as signing_limits
from tests.hangs import pytest_runtest_protocol
from tests.kinds import BLOBS, DATABASE, USUAL, WHOLE, kinds
from tests.models import models_dir, ocr_dir
from tests.postgres import Cluster, binaries, shared_cluster
from tests.s3 import s3_store

# The certificates of the world take 40 ms to read, for each client of each test: once is enough.
httpx.create_ssl_context = functools.cache(httpx.create_ssl_context)
default.create_ssl_context = httpx.create_ssl_context  # type: ignore[attr-defined]

# Forty milliseconds for each password and code that a test types, and nothing to guard.
SLOW_HASH_MEMORY_KB, limits.SLOW_HASH_MEMORY_KB = limits.SLOW_HASH_MEMORY_KB, 64

# A tenth of a second for the first page of each document that a test sends, and nobody to look at it.
PAGE_IMAGE_FIRST, signing_limits.PAGE_IMAGE_FIRST = signing_limits.PAGE_IMAGE_FIRST, min(pdf_limits.PAGE_IMAGE_STEPS)

# Machines are shared and noisy: how long an example takes says nothing.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

TESTS = Path(__file__).parent

__all__ = ["models_dir", "ocr_dir", "pytest_runtest_protocol", "s3_store"]

_names = itertools.count()


class HandClock:
    """A clock that moves only when a test moves it."""

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def forward(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def kinds_of_this_run(request: pytest.FixtureRequest) -> Iterator[None]:
    if DATABASE == "postgres":
        kinds.cluster = request.getfixturevalue("cluster")
    if BLOBS == "s3":
        kinds.store = request.getfixturevalue("s3_store")
    yield
    kinds.close()


@pytest.fixture(autouse=True)
def kinds_of_this_test() -> Iterator[None]:
    with kinds.for_one_test():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    kinds.heed(item)


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that would talk to another machine fails instead."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else None
        if host is not None and host != "::1" and not str(host).startswith("127.") and host != "localhost":
            raise AssertionError(f"a test tried to connect to {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if binaries() is None:
        assert not os.environ.get("CI"), "PostgreSQL is missing: run scripts/test-deps"
        pytest.skip("PostgreSQL is missing: run scripts/test-deps")
    shared = tmp_path_factory.getbasetemp()
    with shared_cluster((shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "postgres") as running:
        yield running


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of an empty database at the newest schema."""
    path = tmp_path_factory.mktemp("sqlite") / "empty.sqlite"
    migrate.migrate_sqlite(path, datetime.now(UTC))
    return path.read_bytes()


@pytest.fixture
def sqlite_path(tmp_path: Path, empty_sqlite: bytes) -> Path:
    path = tmp_path / "deedbox.sqlite"
    path.write_bytes(empty_sqlite)
    return path


@pytest.fixture
def postgres_url(cluster: Cluster) -> Iterator[str]:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    with cluster.database(f"test_{worker}_{next(_names)}") as url:
        yield url


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each worker begins to import elsewhere: what all of them compile at once, in a fresh clone, costs all of them."""
    worker, count = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if count > 1 and session.config.args == session.config.getini("testpaths"):
        left_out = session.config.getoption("ignore") or []
        files = [path for path in sorted(TESTS.rglob("test_*.py")) if not any(one in str(path) for one in left_out)]
        for path in files[int(worker.removeprefix("gw")) :: count]:
            with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting it tells what is wrong
                importlib.import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the collector of garbage need not look through them again and again."""
    gc.collect()
    gc.freeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A database for whatever asks for one, unless the test says which."""
    named = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "database_url" in metafunc.fixturenames and "database_url" not in named:
        metafunc.parametrize("database_url", _databases(metafunc.definition), indirect=True)


def _databases(test: pytest.Item) -> list[str]:
    """The kind of this run; a fault test tries both, and so does a test that says so."""
    if test.get_closest_marker("all_in_folder"):
        return ["sqlite"]
    if WHOLE:
        return [DATABASE]
    if test.get_closest_marker("one_database"):
        return ["sqlite"]
    if test.get_closest_marker("both_databases") or test.path.is_relative_to(TESTS / "faults"):
        return ["sqlite", "postgres"]
    return [DATABASE]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On another database than the usual one only what the usual run has not tried on it, unless all is asked for.

    The order is random, but a folder's tests come one after the other: they share a browser, and sandboxes."""
    if DATABASE != USUAL and not WHOLE:
        here = [item for item in items if _database_of(item) == DATABASE and _databases(item) == [DATABASE]]
        config.hook.pytest_deselected(items=[item for item in items if item not in here])
        items[:] = here
    folders = list(dict.fromkeys(map(_folder_of, items)))
    items.sort(key=lambda item: folders.index(_folder_of(item)))


def _folder_of(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


def _database_of(item: pytest.Item) -> str | None:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("database_url") if callspec else None


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> str:
    """Where an empty database is, once on SQLite and once on PostgreSQL."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:{request.getfixturevalue('sqlite_path')}"


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    database: Database
    if database_url.startswith("sqlite:"):
        database = SqliteDatabase(Path(database_url.removeprefix("sqlite:")))
    else:
        database = PostgresDatabase(database_url)
    yield database
    await database.close()
