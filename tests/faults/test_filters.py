"""A filter lets through what brute force says, whatever the database and wherever the index is."""

import json
from pathlib import Path

import pytest

from deedbox.kernel import limits
from deedbox.search.indexing.embedders import Embedders
from tests.api.conftest import opened
from tests.api.search.conftest import Search
from tests.conftest import HandClock
from tests.faults import FULL
from tests.search.filter_cases import Cases, Record, let_through
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio

CASES = 10_000 if FULL else 150
DOCUMENTS = 40
UNINDEXED = 4
MODES = ("keyword", "semantic", "hybrid")


@pytest.mark.both_databases
async def test_answers_are_those_of_brute_force(database_url: str, tmp_path: Path, clock: HandClock) -> None:
    await _compared(database_url, "local", tmp_path, clock)


async def test_answers_of_an_index_in_postgresql_are_those_of_brute_force(
    postgres_url: str, tmp_path: Path, clock: HandClock
) -> None:
    await _compared(postgres_url, "postgres", tmp_path, clock)


async def _compared(database_url: str, index: str, folder: Path, clock: HandClock) -> None:
    cases = Cases(seed=18)
    async with opened(database_url, folder, clock, index=index) as api:
        await api.settle()
        # The clock stands still.
        api.key = await api.make_key(per_minute=limits.RATE_PER_MINUTE_MAX, per_day=limits.RATE_PER_DAY_MAX)
        search = Search(api, HashingEmbedder())
        api.deedbox.search.embedders = Embedders(lambda: search.embedder, lambda _: None)
        await api.deedbox.start()
        try:
            records = await _library(search, cases, clock)
            found, hits = 0, 0
            for number in range(CASES):
                wanted = cases.filter(records)
                answered = {record["doc_id"] for record in records if record["chunks"]}
                expected = let_through(wanted, records) & answered
                body = {"mode": MODES[number % 3], "top_k": limits.TOP_K_MAX, "filter": wanted}
                results = await search.ask("rent", **body)
                assert {each["metadata"]["doc_id"] for each in results} == expected, (number, json.dumps(wanted))
                found, hits = found + bool(expected), hits + len(expected)
            print(f"{CASES} filters over {DOCUMENTS} documents, {index} index, {found} not empty, {hits} hits")
            assert found > CASES // 4, "most filters let nothing through, and show nothing"
            assert hits < found * (DOCUMENTS - UNINDEXED), "no filter keeps anything out"
        finally:
            await api.deedbox.stop()


async def _library(search: Search, cases: Cases, clock: HandClock) -> list[Record]:
    """Documents of many kinds, all but a few of them indexed."""
    ids = []
    for number in range(DOCUMENTS):
        collection, metadata = cases.filing()
        name = f"{number % 7}.{'md' if number % 3 else 'txt'}"
        filed = {"collection": collection, "metadata": json.dumps(metadata)}
        ids.append(await search.upload(f"The rent of house {number}.", name, data=filed))
        clock.forward(1800)
    await search.index(*ids[UNINDEXED:])
    return [await search.record(each) for each in ids]
