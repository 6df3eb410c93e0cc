"""A bulk send whose server is killed again and again: each row becomes one document, invited once, and none is lost.

`python -m tests.faults.bulk_kill` prints the figure in full size."""

import asyncio
import random
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.api.search.files import pdf
from tests.faults import installation
from tests.faults.installation import BREAKS, Installation

PATH = "/api/v1/bulk-sends"
PAGE = pdf("The tenant pays the rent.", size=(595, 842))
END_SECONDS = 600
"""In which what is left after the last kill must be sent."""
KILLED = (
    "select count(*), count(distinct document_id) from bulk_rows where status = 'sent'",
    "select count(*) from documents",
    "select count(*), count(distinct subject_id) from events where kind = 'document.sent'",
    "select count(*), count(distinct about) from mails where kind = 'invitation'",
    "select count(*) from signing_links",
    "select count(*) from events where kind = 'bulk_send.completed'",
)


class Report(msgspec.Struct):
    rows: int
    kills: int
    kills_amid: int
    """Kills that met the server with some rows sent and others not."""
    sent: int = 0
    doubled: int = 0
    lost: int = 0
    half_applied: int = 0
    completions: int = 0
    integrity: str = "ok"

    @property
    def faults(self) -> int:
        return self.doubled + self.lost + self.half_applied + abs(self.completions - 1) + (self.integrity != "ok")


def killed(
    data: Path, rows: int, kills: int, *, database_url: str | None = None, bug: str | None = None, seed: int = 1
) -> Report:
    """What is there after the bulk send was completed in spite of so many kills."""
    place, chance = Installation(data, database_url=database_url, bug=bug), random.Random(seed)
    key = place.key()
    report = Report(rows, 0, 0)
    asyncio.run(_begin(place, key, rows, twice=bug is None))
    for number in range(kills):
        asyncio.run(_kill(place, key, report, (number + 1) * rows // (kills + 1), chance))
        place.lapse_leases()
    asyncio.run(_finish(place, key, rows))
    _examine(place, report)
    return report


async def _begin(place: Installation, key: str, rows: int, *, twice: bool) -> None:
    """Makes the template and uploads the rows, or twice: the answer may be lost, and the file is sent again.

    Not with a bug that notes late what was: it would note the pace of the first upload after that of the second."""
    with place.running() as running:
        async with installation.client(running.address, key) as http:
            body = await _body(http, rows)
            first = await http.post(PATH, json={**body, **({"rows_per_minute": 1} if twice else {})})
            assert first.status_code == 201, first.text
            if not twice:
                return
            again = await http.post(PATH, json=body)
            assert (again.status_code, again.json()["counts"]["total"]) == (200, rows), again.text


async def _body(http: httpx.AsyncClient, rows: int) -> dict[str, Any]:
    file = {"name": "lease.pdf", "content_base64": b64encode(PAGE).decode()}
    made = await http.post("/api/v1/templates", json={"name": "Lease", "file": file, "roles": [{"name": "Tenant"}]})
    assert made.status_code == 201, made.text
    people = [{"name": f"Ann {number}", "email": f"ann{number}@example.com"} for number in range(rows)]
    listed = [{"key": one["email"], "roles": {"Tenant": one}} for one in people]
    return {"name": "Killed", "template_id": made.json()["id"], "rows": listed}


async def _kill(place: Installation, key: str, report: Report, sent: int, chance: random.Random) -> None:
    """Kills the server soon after so many rows are sent."""
    with place.running() as running:
        async with installation.client(running.address, key) as http:
            try:
                counts = await _sent(http, sent)
                await asyncio.sleep(chance.uniform(0, 0.1))
            except BREAKS:
                raise AssertionError("the server died by itself") from None
            running.process.kill()
            running.process.wait()
    report.kills += 1
    report.kills_amid += 0 < counts["queued"] < counts["total"]


async def _sent(http: httpx.AsyncClient, number: int) -> dict[str, int]:
    """The counts once so many rows are sent."""
    async with asyncio.timeout(END_SECONDS):
        while True:
            [found] = (await http.get(PATH)).json()["bulk_sends"]
            counts: dict[str, int] = found["counts"]
            if counts["sent"] >= number or not counts["queued"]:
                return counts
            await asyncio.sleep(0.03)


async def _finish(place: Installation, key: str, rows: int) -> None:
    with place.running(gently=True) as running:
        async with installation.client(running.address, key) as http:
            await _sent(http, rows)
            async with asyncio.timeout(END_SECONDS):
                while (await http.get(PATH)).json()["bulk_sends"][0]["status"] != "completed":
                    await asyncio.sleep(0.05)


def _examine(place: Installation, report: Report) -> None:
    """Each row has one document, each document one event, one invitation and one link."""
    (sent, own), (documents,), (events, told), (mails, invited), (links,), (report.completions,) = (
        place.rows(sql)[0] for sql in KILLED
    )
    report.sent = sent
    report.lost = report.rows - sent
    report.doubled = max(documents, events, mails, links) - min(own, told, invited)
    report.half_applied = sum(number != documents for number in (own, events, told, mails, invited, links))
    report.integrity = place.integrity()


def summary(report: Report, database: str) -> str:
    return installation.told("bulk send", report, database)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(summary(killed(Path(folder) / "data", 10_000, 20), "SQLite"))
