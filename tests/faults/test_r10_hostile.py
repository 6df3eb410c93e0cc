"""R10: no file can hurt the server. Mutants of real files and hand-made bombs, through a real server's upload route.

Before them and while they are uploaded, another client asks for ordinary things: how long it waits then and now is
printed. The full run has 2,000 files.
"""

import asyncio
import json
import statistics
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from msgspec import Struct, field

from deedbox.kernel.clock import stopwatch
from tests import server
from tests.faults import FULL
from tests.faults.faulty_server import VARIABLE
from tests.faults.hostile import CRASHER, STALLER, Hostile, files, handmade

pytestmark = pytest.mark.anyio

FILES = 10_000 if FULL else 90
SEED = 10
ROOT = Path(__file__).parents[2]
ANSWER_SECONDS = 10
PATIENCE_SECONDS = 60
"""After this a request counts as never answered. The promise is ANSWER_SECONDS; a busy machine is no broken promise."""
BUSY_SECONDS = 240
"""For so long a file is sent again that the machine was too busy to read."""
SENDERS = 2
"""As many as the server has sandboxes, so that no file waits for another."""
QUIET_SECONDS = 15 if FULL else 2
"""For how long the ordinary requests have the server to themselves, to compare with."""
ORDINARY = ("/health", "/documents/upl_00000000000000000000000000", "/api/v1/documents")
BUGGY_PATIENCE_SECONDS = 3
IN_THE_SERVER = "parse in the server process"


class Score(Struct):
    """What one run of the fault test saw."""

    seconds: list[float] = field(default_factory=list)
    accepted: int = 0
    refused: int = 0
    busy: int = 0
    """Answers to try again, as the machine was too busy; the file was sent again."""
    wrong: list[str] = field(default_factory=list)
    """Answers that are neither 200 nor a 400 with a sentence, and files that got none."""
    quiet: list[float] = field(default_factory=list)
    """How long each ordinary request took before the first file."""
    bystander: list[float] = field(default_factory=list)
    """How long each took while files were uploaded."""
    unserved: list[str] = field(default_factory=list)
    exited: bool = False

    def line(self, bug: str | None) -> str:
        late = sum(seconds > ANSWER_SECONDS for seconds in self.seconds)
        ratio = _part(self.bystander, 99) / (_part(self.quiet, 99) or 1)
        return (
            f"R10 hostile files: {self.accepted} accepted, {self.refused} refused by name, {self.busy} times busy, "
            f"{len(self.wrong)} wrong, "
            f"slowest {max(self.seconds, default=0):.1f} s, {late} above {ANSWER_SECONDS} s; other requests before: "
            f"{_figures(self.quiet)}; meanwhile: {_figures(self.bystander)} (p99 times {ratio:.1f}), "
            f"{len(self.unserved)} unserved; "
            f"server exited: {self.exited} (seeded bug: {bug or 'none'})"
        )


def _figures(seconds: Sequence[float]) -> str:
    p50, p99 = (_part(seconds, percent) * 1000 for percent in (50, 99))
    return f"{len(seconds)} served, p50 {p50:.1f} ms, p99 {p99:.1f} ms, slowest {max(seconds, default=0) * 1000:.0f} ms"


def _part(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100)[percent - 1] if len(values) > 1 else 0.0


async def upload(http: httpx.AsyncClient, file: Hostile, score: Score) -> None:
    begun = stopwatch()
    try:
        answer = await http.post("/documents/upload", files={"file": (file.filename, file.data)})
        while answer.status_code == 503 and stopwatch() - begun < BUSY_SECONDS:
            score.busy += 1
            answer = await http.post("/documents/upload", files={"file": (file.filename, file.data)})
    except httpx.HTTPError as error:
        score.wrong.append(f"{file.deed}: {type(error).__name__}")
        return
    score.seconds.append(stopwatch() - begun)
    score.accepted += answer.status_code == 200
    if answer.status_code == 400 and len(answer.json()["error"]) > 10 and answer.headers["X-Service-Error-Code"]:
        score.refused += 1
    elif answer.status_code != 200:
        score.wrong.append(f"{file.deed}: {answer.status_code} {answer.text[:200]}")


