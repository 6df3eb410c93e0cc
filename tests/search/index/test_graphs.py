"""The memory in which PostgreSQL makes a graph: ours at least, its own setting if that is more."""

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from deedbox.search import limits
from deedbox.search.index import IndexChange
from deedbox.search.index.postgres.store import graphs
from tests.search.index.model import entry
from tests.search.index.on_postgres import postgres_indexes

DIMENSIONS, CHUNKS = 384, 2000


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    """Of a database with an index of so many chunks, whose graph takes more than two megabytes."""
    vectors = np.random.default_rng(7).standard_normal((CHUNKS, DIMENSIONS), np.float32)
    with postgres_indexes(postgres_url) as indexes:
        index = indexes.open(("wsp", "recipe"), DIMENSIONS)
        index.apply([IndexChange("upl_1", [entry(at, "lease", vector) for at, vector in enumerate(vectors)])], 1)
        yield postgres_url
        index.close()


@pytest.mark.parametrize(("theirs", "used", "warned"), [("64MB", "64MB", False), ("1MB", "2MB", True)])
def test_a_graph_is_made_in_the_greater_memory_and_too_little_is_told(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    theirs: str,
    used: str,
    warned: bool,
) -> None:
    monkeypatch.setattr(limits, "GRAPH_MEMORY_MB", 2)
    with psycopg.connect(
        make_conninfo(url, options=f"-c maintenance_work_mem={theirs}"), autocommit=True
    ) as connection:
        [index_id] = connection.execute("select id from search_indexes").fetchone() or ()
        graphs.make_graph(connection, index_id, DIMENSIONS)
        assert connection.execute("show maintenance_work_mem").fetchone() == (used,)
    assert any("too little memory" in record.message for record in caplog.records) == warned
