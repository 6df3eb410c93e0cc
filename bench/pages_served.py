"""The list of documents that people see, over 200,000 of them in a year: time and CPU of a page, beside the API's list.

Both come from the same server in turns, and show as many documents: what the page costs more is its counts and its
HTML. Whoever looks has signed, or is to sign, every fourth document. With them the usage of the year, and the live part
of a document's page when nothing has happened since.

Usage: python -m bench.pages_served [--documents 200000] [--requests 20] [--rounds 5] [--small]"""

import asyncio
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.measure import cpu_seconds, median, process, ratio, temporary_folder
from bench.options import Options, tell
from bench.request import free_port, make_key, wait_for
from deedbox import wiring
from deedbox.accounts import store as accounts
from deedbox.kernel import limits
from deedbox.kernel.clock import instant, stopwatch
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import new_id
from deedbox.kernel.settings import Settings
from deedbox.signing.model import Document, Packet, Party, Signer, SignerStatus, Status
from deedbox.signing.store import documents
from deedbox.usage import measure

AIM_MS = 50
BATCH = 5_000
ME = "mara@example.com"
ME_QUOTED = "mara%40example.com"
STATES: tuple[Status, ...] = (*(("completed",) * 7), "sent", "sent", "draft")
"""Of ten documents, over and over."""
MINE = 4
LIST = "/api/v1/documents"
PAGES = {
    "the API's list": LIST,
    "the page": "/app/documents",
    "waiting for me": "/app/documents?view=mine",
    "searched": "/app/documents?q=agreement+77",
    "by a person": f"/app/documents?person={ME_QUOTED}",
    "and a state": f"/app/documents?person={ME_QUOTED}&status=completed",
    "a rare state": f"/app/documents?person={ME_QUOTED}&status=declined",
    "and a title": f"/app/documents?person={ME_QUOTED}&q=agreement+77",
    "a year's usage": "/app/usage?by=month",
}
POLL = "nothing new"
YEAR = timedelta(days=360)


class Cost(NamedTuple):
    """Of one request, in milliseconds."""

    wall: float
    cpu: float


def made(workspace: str, number: int, moment: datetime) -> Packet:
    """A document with two people, one after the other, in the state that its number says."""
    at, status = instant(moment), STATES[number % len(STATES)]
    signed_at = instant(moment + timedelta(seconds=number * 7919 % 400_000))
    packet, sent = new_id("pkt", moment), status != "draft"
    people = [("Ann", f"ann{number}@example.com"), ("Mara", ME if number % MINE == 0 else f"mara{number}@example.com")]
    standing: list[SignerStatus] = ["signed", "signed"] if status == "completed" else ["signed", "notified"]
    parties = []
    for order, (name, email) in enumerate(people, 1):
        party, where = new_id("pty", moment), standing[order - 1] if sent else "waiting"
        one = Signer(
            new_id("sgn", moment), party, name, email, "en", "none", where, at, at, at if where == "signed" else None
        )
        parties.append(Party(party, name, order, "all", None, "decline_document", False, [one]))
    document = Document(
        new_id("doc", moment), workspace, packet, f"Lease agreement {number}", status, "api", None,
        {"case": str(number)}, [], False, at, at, sent_at=at if sent else None,
        completed_at=signed_at if status == "completed" else None, verification_code=f"code-{number}",
    )  # fmt: skip
    return Packet(packet, workspace, True, "", "", None, "en", None, None, None, parties, [document])


async def fill(data: Path, count: int) -> None:
    """So many documents of the one workspace, and the address of whoever looks at them."""
    async with wiring.open_installation(Settings(data_dir=data)) as deedbox:
        first = await deedbox.db.read(accounts.first_workspace)
        assert first is not None
        workspace = str(first[0])

        def me(tx: Tx) -> None:
            owner = accounts.owner(tx, workspace)
            assert owner is not None
            accounts.update_person(tx, owner[0], "Mara", ME, None, None)

        await deedbox.db.write(me)
        now = deedbox.clock.now()
        for start in range(0, count, BATCH):
            some = range(start, min(start + BATCH, count))
            packets = [made(workspace, number, now - YEAR * (1 - number / count)) for number in some]
            asked: dict[str, list[Document]] = {one.first.id: [] for one in packets}
            await deedbox.db.write(lambda tx, packets=packets, asked=asked: documents.add_all(tx, packets, asked))  # type: ignore[misc]
        await measure.measure(deedbox.db, now)
        await deedbox.db.write(lambda tx: tx.run("analyze"))


