"""Filters of a query: trees of comparisons over a document's fields and metadata; and its collections."""

import json
from typing import Any

import pytest

from deedbox.web import limits
from tests.api.answers import faults
from tests.api.search.conftest import Search

pytestmark = pytest.mark.anyio

FILED: dict[str, tuple[str, dict[str, Any]]] = {
    "old": ("leases", {"year": 2019, "open": False, "until": "2021-05-01"}),
    "new": ("leases", {"year": 2026, "open": True, "until": "2031-05-01T00:00:00+02:00"}),
    "text": ("drafts", {"year": "2026", "open": "true"}),
    "none": ("default", {}),
}


@pytest.fixture
async def shelf(search: Search) -> Search:
    for name, (collection, metadata) in FILED.items():
        filed = {"collection": collection, "metadata": json.dumps(metadata)}
        await search.upload("The tenant pays the rent.", f"{name}.txt", data=filed)
    await search.index()
    return search


async def names(search: Search, **body: Any) -> set[str]:
    """The documents that answer, by what they are called in FILED."""
    results = await search.ask("rent", top_k=100, **body)
    return {result["metadata"]["filename"].removesuffix(".txt") for result in results}


def leaf(field: str, op: str, *value: Any) -> dict[str, Any]:
    return {"field": field, "op": op, **({"value": value[0]} if value else {})}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (leaf("metadata.year", "eq", 2026), {"new"}),
        (leaf("metadata.year", "eq", "2026"), {"text"}),
        (leaf("metadata.year", "ne", 2026), {"old", "text", "none"}),
        (leaf("metadata.year", "in", [2019, "2026", True]), {"old", "text"}),
        (leaf("metadata.year", "gt", 2019), {"new"}),
        (leaf("metadata.year", "gte", 2019), {"old", "new"}),
        (leaf("metadata.year", "lt", 2026.5), {"old", "new"}),
        (leaf("metadata.year", "lte", 2019), {"old"}),
        (leaf("metadata.year", "exists"), {"old", "new", "text"}),
        (leaf("metadata.year", "exists", False), {"none"}),
        (leaf("metadata.open", "eq", True), {"new"}),
        (leaf("metadata.until", "lt", "2031-05-01"), {"old", "new"}),
        (leaf("metadata.until", "lt", "2031-04-30T22:00:00Z"), {"old"}),
        (leaf("filename", "in", ["old.txt", "new.txt"]), {"old", "new"}),
        (leaf("filename", "lt", "old.txt"), {"new", "none"}),
        (leaf("collection", "eq", "drafts"), {"text"}),
        (leaf("status", "ne", "indexed"), set()),
        (leaf("created_at", "gte", "2001-01-01"), set(FILED)),
        (leaf("signed", "eq", True), set()),
        (leaf("source", "eq", "upload"), set(FILED)),
        (leaf("signer", "ne", "nobody@example.com"), set(FILED)),
        ({"and": [leaf("metadata.year", "gt", 2000), leaf("metadata.open", "eq", False)]}, {"old"}),
        ({"or": [leaf("metadata.year", "eq", 2019), leaf("collection", "eq", "default")]}, {"old", "none"}),
        ({"not": {"or": [leaf("collection", "eq", "leases"), leaf("metadata.open", "exists")]}}, {"none"}),
        ({"filename": "old.txt", "not": leaf("metadata.year", "eq", 2019)}, set()),
        ({"not": {}}, set()),
        ({}, set(FILED)),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
async def test_a_filter_lets_through_what_it_describes(
    shelf: Search, wanted: dict[str, Any], expected: set[str]
) -> None:
    assert await names(shelf, filter=wanted) == expected


async def test_a_query_can_be_kept_to_collections(shelf: Search) -> None:
    assert await names(shelf, collections=["leases"]) == {"old", "new"}
    assert await names(shelf, collections=["leases", "default"]) == {"old", "new", "none"}
    assert await names(shelf, collections=["none such"]) == set()
    assert await names(shelf, collections=["leases"], filter=leaf("metadata.open", "eq", True)) == {"new"}


async def test_a_document_that_is_filed_otherwise_is_found_so_at_once(shelf: Search) -> None:
    [old] = await shelf.ask("rent", filter={"filename": "old.txt"})
    change = {"collection": "drafts", "metadata": {"year": 2030}}
    await shelf.api.call("PATCH", f"/documents/{old['metadata']['doc_id']}", json=change)
    assert await names(shelf, collections=["drafts"]) == {"text", "old"}
    assert await names(shelf, filter=leaf("metadata.year", "gt", 2026)) == {"old"}


def nested(levels: int) -> dict[str, Any]:
    return {"not": nested(levels - 1)} if levels else {}


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (leaf("colour", "eq", "red"), "there is no field 'colour'. Fields: filename, "),
        (leaf("metadata.", "eq", "red"), "there is no field"),
        (leaf("metadata.year", "like", "red"), "filter.op: must be one of"),
        (leaf("metadata.year", "eq"), "Send `value` with every `op` but `exists`"),
        (leaf("metadata.year", "eq", [1]), "eq takes one value"),
        (leaf("metadata.year", "eq", None), "filter.value"),
        (leaf("metadata.year", "eq", {}), "filter.value"),
        (leaf("metadata.year", "in", 1), "in takes a list"),
        (leaf("metadata.year", "in", []), "filter.value: must not be empty"),
        (leaf("metadata.year", "in", [1] * (limits.COMPARED_VALUES + 1)), "filter.value: at most 100 entries"),
        (leaf("metadata.year", "exists", "yes"), "exists takes true or false"),
        (leaf("metadata.year", "gt", True), "true and false have no order"),
        (leaf("filename", "eq", 1), "filename is compared with a text"),
        (leaf("created_at", "gt", "yesterday"), "created_at is compared with a date"),
        (leaf("signed", "eq", "yes"), "signed is compared with true or false"),
        (leaf("signer", "gt", "a"), "eq, ne and in only"),
        ({"op": "eq", "value": 1}, "Send `field` and `op` together"),
        ({"value": 1}, "Send `field` and `op` together"),
        ({"and": []}, "filter.and: must not be empty"),
        ({"or": [{"colour": 1}]}, "there is no such field"),
        (nested(limits.FILTER_DEPTH), "nested deeper than 8 levels"),
        ({"and": [{}] * limits.FILTER_PARTS}, "more than 50 parts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_cannot_be_compared_is_refused_with_the_reason(
    search: Search, wanted: dict[str, Any], reason: str
) -> None:
    answer = await search.api.post("/query", {"query": "rent", "filter": wanted})
    assert faults("/query", answer, 400) == []
    assert reason in answer.json()["error"]


async def test_the_largest_filter_is_answered(shelf: Search) -> None:
    values = [f"{number}" * 100 for number in range(limits.COMPARED_VALUES - 1)]
    parts = [leaf("metadata.year", "in", [*values, 2026])] * (limits.FILTER_PARTS - limits.FILTER_DEPTH + 1)
    wanted: dict[str, Any] = {"and": parts}
    for _ in range(limits.FILTER_DEPTH - 2):
        wanted = {"or": [wanted]}
    assert await names(shelf, filter=wanted) == {"new"}