async def stand_by(
    http: httpx.AsyncClient, seconds: list[float], unserved: list[str], done: asyncio.Event, patience: float
) -> None:
    """Asks for ordinary things until told to stop."""
    while not done.is_set():
        for path in ORDINARY:
            if done.is_set():
                return
            begun = stopwatch()
            try:
                answer = await http.get(path, timeout=patience)
            except httpx.HTTPError as error:
                unserved.append(f"{path}: {type(error).__name__}")
                continue
            seconds.append(stopwatch() - begun)
            if answer.status_code not in (200, 404):
                unserved.append(f"{path}: {answer.status_code}")
        await asyncio.sleep(0.05)


@asynccontextmanager
async def standing_by(
    http: httpx.AsyncClient, seconds: list[float], unserved: list[str], patience: float
) -> AsyncIterator[None]:
    done = asyncio.Event()
    other = asyncio.create_task(stand_by(http, seconds, unserved, done, patience))
    try:
        yield
    finally:
        done.set()
        await other


def make_key(data: Path) -> str:
    """A key that no rate limit hinders."""
    limits = ("--scope", "*", "--tier", "enterprise", "--per-minute", "100000", "--per-day", "10000000")
    made = server.run("keys", "create", "--name", "fault test", "--json", *limits, data=data)
    assert made.returncode == 0, made.stderr
    return str(json.loads(made.stdout)["key"])


async def play(
    hostile: Sequence[Hostile],
    data: Path,
    *,
    bug: str | None = None,
    quiet: float = QUIET_SECONDS,
    patience: float = PATIENCE_SECONDS,
) -> Score:
    """All the files against a server of their own."""
    env = {"PYTHONPATH": str(ROOT), "DEEDBOX_SANDBOX_PROCESSES": str(SENDERS), **({VARIABLE: bug} if bug else {})}
    running = server.start(data, module="tests.faults.faulty_server" if bug else "deedbox", env=env)
    score, queue = Score(), iter(hostile)

    async def send() -> None:
        for file in queue:
            await upload(http, file, score)
            await asyncio.sleep(0)

    try:
        headers = {"Authorization": f"Bearer {make_key(data)}"}
        options = {"base_url": running.address, "headers": headers, "timeout": patience, "trust_env": False}
        async with httpx.AsyncClient(**options) as http:  # type: ignore[arg-type]
            async with standing_by(http, score.quiet, score.unserved, patience):
                await asyncio.sleep(quiet)
            async with standing_by(http, score.bystander, score.unserved, patience / 2):
                await asyncio.gather(*(send() for _ in range(SENDERS)))
        score.exited = running.process.poll() is not None
    finally:
        running.kill()
        if running.process.stdout:
            running.process.stdout.close()
    print(score.line(bug))
    return score


async def test_no_file_hurts_the_server(tmp_path: Path) -> None:
    hostile = list(files(FILES, SEED))  # made beforehand: making them would keep the other requests waiting here
    score = await play(hostile, tmp_path / "data")
    assert (score.wrong, score.unserved, score.exited) == ([], [], False)
    assert score.accepted + score.refused == FILES
    assert score.accepted > 0
    assert score.refused > 0
    assert min(len(score.quiet), len(score.bystander)) > 0
    if FULL:
        assert max(score.seconds) < ANSWER_SECONDS


@pytest.mark.parametrize("deed", [STALLER, CRASHER])
async def test_the_rig_sees_a_server_that_parses_in_its_own_process(deed: str, tmp_path: Path) -> None:
    crafted = next(file for file in handmade() if file.deed == deed)
    score = await play([crafted], tmp_path / "data", bug=IN_THE_SERVER, quiet=0, patience=BUGGY_PATIENCE_SECONDS)
    assert score.wrong
    assert score.exited or score.unserved
