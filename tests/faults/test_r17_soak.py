"""R17: it does not rot. Everything at once at half load, and many starts and stops."""

from pathlib import Path

from tests.faults import FULL
from tests.faults.installation import Installation
from tests.faults.outage import load
from tests.faults.soak import slopes, soaked

SECONDS = 1800 if FULL else 60
STARTS = 50 if FULL else 5
LEAK_SECONDS = 20
MEMORY_MOST = 1.0 if FULL else 60.0
"""Megabytes a minute, beside what the index keeps of passages. In less than a minute caches and pools are still
filling; a leak is seen all the same."""
PASSAGE_MOST = 4 / 1024
"""Megabytes that the index keeps of each passage while they come one by one, whatever else is done."""
FEW_A_MINUTE = 0.5 if FULL else 30.0
"""Descriptors and threads: connections of clients come and go."""
DATABASE_MOST = 40.0
"""Megabytes of the database for each thousand requests."""


def test_everything_at_once_at_half_load_leaves_nothing_behind(tmp_path: Path, models_dir: Path) -> None:
    report, soak = soaked(_installation(tmp_path, models_dir), SECONDS)
    found, first, last = slopes(soak.samples), soak.samples[0], soak.samples[-1]
    print(f"R17 {SECONDS} s of everything at half load: {found} ({load()})")
    print(f"R17 from {first} to {last}; {dict(soak.count)}; {report}")
    assert report.faults == []
    assert min(soak.count[what] for what in ("uploads", "queries", "verifications", "events", "webhooks")) > 0
    assert found.memory - PASSAGE_MOST * found.passages < MEMORY_MOST
    assert max(found.descriptors, found.threads) < FEW_A_MINUTE
    assert found.database_per_thousand < DATABASE_MOST


def test_the_rig_catches_answers_that_are_never_forgotten(tmp_path: Path, models_dir: Path) -> None:
    _, soak = soaked(_installation(tmp_path, models_dir, bug="answers never forgotten"), LEAK_SECONDS)
    found = slopes(soak.samples)
    assert found.memory - PASSAGE_MOST * found.passages > MEMORY_MOST


def test_starts_and_stops_leave_nothing_behind(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "data")
    seen = set()
    for _ in range(STARTS):
        running = installation.start()
        assert running.client().get("/health").status_code in (200, 401)
        assert running.stop() == 0
        if running.process.stdout is not None:
            running.process.stdout.close()
        assert _processes_of(tmp_path) == []
        seen.add(frozenset(path.name for path in installation.data.iterdir()))
    print(f"R17 {STARTS} starts and stops: {len(seen)} kinds of data folder, no process left ({load()})")
    assert len(seen) == 1


def _installation(folder: Path, models: Path, bug: str | None = None) -> Installation:
    made = Installation(folder / "data", bug=bug)
    made.env |= {"DEEDBOX_MODELS_DIR": str(models), "DEEDBOX_EGRESS_ALLOW": "127.0.0.0/8"}
    return made


def _processes_of(folder: Path) -> list[str]:
    """The commands of processes that work on a data folder below this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in words and b"pytest" not in words:
            found.append(words.decode(errors="replace"))
    return found
