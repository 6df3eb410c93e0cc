"""R18: a full disk is survivable, the server's or PostgreSQL's: changes are refused, reads go on, nothing is lost."""

import asyncio
import shutil
from pathlib import Path

from tests.faults import FULL
from tests.faults.aftermath import Report
from tests.faults.installation import Installation
from tests.faults.outage import Scenario, load
from tests.faults.own_postgres import made, own_folder
from tests.faults.small_disk import SmallDisk, mounted, only_as_root

pytestmark = only_as_root
TIMES = 20 if FULL else 2
REFUSALS = 20
FAILURES = 3
MEGABYTES = 200
POSTGRES_MEGABYTES = 400


def test_the_servers_disk_runs_full_and_has_room_again_under_load(tmp_path: Path) -> None:
    report = filled(tmp_path, TIMES)
    print(f"R18 the server's disk full {TIMES} times under load: {report} ({load()})")
    assert report.faults == []
    assert report.figures["answers storage_full"] >= TIMES * REFUSALS


def test_the_disk_of_postgresql_runs_full_and_has_room_again_under_load(tmp_path: Path) -> None:
    """Its log of writes is elsewhere: without room for that, PostgreSQL ends."""
    with own_folder() as folder, mounted(folder / "disk", POSTGRES_MEGABYTES) as disk:
        shutil.chown(disk.folder, "postgres", "postgres")
        with made(disk.folder, folder / "log") as postgres:
            scenario = Scenario(Installation(tmp_path / "data", database_url=postgres.url))
            report = scenario.run(lambda scenario: _filled(scenario, disk, TIMES, counted=True))
    print(f"R18 PostgreSQL's disk full {TIMES} times under load: {report} ({load()})")
    assert report.faults == []
    assert report.figures["answers storage_full"] + report.figures.get("answers database_unavailable", 0) >= REFUSALS


def test_the_rig_catches_a_file_that_is_written_after_its_row(tmp_path: Path) -> None:
    """With the rows on another disk: on the same one SQLite refuses the row too."""

    async def full_for_a_while(scenario: Scenario) -> None:
        await asyncio.to_thread(disk.fill)
        await scenario.refused(FAILURES)
        await asyncio.to_thread(disk.empty)

    with own_folder() as folder, made(folder) as postgres, mounted(tmp_path / "disk", MEGABYTES) as disk:
        bug = "file written after its row"
        scenario = Scenario(Installation(disk.folder / "data", database_url=postgres.url, bug=bug))
        assert scenario.run(full_for_a_while).amiss("lost", "unsealed", "stuck", "failed") > 0


def filled(folder: Path, times: int) -> Report:
    with mounted(folder / "disk", MEGABYTES) as disk:
        return Scenario(Installation(disk.folder / "data")).run(lambda scenario: _filled(scenario, disk, times))


async def _filled(scenario: Scenario, disk: SmallDisk, times: int, *, counted: bool = False) -> None:
    """Fills the disk until changes are refused, looks whether reads go on, and gives the room back.

    Requests that are counted on that disk may be refused too, whatever they ask for."""
    for _ in range(times):
        await asyncio.to_thread(disk.fill)
        await scenario.refused(REFUSALS)
        listed = await scenario.listed()
        if not (counted and listed.headers.get("X-Service-Error-Code") == "storage_full"):
            assert (listed.status_code, bool(listed.json()["documents"])) == (200, True), listed.text
        assert "storage: storage_full" in (await scenario.ready()).text
        await asyncio.to_thread(disk.empty)
        await scenario.done(10)
