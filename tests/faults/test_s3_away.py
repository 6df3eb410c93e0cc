"""The store for files goes away under load: clear answers meanwhile, what needs no file goes on, nothing is lost."""

import asyncio
from pathlib import Path

from tests import s3
from tests.faults import FULL
from tests.faults.installation import Installation
from tests.faults.outage import Fault test, load
from tests.s3 import Store

REFUSALS = 20
AWAY_SECONDS = 60 if FULL else 0
"""For how long it is away at least; the small size waits for the refusals only."""


def test_the_store_for_files_goes_away_and_returns_under_load(tmp_path: Path, s3_store: Store) -> None:
    with s3.spoiling(s3_store) as (proxy, address):
        bucket = s3_store.bucket()

        async def away(fault test: Fault test) -> None:
            proxy.away = True
            await asyncio.sleep(AWAY_SECONDS)
            await fault test.refused(REFUSALS)
            assert (await fault test.listed()).status_code == 200
            assert "storage_unavailable" in (await fault test.ready()).text
            proxy.away = False

        installation = Installation(tmp_path / "data")
        installation.env |= s3_store.settings(bucket, address)
        report = Fault test(installation).run(away)
    print(f"The store for files away under load: {report} ({load()})")
    assert report.faults == []
    assert report.figures["answers storage_unavailable"] >= REFUSALS
