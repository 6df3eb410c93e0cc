"""Reminders and expiry keep their promises for ninety days, whoever acts and however often the server is off."""

from datetime import datetime
from pathlib import Path

import pytest

from deedbox.signing.actions import remind
from tests.api.conftest import opened
from tests.conftest import HandClock
from tests.faults import FULL
from tests.faults.reminders import Scenario

pytestmark = pytest.mark.anyio

DOCUMENTS, SEED = (1000 if FULL else 60), 20260301


async def test_no_reminder_too_many_none_at_night_none_after_the_end(database_url: str, tmp_path: Path) -> None:
    async with opened(database_url, tmp_path, HandClock()) as api:
        await api.settle()
        report = await Scenario(api, DOCUMENTS, SEED).run()
    print(f"reminders on {database_url.partition(':')[0]}: {report}")
    assert report.faults == []
    assert report.figures["reminders"] > 2 * DOCUMENTS
    assert all(report.figures.values()), "each of these has happened"


async def test_the_rig_sees_reminders_at_night(
    sqlite_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_any_time(at: datetime, zone: str | None) -> datetime:
        return at

    monkeypatch.setattr(remind, "by_day", at_any_time)
    async with opened(f"sqlite:{sqlite_path}", tmp_path, HandClock()) as api:
        await api.settle()
        report = await Scenario(api, 20, SEED).run()
    assert any(fault.startswith("at night") for fault in report.faults)
