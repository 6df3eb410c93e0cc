"""The audit trail as a hash chain."""

import hashlib
import random
from typing import Any

import pytest
from msgspec.structs import replace

from deedbox.evidence import chain
from deedbox.evidence.canonical import canonical
from deedbox.evidence.chain import TrailEntry, check, genesis, next_entry
from deedbox.kernel.clock import Instant

DOCUMENT = "doc_01JD0000000000000000000001"


def trail(rows: int = 6) -> list[TrailEntry]:
    entries: list[TrailEntry] = []
    before = genesis(DOCUMENT)
    for number in range(1, rows + 1):
        at = Instant(f"2026-03-01T12:00:{number:02}Z")
        entries.append(next_entry(before, number, at, "signer.viewed", "sgn_1", {"page": number, "name": "Zoë"}))
        before = entries[-1].hash
    return entries


def test_a_trail_as_it_was_written_is_whole() -> None:
    entries = trail()
    assert check(DOCUMENT, entries) is None
    assert check(DOCUMENT, entries, entries[-1].hash) is None
    assert check(DOCUMENT, []) is None


def test_the_hash_is_the_one_that_the_description_gives() -> None:
    row = '{"act":"sent","actor":"key_1","at":"2026-03-01T12:00:00Z","detail":{"to":"Zoë \\"Z\\""},"number":1}'.encode()
    before = hashlib.sha256(DOCUMENT.encode()).digest()
    entry = next_entry(before.hex(), 1, Instant("2026-03-01T12:00:00Z"), "sent", "key_1", {"to": 'Zoë "Z"'})
    assert entry.hash == hashlib.sha256(before + row).hexdigest()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("at", "2026-03-01T12:00:59Z"), ("act", "signer.signed"), ("actor", "sgn_2"), ("detail", {"page": 4}),
        ("number", 9), ("previous", "00" * 32), ("hash", "00" * 32), ("detail", {"page": 1.5}), ("hash", "é"),
    ],
)  # fmt: skip
def test_an_edited_row_is_seen(field: str, value: Any) -> None:
    entries = trail()
    entries[2] = replace(entries[2], **{field: value})
    assert check(DOCUMENT, entries, trail()[-1].hash) == 3


def test_a_row_that_is_edited_and_hashed_anew_is_seen_at_the_next() -> None:
    entries = trail()
    old = entries[2]
    entries[2] = next_entry(old.previous, old.number, old.at, "signer.declined", old.actor, old.detail)
    assert check(DOCUMENT, entries) == 4


def test_a_dropped_row_is_seen() -> None:
    for number in range(1, 6):
        entries = trail()
        del entries[number - 1]
        assert check(DOCUMENT, entries) == number


def test_rows_in_another_order_are_seen() -> None:
    chance = random.Random(7)
    for _ in range(50):
        entries = trail()
        chance.shuffle(entries)
        expected = next((place for place, row in enumerate(entries, 1) if row.number != place), None)
        assert check(DOCUMENT, entries) == expected


def test_an_inserted_row_is_seen() -> None:
    entries = trail()
    entries.insert(3, next_entry(entries[2].hash, 4, entries[2].at, "signer.signed", "sgn_9", {}))
    assert check(DOCUMENT, entries) == 5


def test_a_tail_that_was_cut_off_is_seen_when_the_head_is_known() -> None:
    entries = trail()
    assert check(DOCUMENT, entries[:4]) is None
    assert check(DOCUMENT, entries[:4], entries[-1].hash) == 5
    assert check(DOCUMENT, [], entries[-1].hash) == 1


def test_the_trail_of_another_document_is_not_this_ones() -> None:
    assert check("doc_01JD0000000000000000000002", trail()) == 1


def test_what_has_no_canonical_form_is_refused() -> None:
    for value in (1.0, float("nan"), 2**53, b"x", {1: 2}, "\ud800", object()):
        with pytest.raises(ValueError):
            chain.next_entry(genesis(DOCUMENT), 1, Instant("2026-03-01T12:00:00Z"), "sent", "key_1", {"value": value})


def test_canonical_json_is_written_in_one_way() -> None:
    value = {"b": [1, True, None, -5], "a": {"é": "\x01\n\x7f/\\", "Z": ""}, "\U0001f600": 0, "\uffff": 1}
    text = '{"a":{"Z":"","é":"\\u0001\\n\x7f/\\\\"},"b":[1,true,null,-5],"\uffff":1,"\U0001f600":0}'
    assert canonical(value) == text.encode()