def cookie(data: Path, wire: http.client.HTTPConnection) -> str:
    """What opens the pages, by a one-time link."""
    words = ["login-link", "--json", "--data", str(data)]
    done = subprocess.run([sys.executable, "-m", "deedbox", *words], capture_output=True, text=True, check=True)
    wire.request("POST", urlsplit(json.loads(done.stdout)["login_link"]).path, headers={"Content-Length": "0"})
    answer = wire.getresponse()
    answer.read()
    return str(answer.headers["Set-Cookie"]).partition(";")[0]


def asked(wire: http.client.HTTPConnection, path: str, headers: Mapping[str, str]) -> bytes:
    wire.request("GET", path, headers=dict(headers))
    answer = wire.getresponse()
    body = answer.read()
    if answer.status not in (200, 304):
        raise SystemExit(f"GET {path} gave {answer.status}: {body[:200]!r}")
    return body


def unchanged(wire: http.client.HTTPConnection, person: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """Where a page asks for its live part, and with which headers, when it has it already."""
    listed = asked(wire, PAGES["the page"], person).decode()
    path = re.findall(r'href="(/app/documents/doc_\w+)"', listed)[0]
    headers = {**person, "X-Part": "timeline"}
    wire.request("GET", path, headers=headers)
    answer = wire.getresponse()
    answer.read()
    return path, {**headers, "If-None-Match": str(answer.headers["ETag"])}


def cost(wire: http.client.HTTPConnection, pid: int, path: str, headers: Mapping[str, str], requests: int) -> Cost:
    wire.close()  # an idle connection may have been closed meanwhile; the client opens it anew
    before, begun = cpu_seconds(pid), stopwatch()
    for _ in range(requests):
        asked(wire, path, headers)
    wall = stopwatch() - begun
    return Cost(wall / requests * 1000, (cpu_seconds(pid) - before) / requests * 1000)


def documents_served(count: int, requests: int, rounds: int) -> tuple[dict[str, Cost], int]:
    """What each page costs, and how large the list is."""
    with temporary_folder() as folder:
        data, port = folder / "data", free_port()
        key = make_key(data)
        asyncio.run(fill(data, count))
        command = [sys.executable, "-m", "deedbox", "serve", "--data", str(data), "--port", str(port)]
        with process(command, DEEDBOX_ACCESS_LOG="false") as child:
            wire = wait_for(port)
            person = {"Cookie": cookie(data, wire), "Accept": "text/html"}
            program = {"Authorization": f"Bearer {key}"}
            pages: dict[str, tuple[str, Mapping[str, str]]] = {
                name: (path, program if path == LIST else person) for name, path in PAGES.items()
            }
            pages[POLL] = unchanged(wire, person)
            found: dict[str, list[Cost]] = {name: [] for name in pages}
            for turn in range(rounds + 1):
                for name, (path, headers) in pages.items():
                    spent = cost(wire, child.pid, path, headers, requests)
                    found[name] += [spent] if turn else []  # the first fills caches, which a server does once
            size = len(asked(wire, PAGES["the page"], person))
    medians = {name: Cost(*(median(each) for each in zip(*costs, strict=True))) for name, costs in found.items()}
    return medians, size


def show(wish: Any, costs: Mapping[str, Cost], size: int) -> None:
    print(
        f"{limits.PAGE_DEFAULT} of {wish.documents} documents, median of {wish.rounds} rounds of {wish.requests}; a"
        f" page of {size / 1000:.0f} KB, aim at most {AIM_MS} ms:"
    )
    usual = costs["the API's list"]
    for name, (wall, cpu) in costs.items():
        print(
            f"  {name:15} {wall:6.1f} ms {cpu:6.1f} ms CPU   beside the API's list: {wall / usual.wall:.2f} times"
            f" the time, {ratio(cpu, usual.cpu):.2f} times the CPU"
        )
    named = {
        "page": "the page", "person": "by a person", "searched": "searched", "both": "and a title",
        "usage": "a year's usage",
    }  # fmt: skip
    tell(wish, list=f"{ratio(costs['the page'].cpu, usual.cpu):.1f} ×", limit=f"{AIM_MS} ms")
    tell(wish, **{name: f"{costs[page].wall:.0f} ms" for name, page in named.items()})


def main() -> None:
    options = Options(__doc__)
    options.size("documents", 200_000, small=200)
    options.size("requests", 20, small=2)
    options.size("rounds", 5, small=1)
    wish = options.wish()
    show(wish, *documents_served(wish.documents, wish.requests, wish.rounds))


if __name__ == "__main__":
    main()
