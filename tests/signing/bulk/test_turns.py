"""Work by turns with requests, which ends on a busy server as well."""

import asyncio
from collections.abc import Iterator

import pytest

from deedbox.kernel import limits
from deedbox.kernel.in_flight import RequestsInFlight
from deedbox.signing import limits as signing_limits
from deedbox.signing.bulk import turns

STEPS = 1000
LONG = 60


@pytest.mark.anyio
async def test_where_requests_never_end_the_work_lets_them_go_first_for_so_long_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "LET_PASS_SECONDS", 0.2)
    monkeypatch.setattr(signing_limits, "BULK_TURN_SECONDS", -1)  # each step has a turn of its own
    monkeypatch.setattr(signing_limits, "BULK_WAIT_SECONDS", 0.1)
    under_way = RequestsInFlight()

    def steps() -> Iterator[int]:
        for number in range(STEPS):
            under_way.begin(number)
            yield number

    async with asyncio.timeout(LONG):  # a thousand waits would take more than three minutes
        assert await turns.take(steps(), under_way) == list(range(STEPS))
