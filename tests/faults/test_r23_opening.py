"""R23: opening changes nothing; only a press does."""

from pathlib import Path

import pytest

from deedbox.web.signer import opening as opening_page
from tests.faults import opening

pytestmark = pytest.mark.anyio


async def test_a_scanner_that_follows_every_link_twenty_times_changes_nothing(
    database_url: str, tmp_path: Path
) -> None:
    async with opening.scenario(database_url, tmp_path) as scenario:
        report = await scenario.run()
    print(f"R23 opening on {database_url.partition(':')[0]}: {report}")
    assert report.faults == []
    assert report.figures["addresses"] > 25


async def test_the_rig_catches_a_get_that_exchanges_a_token(
    sqlite_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening.scenario(f"sqlite:{sqlite_path}", tmp_path) as scenario:
        monkeypatch.setattr(opening_page, "names_html", lambda _: False)
        report = await scenario.run()
    assert report.amiss("session")
    assert any("signer_sessions" in fault for fault in report.faults)
    assert any("audit" in fault for fault in report.faults)
