"""R30: each alert fires when its cause happens, and none on a healthy installation. Prometheus evaluates the rules."""

import asyncio
import functools
import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
import yaml  # type: ignore[import-untyped]

from deedbox.kernel import limits
from deedbox.kernel.clock import moment
from tests import server
from tests.deploy.proxies import DEPLOY
from tests.faults.set_clock import SetClock, needs_libfaketime
from tests.faults.signers import Doors, at_turn, signature, wanted

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool, of Prometheus, is not installed")

RULES = DEPLOY / "alerts.yml"
ALERTS = {rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
MINUTES = 60
TIMERS, REQUESTS = 1_500, 200
_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)")
Samples = dict[str, float]


def scrape(address: str) -> Samples:
    """What Prometheus would keep of one look at the server."""
    try:
        lines = httpx.get(f"{address}/metrics", trust_env=False, timeout=60).text.splitlines()
    except httpx.TransportError:
        return {'up{instance="one",job="deedbox"}': 0}
    found = {'up{instance="one",job="deedbox"}': 1.0}
    for sample in filter(None, map(_SAMPLE.fullmatch, lines)):
        labels = ",".join(filter(None, ('instance="one",job="deedbox"', sample[2])))
        found[f"{sample[1]}{{{labels}}}"] = float(sample[3])
    return found


def firing(folder: Path, before: Samples, after: Samples) -> set[str]:
    """The alerts that fire when what happened between two looks goes on happening, minute after minute."""
    series = []
    for name, value in after.items():
        counter = re.search(r"_(total|bucket|sum|count)\{", name)
        step = value - before.get(name, 0.0) if counter else 0.0
        series.append({"series": name, "values": f"{value:.6f}+{max(step, 0.0):.6f}x{MINUTES}"})
    tests = [
        {
            "interval": "1m",
            "input_series": series,
            "alert_rule_test": [{"alertname": alert, "eval_time": f"{MINUTES}m"} for alert in sorted(ALERTS)],
        }
    ]
    asked = folder / "asked.yml"
    asked.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", str(asked)], capture_output=True, text=True, check=False)
    # It is told to expect none, and names each that it finds.
    found = set(re.findall(r"alertname: (\w+)", done.stdout + done.stderr))
    assert found or done.returncode == 0, done.stdout + done.stderr
    return found


@contextmanager
def watched(folder: Path, address: str) -> Iterator[set[str]]:
    """Filled at its end with the alerts that fire if what happens meanwhile goes on."""
    found: set[str] = set()
    before = scrape(address)
    yield found
    found |= firing(folder, before, scrape(address))


Change = Callable[..., None]


def in_postgres(url: str) -> Change:
    """Changes rows of this database, as `server.change` does those of a data folder."""

    def change(sql: str, *rows: Sequence[Any]) -> None:
        with psycopg.connect(url) as connection:
            connection.cursor().executemany(sql.replace("?", "%s").encode(), rows)

    return change


def put_jobs(change: Change, kind: str, number: int, run_at: float) -> None:
    """Jobs that become due at that time."""
    columns = "id, kind, payload, priority, state, run_at, attempts, max_attempts, created_at"
    values = f"?, '{kind}', '{{}}', 5, 'ready', {run_at}, 0, 10, '2026-03-01T12:00:00Z'"
    rows = [(f"job_{kind}{each:08}",) for each in range(number)]
    change(f"insert into jobs ({columns}) values ({values})", *rows)


async def signed(running: server.Server) -> str:
    async with Doors(running.address, str(running.api_key)) as doors:
        document_id = str((await doors.sender.post("/api/v1/documents", json=wanted("Deed", send=True))).json()["id"])
        cookie = await doors.enter(document_id, at_turn(await doors.document(document_id))[0])
        assert (await doors.act(cookie, "complete", signature("Ann"))).status_code == 200
    return document_id


