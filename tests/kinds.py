"""Which database and which store of files a test's installation has: nothing else in the tests decides it.

Usually rows are in SQLite and files in a folder, both in the data folder. In a run on PostgreSQL or S3 every data
folder has a database or a bucket of its own instead, whether a test opens it or a process that the test starts; it
lasts as long as the test, or as the fixture that serves more than one."""

import itertools
import os
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deedbox.kernel.blobs import Blobs
from deedbox.kernel.blobs.local import LocalBlobs
from deedbox.kernel.blobs.s3 import S3Blobs
from deedbox.kernel.s3.bucket import Bucket
from tests.postgres import TEMPLATE, Cluster

if TYPE_CHECKING:
    from tests.s3 import Store

USUAL = "sqlite"
DATABASE = os.environ.get("DATABASE") or USUAL
"""The kind of database that pages and API are tried on in this run."""
assert DATABASE in (USUAL, "postgres"), f"DATABASE is {DATABASE}, which is neither sqlite nor postgres"
BLOBS = os.environ.get("BLOBS") or "folder"
"""Where files are kept in this run."""
assert BLOBS in ("folder", "s3"), f"BLOBS is {BLOBS}, which is neither folder nor s3"
WHOLE = (DATABASE, BLOBS) == ("postgres", "s3")
"""Whether everything is tried on the other kinds, not only what the usual run has not tried on them."""

DATABASE_URL, BLOBS_URL = "DEEDBOX_DATABASE_URL", "DEEDBOX_BLOBS_URL"
BLANK = "template0"
"""What a database without a table is made from."""
_names = itertools.count()


class Kinds:
    """Where the rows and files of each data folder are, if not in it."""

    def __init__(self) -> None:
        self.cluster: Cluster | None = None
        self.store: Store | None = None
        self._rows_in_folder = self._files_in_folder = False
        self._urls: dict[Path, str] = {}
        self._buckets: dict[Path, Bucket] = {}
        self._lasting = ExitStack()

    def heed(self, test: pytest.Item) -> None:
        """What the marks of a test say goes for the fixtures that it is the first to need, too."""
        all_, files = (test.get_closest_marker(name) for name in ("all_in_folder", "files_in_folder"))
        for mark in filter(None, (all_, files)):
            assert mark.args, f"{test.name} does not say why it is {mark.name}"
        self._rows_in_folder = all_ is not None
        self._files_in_folder = bool(all_ or files)

    @contextmanager
    def for_one_test(self) -> Iterator[None]:
        """What is made meanwhile is gone afterwards."""
        before = self._urls, self._buckets, self._lasting
        self._urls, self._buckets = dict(self._urls), dict(self._buckets)
        try:
            with ExitStack() as self._lasting:
                yield
        finally:
            self._urls, self._buckets, self._lasting = before

    def close(self) -> None:
        self._lasting.close()

    def opened(self, data: Path, database_url: str) -> None:
        """Has the commands of this data folder find the database that a test has opened it on."""
        if not database_url.startswith("sqlite:"):
            self._urls[data] = database_url

    def share(self, data: Path, other: Path) -> None:
        """Has two data folders be of one installation, where its rows and files are in neither."""
        if url := self.url(data):
            self._urls[other] = url
        if bucket := self.bucket(data):
            self._buckets[other] = bucket

    def database_url(self, data: Path) -> str:
        """What `tests.api.conftest.opened` is told, if a test has no parameter for it."""
        return self.url(data) or "sqlite:"

    def environment(self, data: Path, given: Container[str] = ()) -> dict[str, str]:
        """What a process is told of rows and files of this data folder, beside what it is told already."""
        told: dict[str, str] = {}
        if DATABASE_URL not in given and (url := self.url(data)):
            told[DATABASE_URL] = url
        if BLOBS_URL not in given and self.store and (bucket := self.bucket(data)):
            told |= self.store.settings(bucket)
        return told

    def files(self, data: Path) -> dict[str, Any]:
        """The settings with which an installation that is opened here keeps its files."""
        bucket = self.bucket(data)
        return self.store.keywords(bucket) if self.store and bucket else {}

    def blobs(self, data: Path) -> Blobs:
        """The files of what is less than an installation."""
        bucket = self.bucket(data)
        return S3Blobs(bucket) if bucket else LocalBlobs(data / "blobs")

    def bucket(self, data: Path) -> Bucket | None:
        if data not in self._buckets and self.store and not self._files_in_folder:
            self._buckets[data] = self.store.bucket()
        return self._buckets.get(data)

    def stored(self, data: Path) -> list[str]:
        """The locations of the files of this data folder, those of unfinished uploads included."""
        if self.store and (bucket := self.bucket(data)):
            return sorted(self.store.names(bucket))
        blobs = data / "blobs"
        found = (path for path in blobs.rglob("*") if path.is_file() and path.name != ".hold")
        return sorted(str(path.relative_to(blobs)) for path in found)

    def damage(self, data: Path, location: str, content: bytes | None) -> None:
        """Puts something else in the place of a stored file, or nothing."""
        path = data / "blobs" / location
        if self.store and (bucket := self.bucket(data)):
            self.store.damage(bucket, location, content)
        elif content is None:
            path.unlink()
        else:
            path.write_bytes(content)

    def without_tables(self, data: Path) -> None:
        """The database of this data folder, which nobody has opened yet, is as an operator makes it."""
        self._make(data, BLANK)

    def url(self, data: Path) -> str | None:
        """Where PostgreSQL keeps the rows of this data folder; None if SQLite does, in it."""
        if data not in self._urls:
            self._make(data, TEMPLATE)
        return self._urls.get(data)

    def _make(self, data: Path, template: str) -> None:
        if self.cluster and not self._rows_in_folder:
            worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
            made = self.cluster.database(f"kept_{worker}_{next(_names)}", template)
            self._urls[data] = self._lasting.enter_context(made)


kinds = Kinds()
