"""R18: a full disk is survivable, the server's or PostgreSQL's: changes are refused, reads go on, nothing is lost."""

import asyncio
import shutil
from pathlib import Path

from tests.rigs import FULL
from tests.rigs.aftermath import Report
from tests.rigs.installation import Installation
from tests.rigs.outage import Rig, load
from tests.rigs.own_postgres import made, own_folder
from tests.rigs.small_disk import SmallDisk, mounted, only_as_root

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
            rig = Rig(Installation(tmp_path / "data", database_url=postgres.url))
            report = rig.run(lambda rig: _filled(rig, disk, TIMES, counted=True))
    print(f"R18 PostgreSQL's disk full {TIMES} times under load: {report} ({load()})")
    assert report.faults == []
    assert report.figures["answers storage_full"] + report.figures.get("answers database_unavailable", 0) >= REFUSALS


def test_the_rig_catches_a_file_that_is_written_after_its_row(tmp_path: Path) -> None:
    """With the rows on another disk: on the same one SQLite refuses the row too."""

    async def full_for_a_while(rig: Rig) -> None:
        await asyncio.to_thread(disk.fill)
        await rig.refused(FAILURES)
        await asyncio.to_thread(disk.empty)

    with own_folder() as folder, made(folder) as postgres, mounted(tmp_path / "disk", MEGABYTES) as disk:
        bug = "file written after its row"
        rig = Rig(Installation(disk.folder / "data", database_url=postgres.url, bug=bug))
        assert rig.run(full_for_a_while).amiss("lost", "unsealed", "stuck", "failed") > 0


def filled(folder: Path, times: int) -> Report:
    with mounted(folder / "disk", MEGABYTES) as disk:
        return Rig(Installation(disk.folder / "data")).run(lambda rig: _filled(rig, disk, times))


async def _filled(rig: Rig, disk: SmallDisk, times: int, *, counted: bool = False) -> None:
    """Fills the disk until changes are refused, looks whether reads go on, and gives the room back.

    Requests that are counted on that disk may be refused too, whatever they ask for."""
    for _ in range(times):
        await asyncio.to_thread(disk.fill)
        await rig.refused(REFUSALS)
        listed = await rig.listed()
        if not (counted and listed.headers.get("X-Service-Error-Code") == "storage_full"):
            assert (listed.status_code, bool(listed.json()["documents"])) == (200, True), listed.text
        assert "storage: storage_full" in (await rig.ready()).text
        await asyncio.to_thread(disk.empty)
        await rig.done(10)