@pytest.mark.files_in_folder("It takes them away.")
def test_each_alert_fires_at_its_cause_and_none_without(tmp_path: Path) -> None:
    data, env = tmp_path / "data", {"DEEDBOX_CONNECTIONS_PER_ADDRESS": "8"}
    server.prepare(data)
    change = functools.partial(server.change, data)
    put_jobs(change, "expire", TIMERS, time.time() + 86400)
    seen: set[str] = set()
    with server.running(data, env=env) as running, running.client() as http:
        with watched(tmp_path, running.address) as healthy:
            document_id = asyncio.run(signed(running))
            while http.get(f"/api/v1/documents/{document_id}").json()["status"] != "completed":
                time.sleep(0.1)
            for _ in range(REQUESTS):
                assert http.get("/health").status_code == 200
        assert healthy == set()

        with watched(tmp_path, running.address) as refused, ExitStack() as crowd:
            parts = urlsplit(running.address)
            for _ in range(20):
                last = crowd.enter_context(socket.create_connection((str(parts.hostname), int(parts.port or 0))))
            assert last.recv(1) == b"", "the server has not closed it"
        assert refused == {"DeedboxConnectionsRefused"}
        seen |= refused

        with watched(tmp_path, running.address) as lost:
            for shelf in (each for each in (data / "blobs").iterdir() if each.is_dir()):
                shutil.rmtree(shelf)
            assert http.get(f"/api/v1/documents/{document_id}/file").status_code == 500
        assert lost == {"DeedboxErrors"}
        seen |= lost

    put_jobs(change, "unheard_of", 1, 0)
    with server.running(data, env=env) as running:
        while not scrape(running.address).get('deedbox_jobs_failed{instance="one",job="deedbox",kind="unheard_of"}'):
            time.sleep(0.1)
        with watched(tmp_path, running.address) as parked:
            pass
        assert parked == {"DeedboxJobsGivenUp"}
        address = running.address
    with watched(tmp_path, address) as down:
        pass
    assert down == {"DeedboxDown"}
    assert seen | parked | down | {"DeedboxJobsStalled", "DeedboxJobsWait", "DeedboxSlow", "DeedboxClockOff"} == ALERTS


def test_work_that_nobody_does_raises_an_alert(tmp_path: Path, postgres_url: str) -> None:
    data, env = tmp_path / "data", {"DEEDBOX_DATABASE_URL": postgres_url}
    with server.running(data, "--no-work", env=env) as running, running.client() as http:
        document_id = asyncio.run(signed(running))
        assert doctor(data, env) == []
        with watched(tmp_path, running.address) as waits:
            # A request for the sealed file waits for it, up to two seconds.
            assert http.get(f"/api/v1/documents/{document_id}/signed").status_code == 409
        assert waits == {"DeedboxSlow"}

        later = f"update jobs set run_at = run_at - {limits.JOB_STALLED_SECONDS} where kind = 'finalize'"
        change = in_postgres(postgres_url)
        change(later, ())
        with watched(tmp_path, running.address) as stalled:
            pass
        assert stalled == {"DeedboxJobsStalled"}
        (found,) = doctor(data, env)
        assert "nobody does finalize (1 due)" in found
        while "nobody does finalize (1 due)" not in http.get("/readyz").text:
            time.sleep(0.5)

        put_jobs(change, "mail", 1_001, time.time())
        with watched(tmp_path, running.address) as crowded:
            pass
        assert crowded == {"DeedboxJobsStalled", "DeedboxJobsWait"}


def doctor(data: Path, env: dict[str, str]) -> list[str]:
    """What `deedbox doctor` finds wrong with background work."""
    found = json.loads(server.run("doctor", "--json", data=data, env=env).stdout)["findings"]
    return [each["text"] for each in found if each["subject"] == "jobs" and each["verdict"] == "bad"]


@needs_libfaketime
@pytest.mark.parametrize("off", [120, -120])
def test_a_clock_that_is_off_is_reported_and_not_used(tmp_path: Path, postgres_url: str, off: int) -> None:
    data, env, clock = tmp_path / "data", {"DEEDBOX_DATABASE_URL": postgres_url}, SetClock(tmp_path)
    running = server.start(data, module="tests.faults.clock_server", env=env, under=clock.under())
    try:
        with running.client() as http:
            assert http.get("/readyz").text == "ready\n"
            clock.set(off)
            while f"clock: {off:+d} s" not in http.get("/readyz").text:
                time.sleep(0.5)
            asked = time.time()
            made = http.post("/api/v1/documents", json=wanted("Later", send=True)).json()
            assert abs(moment(made["created_at"]).timestamp() - asked) < abs(off) / 2
            with watched(tmp_path, running.address) as found:
                pass
            assert "DeedboxClockOff" in found
            assert "differs from the database's" in running.log.read_text()
            clock.set(0)
            while "clock:" in http.get("/readyz").text:
                time.sleep(0.5)
    finally:
        running.stop()
        running.kill()
