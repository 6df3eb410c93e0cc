"""The store for files goes away under load: clear answers meanwhile, what needs no file goes on, nothing is lost."""

import asyncio
from pathlib import Path

from tests import s3
from tests.faults import FULL
from tests.faults.installation import Installation
from tests.faults.outage import Scenario, load
from tests.s3 import Store

REFUSALS = 20
AWAY_SECONDS = 60 if FULL else 0
"""For how long it is away at least; the small size waits for the refusals only."""


def test_the_store_for_files_goes_away_and_returns_under_load(tmp_path: Path, s3_store: Store) -> None:
    with s3.spoiling(s3_store) as (proxy, address):
        bucket = s3_store.bucket()

        async def away(scenario: Scenario) -> None:
            proxy.away = True
            await asyncio.sleep(AWAY_SECONDS)
            await scenario.refused(REFUSALS)
            assert (await scenario.listed()).status_code == 200
            assert "storage_unavailable" in (await scenario.ready()).text
            proxy.away = False

        installation = Installation(tmp_path / "data")
        installation.env |= s3_store.settings(bucket, address)
        report = Scenario(installation).run(away)
    print(f"The store for files away under load: {report} ({load()})")
    assert report.faults == []
    assert report.figures["answers storage_unavailable"] >= REFUSALS
