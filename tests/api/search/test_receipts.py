"""POST /query?receipt=true: an answer that can be proven, and in which nothing can be another."""

import copy
import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from typing import Any

import pytest

from deedbox.cli import receipt as command
from deedbox.evidence import receipt
from deedbox.kernel import limits
from deedbox.pdf import limits as pdf_limits
from deedbox.pdf.verify.judge import Anchors
from deedbox.web import limits as web_limits
from tests.api.conftest import Key
from tests.api.search.conftest import Search
from tests.api.search.test_completed import SENTENCE, entry
from tests.api.signing.conftest import Office, signer

pytestmark = pytest.mark.anyio

LEASE = "The tenant pays the rent on the first day of each month.\n\nThe deposit is three months of rent – “1.500 €”."
ASKED = "/query?receipt=true"


async def proven(search: Search, path: str = ASKED, key: Key | None = None, **body: Any) -> dict[str, Any]:
    answer = await search.api.post(path, {"query": "deposit", **body}, **({"key": key} if key else {}))
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


async def verdict(search: Search, shown: dict[str, Any]) -> str:
    """By the root certificate alone."""
    roots = (await search.api.deedbox.certificates.trusted(None)).roots
    return command.judge_receipt(receipt.split(json.dumps(shown).encode()), Anchors(roots)).verdict


