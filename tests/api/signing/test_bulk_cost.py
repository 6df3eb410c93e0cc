"""What a row of a bulk send costs: few statements, however the bench counts them."""

from pathlib import Path

import pytest
from bench import bulk
from bench.lifecycle import Place

from deedbox.signing import limits
from tests.api.conftest import opened
from tests.api.signing.conftest import Office
from tests.api.signing.test_bulk import template
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio
MOST = 23
"""Statements a slice of rows, however many rows it has. Claims of jobs look at one priority each (decision 0101)."""


async def test_a_slice_of_rows_takes_as_few_statements_as_one_row_and_the_bench_can_tell(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    url = None if database_url.startswith("sqlite:") else database_url
    async with opened(database_url, tmp_path, clock) as api:
        await api.settle()
        template_id = await template(Office(api))
    place = Place(tmp_path, url)
    rows = limits.BULK_SLICE_ROWS_POSTGRES if url else limits.BULK_SLICE_ROWS
    assert await bulk.count_statements(place, template_id) * rows < MOST
    if url is None:
        assert await bulk.bare(place, Place(tmp_path / "beside", None)) > 0
