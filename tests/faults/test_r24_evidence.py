"""R24: the evidence says what happened, no more."""

from pathlib import Path

import pytest

from deedbox.signing import sessions
from tests.api.signing.conftest import with_mail
from tests.conftest import HandClock
from tests.faults import FULL
from tests.faults.ways_in import FEW, WAYS, Scenario

pytestmark = pytest.mark.anyio


async def test_every_claim_has_its_row_by_each_way_in_and_for_each_act(database_url: str, tmp_path: Path) -> None:
    ways = WAYS if FULL or database_url.startswith("sqlite:") else FEW
    async with with_mail(database_url, tmp_path, HandClock()) as office:
        report = await Scenario(office).run(ways)
    print(f"R24 evidence on {database_url.partition(':')[0]}: {report}")
    assert report.faults == []
    acts = sum(3 if auth == "access_code" else 4 for _, auth in ways)
    assert (report.figures["acts"], report.figures["claims"] > 10 * len(ways)) == (acts, True)


async def test_the_rig_catches_one_identity_for_two_ways_in(
    sqlite_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sessions._BY_LINK, "embedded", "mailed_link")
    async with with_mail(f"sqlite:{sqlite_path}", tmp_path, HandClock()) as office:
        report = await Scenario(office).run(FEW)
    assert any("the API says mailed_link, the rows embedded_link" in fault for fault in report.faults)
    assert any("the certificate says" in fault for fault in report.faults)