def statement(shown: dict[str, Any]) -> dict[str, Any]:
    middle = shown["receipt"].split(".")[1]
    told: dict[str, Any] = json.loads(urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
    return told


async def test_a_receipt_says_what_was_asked_and_answered_from_which_state(search: Search) -> None:
    lease = await search.indexed(LEASE, "lease.txt")
    shown = await proven(search, top_k=1, doc_ids=[lease], filter={"media_type": "text/plain"})
    assert await verdict(search, shown) == "authentic"
    told, [best] = statement(shown), shown["results"]
    assert (told["format"], told["query"], told["watermark"]) == ("deedbox-receipt/1", "deposit", 1)
    assert told["recipe"] == search.embedder.recipe
    compared = {"type": "compare", "field": "media_type", "op": "eq", "keys": [["text", "text/plain", None]]}
    condition = told["options"].pop("condition")
    assert told["options"] == {
        "top_k": 1, "mode": "hybrid", "doc_ids": [lease], "offset": 0, "by_document": False, "min_relevance": 0,
    }  # fmt: skip
    assert compared in condition["of"]
    [result] = told["results"]
    assert (result["rank"], result["chunk_id"], result["score"]) == (1, best["chunk_id"], best["score"])
    assert (result["file_sha256"], result["verification_code"]) == (best["metadata"]["sha256"], None)


async def test_the_body_asks_for_a_receipt_too_and_nobody_gets_one_unasked(search: Search) -> None:
    await search.indexed(LEASE)
    assert await verdict(search, await proven(search, "/query", receipt=True)) == "authentic"
    for shown in (await proven(search, "/query"), await proven(search, "/query?receipt=false", receipt=False)):
        assert list(shown) == ["query", "count", "elapsed_ms", "results"]
    bad = await search.api.post("/query?receipt=perhaps", {"query": "rent"})
    assert (bad.status_code, bad.json()["error"].startswith("receipt:")) == (400, True)


async def test_what_is_counted_of_the_present_has_no_receipt(search: Search) -> None:
    await search.indexed(LEASE)
    refused = await search.api.post("/query?receipt=true", {"query": "deposit", "facets": ["collection"]})
    assert (refused.status_code, refused.json()["error"].startswith("receipt:")) == (400, True)


async def test_an_answer_without_results_has_a_receipt_too(search: Search) -> None:
    await search.indexed(LEASE)
    shown = await proven(search, query="nothingofthekind", mode="keyword")
    assert (shown["count"], await verdict(search, shown)) == (0, "authentic")


def _changed(value: Any) -> Any:
    """The same with one character, digit or word changed."""
    if isinstance(value, bool) or value is None:
        return {True: False, False: None, None: True}[value]
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        digits = repr(value)
        at = next(at for at in reversed(range(len(digits))) if digits[at].isdigit())
        return float(f"{digits[:at]}{(int(digits[at]) + 5) % 10}{digits[at + 1 :]}")
    return value[:-1] + ("x" if value[-1:] != "x" else "y")


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every member and item."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in pairs:
        yield (*path, name)
        yield from _places(item, (*path, name))


def _changes(shown: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in _places(shown):
        for kind in ("changed", "gone", "twice"):
            other = copy.deepcopy(shown)
            place: Any = other
            for step in path[:-1]:
                place = place[step]
            last = path[-1]
            if kind == "gone":
                del place[last]
            elif kind == "twice" and isinstance(place, dict):
                place[f"{last}2"] = place[last]
            elif kind == "twice":
                place.insert(last, place[last])
            elif isinstance(place[last], (dict, list)):
                place[last] = [] if place[last] else [None]
            else:
                place[last] = _changed(place[last])
            yield f"{'.'.join(map(str, path))} {kind}", other


async def test_nothing_in_the_answer_can_be_another(search: Search) -> None:
    await search.indexed(LEASE, "lease.txt")
    await search.indexed("# Deposits\n\nA deposit is kept apart.", "deposits.md")
    shown = await proven(search, query="deposit of the rent")
    assert shown["count"] > 2
    tried = 0
    for what, other in _changes(shown):
        assert other != shown, what
        if not {"receipt", "receipt_timestamp"} <= set(other):
            continue  # then it is no answer with a receipt at all
        tried += 1
        assert await verdict(search, other) == "altered", what
    assert tried > 150
    swapped = {**shown, "results": [shown["results"][1], shown["results"][0], *shown["results"][2:]]}
    assert await verdict(search, swapped) == "altered"
    assert await verdict(search, shown) == "authentic"


async def test_what_was_changed_is_named(search: Search) -> None:
    await search.indexed(LEASE, "lease.txt")
    shown = await proven(search)
    roots = (await search.api.deedbox.certificates.trusted(None)).roots
    wanted = {
        ("query",): "The query is not the one that was signed.",
        ("results", 0, "text"): "Result 1: its text is not the one that was signed.",
        ("results", 0, "score"): "Result 1: its score is not the one that was signed.",
        ("results", 0, "metadata", "sha256"): "Result 1: its file is not the one that was signed.",
        ("results", 0, "metadata", "filename"): "The answer is not the one that was signed.",
    }
    for path, sentence in wanted.items():
        other = next(made for what, made in _changes(shown) if what == f"{'.'.join(map(str, path))} changed")
        report = command.judge_receipt(receipt.split(json.dumps(other).encode()), Anchors(roots))
        assert report.reasons == [sentence], path


async def test_the_receipt_of_another_answer_is_refused(search: Search) -> None:
    await search.indexed(LEASE)
    first, second = await proven(search), await proven(search, query="tenant")
    proof = {name: second[name] for name in ("receipt", "receipt_timestamp")}
    assert await verdict(search, {**first, **proof}) == "altered"


async def test_sealed_documents_are_told_with_their_codes_to_those_who_may_read_them(search: Search) -> None:
    document = await Office(search.api).sealed(title="Lease of the harbour", signers=[signer("ann")])
    record = await entry(search.api, document)
    content = (await search.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    answer = await search.api.call("POST", "/documents/upload", files={"file": ("copy.pdf", content)})
    copied = answer.json()["doc_id"]
    await search.indexed("A lease that nobody signed. The tenant pays no rent.", "note.txt")
    await search.index(copied)
    code = (await search.api.get(f"/api/v1/documents/{document['id']}")).json()["verification_code"]
    assert code
    shown = await proven(search, query=SENTENCE, top_k=50)
    codes = {one["metadata"]["doc_id"]: told["verification_code"] for one, told in _pairs(shown)}
    assert {codes.pop(record["doc_id"]), codes.pop(copied)} == {code}
    assert set(codes.values()) == {None}
    assert await verdict(search, shown) == "authentic"

    searcher = await search.api.make_key("search:query")
    shown = await proven(search, key=searcher, query=SENTENCE, top_k=50)
    assert copied in {one["metadata"]["doc_id"] for one, _ in _pairs(shown)}
    assert {told["verification_code"] for _, told in _pairs(shown)} == {None}


def _pairs(shown: dict[str, Any]) -> list[tuple[Any, Any]]:
    return list(zip(shown["results"], statement(shown)["results"], strict=True))


async def test_a_kept_answer_has_the_receipt_of_the_first(search: Search) -> None:
    await search.indexed(LEASE)
    headers = {"Idempotency-Key": "once"}
    first, again = [(await search.api.post(ASKED, {"query": "deposit"}, headers=headers)).json() for _ in range(2)]
    assert first == again
    assert await verdict(search, again) == "authentic"


async def test_each_workspace_signs_with_its_own_certificate(search: Search) -> None:
    await search.indexed(LEASE)
    elsewhere = await search.api.make_key(workspace=await search.api.add_workspace("Elsewhere"))
    await search.indexed(LEASE, key=elsewhere)
    names = []
    for key in (None, elsewhere):
        held = receipt.split(json.dumps(await proven(search, key=key)).encode())
        report = command.judge_receipt(held, Anchors((await search.api.deedbox.certificates.trusted(None)).roots))
        assert report.verdict == "authentic"
        names.append(report.signatures[0].signer)
    assert names[0] != names[1]
    assert names[1] == "Elsewhere document seal"


async def test_the_largest_question_has_a_receipt_of_bounded_size(search: Search) -> None:
    lines = "\n\n".join(f"Clause {number} speaks of rent." for number in range(limits.TOP_K_MAX))
    doc_id = await search.indexed(lines)
    others = [await search.upload(f"{number}") for number in range(3)]
    query = "rent " + "\U0001f3e0" * (limits.QUERY_CHARS - 5)
    shown = await proven(search, query=query, top_k=limits.TOP_K_MAX, doc_ids=[doc_id, *others], mode="keyword")
    assert shown["count"] == limits.TOP_K_MAX
    assert await verdict(search, shown) == "authentic"
    ids = len(json.dumps(["upl_" + "0" * 26] * web_limits.QUERY_DOC_IDS)) * 4 // 3
    assert len(shown["receipt"]) + ids < pdf_limits.RECEIPT_BYTES / 2
