"""Ids are typed, sortable and recognised; times are written one way."""

import os
from datetime import UTC, datetime, timedelta, timezone

import pytest

from deedbox.kernel.clock import SystemClock, instant, moment, stopwatch
from deedbox.kernel.ids import is_id, new_id

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def test_an_id_is_a_prefix_and_26_characters() -> None:
    made = new_id("doc", NOW)
    assert made.startswith("doc_")
    assert len(made) == 4 + 26
    assert is_id(made, "doc")
    assert not is_id(made, "key")


def test_the_same_time_and_bytes_give_the_same_id() -> None:
    assert new_id("doc", NOW, bytes) == "doc_01KJMMA2G00000000000000000"
    assert new_id("doc", NOW, lambda n: b"\xff" * n) == "doc_01KJMMA2G0ZZZZZZZZZZZZZZZZ"


def test_ids_made_a_millisecond_apart_sort_by_time() -> None:
    moments = [NOW + timedelta(milliseconds=n) for n in range(2000)]
    ids = [new_id("doc", at) for at in moments]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_ids_of_one_millisecond_differ() -> None:
    assert len({new_id("doc", NOW) for _ in range(10_000)}) == 10_000


def test_80_random_bits_are_asked_for() -> None:
    asked: list[int] = []

    def entropy(count: int) -> bytes:
        asked.append(count)
        return os.urandom(count)

    new_id("doc", NOW, entropy)
    assert asked == [10]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "doc_",
        "doc_01KJMMA2G00000000000000000\n",
        "doc_01KJMMA2G0000000000000000",
        "doc_01KJMMA2G000000000000000000",
        "doc_81KJMQK6000000000000000000",
        "doc_01kjmqk6000000000000000000",
        "doc_01KJMMA2G0000000000000000U",
        "doc_01KJMMA2G0000000000000000I",
        "DOC_01KJMMA2G00000000000000000",
        "doc_01KJMMA2G000000000000000/0",
        "doc_٠1KJMQK6000000000000000000",
    ],
)
def test_what_only_looks_like_an_id_is_none(text: str) -> None:
    assert not is_id(text, "doc")


def test_a_time_is_written_in_utc_whatever_its_zone() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert instant(there) == instant(NOW) == "2026-03-01T12:00:00Z"
    assert moment(instant(NOW)) == NOW


def test_fractions_of_a_second_are_cut_off() -> None:
    assert instant(NOW + timedelta(microseconds=999_999)) == "2026-03-01T12:00:00Z"


def test_text_order_is_time_order_also_for_old_times() -> None:
    times = [datetime(year, 1, 1, tzinfo=UTC) for year in (1, 999, 1000, 2026, 9999)]
    written = [instant(at) for at in times]
    assert written == sorted(written)
    assert {len(text) for text in written} == {20}


def test_the_system_s_clock_knows_its_zone_and_the_stopwatch_goes_forward() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)
    first = stopwatch()
    assert stopwatch() >= first
