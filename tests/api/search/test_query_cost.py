"""How many transactions and statements a query takes, on each database and with each kind of index."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import log
from deedbox.kernel.db import Tx
from tests.api.search.conftest import Search, searching
from tests.conftest import HandClock
from tests.search.index.on_postgres import need_pgvector

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]
DOCUMENTS, CLAUSES = 12, 25
HYBRID = {"query": "rent of the tenant in clause 7", "mode": "hybrid", "top_k": 10}
FILTER = {"filter": {"field": "metadata.year", "op": "gte", "value": 2020}}
FACETS = {"facets": ["collection", "metadata.year", "media_type"]}
COLLECTIONS = {"collections": ["c1"]}


def most(sqlite: int, postgres: int, indexed: int, more: int = 0) -> dict[str, tuple[int, int]]:
    """Transactions, which are always the same, but for some more; and statements."""
    return {
        "sqlite": (4 + more, sqlite),
        "postgres": (5 + more, postgres),
        "index in PostgreSQL": (6 + more, indexed),
    }


LIMITS: dict[str, tuple[dict[str, Any], bool, dict[str, tuple[int, int]]]] = {
    "hybrid": (HYBRID, False, most(4, 6, 13)),
    "keyword": (HYBRID | {"mode": "keyword"}, False, most(4, 6, 12)),
    "semantic": (HYBRID | {"mode": "semantic"}, False, most(4, 6, 9)),
    "filter": (HYBRID | FILTER, False, most(5, 7, 15)),
    "collections": (HYBRID | COLLECTIONS, False, most(5, 7, 15)),
    "facets": (HYBRID | FACETS, False, most(6, 8, 17)),
    "facets of all": (HYBRID | FACETS | {"facets_scope": "all"}, False, most(5, 7, 14)),
    "facets of phrases": (HYBRID | FACETS | {"query": '"tenant pays" rent'}, False, most(11, 13, 19, more=1)),
    "everything": (HYBRID | FACETS | FILTER | COLLECTIONS, False, most(7, 9, 17)),
    "limited key": (HYBRID, True, most(5, 7, 16)),
    "limited key and filter": (HYBRID | FILTER, True, most(5, 7, 16)),
}
"""What is asked, whether by a key that is limited to a collection, and the most transactions and statements by place.
Two transactions are of the guard on PostgreSQL, for the key and its rate limit, and one on SQLite. The others: where to
search, the count of queries, the search itself if the index is in PostgreSQL, and the passages with their facets."""


def clauses(number: int) -> str:
    things = ("rent", "deposit", "heating", "garden", "lease")
    return "\n\n".join(
        f"Clause {at} of contract {number}: the tenant pays the {things[(number + at) % 5]} in month {at % 12}."
        for at in range(CLAUSES)
    )


@pytest.fixture(params=["local", "postgres"])
async def library(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path, clock: HandClock
) -> AsyncIterator[Search]:
    """Some hundred chunks in two collections."""
    if request.param == "postgres":
        if database_url.startswith("sqlite:"):
            pytest.skip("an index in PostgreSQL lies beside its rows")
        need_pgvector(database_url)
    async with searching(database_url, tmp_path, clock, index=request.param) as made:
        for number in range(DOCUMENTS):
            data = {"collection": f"c{number % 2}", "metadata": f'{{"year": {2015 + number}}}'}
            await made.upload(clauses(number), f"{number}.txt", data=data)
        assert (await made.index())["status"] == "success"
        yield made


class Cost:
    """The transactions of requests, each as the statements in it."""

    def __init__(self, search: Search, patch: pytest.MonkeyPatch) -> None:
        self.transactions: list[list[str]] = []
        self.repeated: list[str] = []
        """Statements that a transaction has run before with the same values."""
        self._patch = patch
        database = search.api.deedbox.db
        more = ["read_here", "write_here"] if database.dialect == "postgres" else ["read_aside"]
        for name in ("read", "write", *more):
            patch.setattr(database, name, self._counted(getattr(database, name)))

    @property
    def statements(self) -> int:
        return sum(map(len, self.transactions))

    def __str__(self) -> str:
        return "\n".join("\n  ".join(("transaction", *one)) for one in self.transactions)

    def _counted(self, usual: Callable[..., Any]) -> Callable[..., Any]:
        def transact(act: Callable[[Tx], Any], **given: Any) -> Any:
            if not log.request_id.get():  # work in the background
                return usual(act, **given)
            said, before = list[str](), set[tuple[str, str]]()
            self.transactions.append(said)

            def observed(tx: Tx) -> Any:
                for name in ("one", "all", "all_raw", "run", "many", "later"):
                    self._patch.setattr(tx, name, self._noted(said, before, getattr(tx, name)))
                return act(tx)

            return usual(observed, **given)

        return transact

    def _noted(self, said: list[str], before: set[tuple[str, str]], usual: Callable[..., Any]) -> Callable[..., Any]:
        def run(sql: str, /, *given: Any, **named: Any) -> Any:
            said.append(" ".join(sql.split()))
            if (this := (sql, repr((given, named)))) in before:
                self.repeated.append(said[-1])
            before.add(this)
            return usual(sql, *given, **named)

        return run


@pytest.mark.parametrize("kind", LIMITS)
async def test_query_takes_few_transactions_and_statements(
    library: Search, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, limited, most = LIMITS[kind]
    key = await library.api.make_key(collections=["c1"]) if limited else library.api.key
    warm = await library.api.post("/query", body, key=key)
    with monkeypatch.context() as patch:
        cost = Cost(library, patch)
        answer = await library.api.post("/query", body, key=key)
    assert answer.json()["results"] == warm.json()["results"] != []
    database, index = library.api.deedbox.db.dialect, library.api.deedbox.settings.index
    place = "index in PostgreSQL" if index == "postgres" else database
    transactions, statements = most[place]
    assert len(cost.transactions) <= transactions, str(cost)
    assert cost.statements <= statements, str(cost)
    assert [] not in cost.transactions, str(cost)
    assert not cost.repeated, str(cost)


async def test_facets_leave_the_answer_as_it_is_and_count_every_hit(library: Search) -> None:
    plain = (await library.api.post("/query", HYBRID)).json()
    counted = (await library.api.post("/query", HYBRID | FACETS)).json()
    assert counted["results"] == plain["results"]
    # The passages are of fewer documents than the hits that a page further down would show.
    assert counted["facets"]["collection"] == [{"value": "c0", "documents": 6}, {"value": "c1", "documents": 6}]
    assert len({one["metadata"]["doc_id"] for one in plain["results"]}) < DOCUMENTS


async def test_moving_a_document_takes_effect_at_the_next_query(library: Search) -> None:
    key = await library.api.make_key(collections=["c1"])
    body = HYBRID | {"top_k": 1, "facets": ["collection"]}
    first = (await library.api.post("/query", body, key=key)).json()
    assert first["facets"] == {"collection": [{"value": "c1", "documents": 6}]}
    best = first["results"][0]["metadata"]["doc_id"]
    moved = await library.api.call("PATCH", f"/documents/{best}", json={"collection": "c0"})
    assert moved.status_code == 200
    second = (await library.api.post("/query", body, key=key)).json()
    assert second["facets"] == {"collection": [{"value": "c1", "documents": 5}]}
    assert second["results"][0]["metadata"]["doc_id"] != best
    refused = await library.api.post("/query", body | {"doc_ids": [best]}, key=key)
    assert refused.status_code == 404
