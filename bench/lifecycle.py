"""Documents a second from create to sealed, and what each step takes, with few and with many documents in the database.

Three servers run side by side, each with a database of its own, and take turns, so that the noise of the machine falls
on all of them. Beside them the limit: the PDF work of one document in this process.

Each round is done twice: by clients that look every 10 ms for the sealed file, and by clients that a webhook tells of
it. What the first costs more is what looking costs; the second pays for its deliveries.

Usage: python -m bench.lifecycle [--filled 1 100 10000] [--rounds 5] [--alone 4] [--clients 6] [--each 3]
                                 [--own-papers] [--postgres [postgresql://…/postgres]] [--small]"""

import asyncio
import base64
import http.client
import io
import json
import os
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import pikepdf
import psycopg

from bench import filling, postgres
from bench.bare import BareWork
from bench.measure import cpu_seconds, median, process, ratio, temporary_folder
from bench.options import Options, tell
from bench.request import free_port, make_key, wait_for
from deedbox import wiring
from deedbox.kernel import limits
from deedbox.kernel.clock import instant, stopwatch
from deedbox.kernel.crypto import Secret
from deedbox.kernel.settings import Settings

SIGNERS, PAGES = 2, 3
STEPS = ("create", "send", "sign", "finalize")
LOOK_SECONDS = 0.01
PATIENCE = 120.0
COMPLETED_IN_TEN = 7
AIM_MS, YARDSTICK = 110, "where commit 2cafd096 takes 182"
"""A figure of one machine: decision 0040 has both commits measured in turn on another."""


def make_pdf(note: str = "") -> bytes:
    """A lease of a few pages of text, with a note on each."""
    pdf = pikepdf.new()
    font = pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
    for number in range(PAGES):
        page = pdf.add_blank_page(page_size=(595, 842))
        lines = [f"({number}.{line} The tenant pays the rent on the first of the month.) Tj T*" for line in range(30)]
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F=font))
        page.Contents = pdf.make_stream(f"BT /F 11 Tf 14 TL 72 770 Td ({note}) Tj T* {' '.join(lines)} ET".encode())
    out = io.BytesIO()
    pdf.save(out)
    return out.getvalue()


class Receiver:
    """Receives the webhooks of one server, in this process, which is not measured."""

    def __init__(self, httpd: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{httpd.server_port}/"
        self._completed: defaultdict[str, threading.Event] = defaultdict(threading.Event)

    def told_of(self, document_id: str) -> threading.Event:
        return self._completed[document_id]


@contextmanager
def receiving() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.told_of(event["data"]["document_id"]).set()
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing: the bench prints figures alone."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        receiver = Receiver(httpd)
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        try:
            yield receiver
        finally:
            httpd.shutdown()


class Desk:
    """One connection to a server: sends documents with its key, and signs them as their signers would.

    With a receiver it waits for the webhook that tells of the seal, else it looks for the file."""

    def __init__(self, port: int, key: str, pdf: bytes, receiver: Receiver | None = None) -> None:
        self._receiver = receiver
        self._wire = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._key = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._pdf = pdf
        self._usual = 0.0

    def lifecycle(self, *, own_paper: bool = False) -> dict[str, float]:
        """Milliseconds of each step of one document, whose paper may be like no other."""
        paper = make_pdf(secrets.token_hex(8)) if own_paper else None
        marks = [stopwatch()]
        document = self.create(paper)
        marks.append(stopwatch())
        document = self.send(document)
        marks.append(stopwatch())
        for party in document["parties"]:
            for signer in party["signers"]:
                self._sign(document["id"], signer["id"])
        marks.append(stopwatch())
        self._wait_for_seal(document["id"])
        marks.append(stopwatch())
        return {step: (end - begin) * 1000 for step, begin, end in zip(STEPS, marks, marks[1:], strict=False)}

    def create(self, paper: bytes | None = None, **more: Any) -> Any:
        file = {"name": "lease.pdf", "content_base64": base64.b64encode(paper or self._pdf).decode()}
        signers = [{"name": f"Ann {number}", "email": f"ann{number}@example.com"} for number in range(SIGNERS)]
        body = {"title": "Lease", "file": file, "signers": signers, **more}
        document = self._json("POST", "/api/v1/documents", body, 201)
        while document["status"] == "processing":
            time.sleep(LOOK_SECONDS)
            document = self._json("GET", f"/api/v1/documents/{document['id']}", None, 200)
        return document

    def send(self, document: Any) -> Any:
        return self._json("POST", f"/api/v1/documents/{document['id']}/send", None, 200)

    def completed(self) -> list[Any]:
        found: list[Any] = self._json("GET", "/api/v1/documents?status=completed", None, 200)["documents"]
        return found

    def add_hook(self, url: str) -> str:
        return str(self._json("POST", "/api/v1/hooks", {"target_url": url, "event": "document.completed"}, 201)["id"])

    def remove_hook(self, hook_id: str) -> None:
        status, _, body = self._ask("DELETE", f"/api/v1/hooks/{hook_id}", self._key)
        _demand(status, 204, body)

    def _sign(self, document_id: str, signer_id: str) -> None:
        link = self._json("POST", f"/api/v1/documents/{document_id}/signers/{signer_id}/link", None, 201)
        status, headers, _ = self._ask("GET", urlsplit(link["url"]).path, {})
        own = headers["Location"]
        _demand(status, 303, b"")
        cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0], "Content-Type": "application/json"}
        status, _, body = self._ask("GET", f"{own}/session", cookie)
        _demand(status, 200, body)
        signed = {"consent": True, "signature": {"kind": "typed", "text": "Ann Example"}}
        status, _, body = self._ask("POST", f"{own}/complete", cookie, json.dumps(signed).encode())
        _demand(status, 200, body)

    def _wait_for_seal(self, document_id: str) -> None:
        """Returns when it has the sealed file. To look costs the server time, so most of the usual time passes."""
        if self._receiver is not None:
            if not self._receiver.told_of(document_id).wait(PATIENCE):
                raise SystemExit(f"no webhook told of {document_id} in {PATIENCE:.0f} s")
            status, _, body = self._ask("GET", f"/api/v1/documents/{document_id}/signed", self._key)
            _demand(status, 200, body)
            return
        begun = stopwatch()
        time.sleep(self._usual * 0.7)
        while True:
            status, _, body = self._ask("GET", f"/api/v1/documents/{document_id}/signed", self._key)
            if status == 200:
                break
            _demand(status, 409, body)
            if stopwatch() - begun > PATIENCE:
                raise SystemExit(f"{document_id} is not sealed after {PATIENCE:.0f} s")
            time.sleep(LOOK_SECONDS)
        self._usual = stopwatch() - begun

    def _json(self, method: str, path: str, body: Any, wanted: int) -> Any:
        status, _, content = self._ask(method, path, self._key, json.dumps(body).encode() if body else None)
        _demand(status, wanted, content)
        return json.loads(content)

    def _ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        self._wire.request(method, path, body, dict(headers))
        answer = self._wire.getresponse()
        return answer.status, answer.headers, answer.read()


def _demand(status: int, wanted: int, body: bytes) -> None:
    if status != wanted:
        raise SystemExit(f"{status} instead of {wanted}: {body[:300]!r}")


class Place(NamedTuple):
    """Where an installation is: its folder, and its database if that is not in the folder."""

    data: Path
    url: str | None

    @property
    def environment(self) -> dict[str, str]:
        return {"DEEDBOX_DATABASE_URL": self.url} if self.url else {}


class Server:
    def __init__(self, port: int, pid: int, key: str, pdf: bytes) -> None:
        self.pid = pid
        self.port = port
        self._desk = (port, key, pdf)
        self.own_papers = False
        self._receiver: Receiver | None = None
        self.alone: list[dict[str, float]] = []
        self.together: list[dict[str, float]] = []
        self.rates: list[float] = []
        self.cpu: list[float] = []
        self.cpu_told: list[float] = []
        """The same with clients that a webhook tells of the seal."""

    def desk(self) -> Desk:
        return Desk(*self._desk, receiver=self._receiver)

    def round_told(self, receiver: Receiver, alone: int, clients: int, each: int) -> None:
        """The same documents by clients that do not look; the hook is there for this round alone."""
        desk, self._receiver = self.desk(), receiver
        hook = desk.add_hook(receiver.url)
        try:
            before, waiting = tree_seconds(self.pid), self.desk()
            for _ in range(alone):
                waiting.lifecycle(own_paper=self.own_papers)
            at_once(self, clients, each)
            self.cpu_told.append((tree_seconds(self.pid) - before) / (alone + clients * each) * 1000)
        finally:
            self._receiver = None
            self.desk().remove_hook(hook)

    def round(self, alone: int, clients: int, each: int) -> None:
        """Some documents one after the other, then by several clients at once."""
        before, desk = tree_seconds(self.pid), self.desk()
        self.alone += [desk.lifecycle(own_paper=self.own_papers) for _ in range(alone)]
        begun = stopwatch()
        self.together += at_once(self, clients, each)
        self.rates.append(clients * each / (stopwatch() - begun))
        self.cpu.append((tree_seconds(self.pid) - before) / (alone + clients * each) * 1000)


def at_once(server: Server, clients: int, each: int) -> list[dict[str, float]]:
    done: list[dict[str, float]] = []

    def work() -> None:
        desk = server.desk()
        for _ in range(each):
            done.append(desk.lifecycle(own_paper=server.own_papers))

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(done) != clients * each:
        raise SystemExit("a client failed")
    return done


def tree_seconds(pid: int) -> float:
    """CPU time of the process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    total = cpu_seconds(pid)
    for child in children:
        with suppress(subprocess.CalledProcessError, FileNotFoundError, ProcessLookupError):  # it has just ended
            total += cpu_seconds(int(child))
    return total


@contextmanager
def serving(place: Place, key: str, pdf: bytes, *words: str) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "deedbox", "serve", "--data", str(place.data), "--port", str(port), *words]
    settings = {
        "DEEDBOX_ACCESS_LOG": "false",
        "DEEDBOX_ANONYMOUS_PER_MINUTE": str(limits.RATE_PER_MINUTE_MAX),
        "DEEDBOX_EGRESS_ALLOW": "127.0.0.1/32",
    }
    with process(command, **settings, **place.environment) as child:
        wait_for(port).close()
        yield Server(port, child.pid, key, pdf)


async def fill(place: Place, ids: Sequence[str], count: int) -> None:
    """Copies of these documents, until there are so many."""
    settings = Settings(data_dir=place.data, database_url=Secret(place.url) if place.url else None)
    async with wiring.open_installation(settings) as deedbox:
        samples = await deedbox.db.read(lambda tx: [filling.Sample(tx, one) for one in ids])
        kinds = [samples[0]] * COMPLETED_IN_TEN + [samples[1]] * (9 - COMPLETED_IN_TEN) + [samples[2]]
        for first, size in filling.batches(count - 1):
            await deedbox.db.write(lambda tx, first=first, size=size: filling.fill(tx, kinds, first, size))  # type: ignore[misc]
        if deedbox.db.dialect == "postgres":
            await deedbox.db.write(lambda tx: tx.run("analyze"))


def seeded(place: Place, key: str, pdf: bytes) -> list[str]:
    """The ids of one document that is completed, one that waits with its timers set, and one draft."""
    with serving(place, key, pdf) as server:
        desk = server.desk()
        desk.lifecycle()
        [done] = desk.completed()
        later = instant(datetime.now(UTC) + timedelta(days=90))
        plan = {"first_after_hours": 48, "every_hours": 72, "max": 5}
        waiting = desk.send(desk.create(expires_at=later, reminders=plan))
        return [done["id"], waiting["id"], desk.create()["id"]]


@contextmanager
def places(folder: Path, filled: Sequence[int], postgres: str | None) -> Iterator[tuple[Place, dict[int, Place]]]:
    """An installation to begin with, and one for each number of documents, which are yet to be copied from it."""
    names = {number: f"bench_lifecycle_{os.getpid()}_{number}" for number in (0, *filled)}
    urls = {number: _named(postgres, name) if postgres else None for number, name in names.items()}
    made = {number: Place(folder / str(number), urls[number]) for number in names}
    if postgres:
        administer(postgres, f"create database {names[0]}")
    try:
        yield made[0], {number: made[number] for number in filled}
    finally:
        for name in names.values() if postgres else ():
            administer(str(postgres), f"drop database if exists {name} with (force)")


def copied(first: Place, place: Place, postgres: str | None) -> None:
    shutil.copytree(first.data, place.data)
    if postgres and first.url and place.url:
        administer(postgres, f"create database {database_of(place.url)} template {database_of(first.url)}")


def _named(url: str, database: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def database_of(url: str) -> str:
    return urlsplit(url).path.lstrip("/")


def administer(url: str, sql: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())


def _p(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def show(wish: Any, servers: Mapping[int, Server], spent: Sequence[dict[str, float]]) -> None:
    least = servers[min(servers)]
    print("p50 (p99) in ms, and p50 beside the one with the fewest documents:")
    print(f"{'documents in the database':32}" + "".join(f"{number:>26,}" for number in servers))
    for title, kind in (("one at a time", "alone"), ("several at once", "together")):
        for step in ("whole", *STEPS):
            cells = ""
            for server in servers.values():
                values = _step(getattr(server, kind), step)
                times = ratio(median(values), median(_step(getattr(least, kind), step)))
                cells += f"{median(values):8.1f} ({_p(values, 0.99):7.1f}) × {times:4.2f}"
            print(f"{title if step == 'whole' else '':17}{step:15}{cells}")
    for title, name in (
        ("documents/s at once", "rates"),
        ("CPU ms a document, looking", "cpu"),
        ("CPU ms a document, told", "cpu_told"),
    ):
        cells = ""
        for server in servers.values():
            times = ratio(median(getattr(server, name)), median(getattr(least, name)))
            cells += f"{median(getattr(server, name)):18.1f} × {times:4.2f}"
        print(f"{title:32}{cells}")
    each = {name: median([one[name] for one in spent]) for name in spent[0]}
    bare, whole = sum(each.values()), median(least.cpu)
    print(f"the PDF work alone, in process: {bare:.1f} ms of CPU a document ({_told(each)})")
    print(f"the whole server with its sandboxes: {whole:.1f} ms of CPU, {whole / bare:.2f} times it")
    print(f"aim: {AIM_MS} ms {YARDSTICK}")
    told = median(least.cpu_told)
    print(f"the same, the clients told by a webhook: {told:.1f} ms of CPU, {told / bare:.2f} times it")
    tell(wish, time=f"{median(_step(least.alone, 'whole')):.0f} ms", cpu=f"{whole:.0f} ms", bare=f"{bare:.0f} ms")


def _step(measured: Sequence[dict[str, float]], step: str) -> list[float]:
    return [sum(one.values()) if step == "whole" else one[step] for one in measured]


def _told(each: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in each.items())


def main() -> None:
    options = Options(__doc__)
    options.size("filled", [1, 100, 10_000], small=[1])
    options.size("rounds", 5, small=1)
    options.size("alone", 4, small=1, help="documents of each round that are made one by one")
    options.size("clients", 6, small=1)
    options.size("each", 3, small=1, help="documents of each client in each round")
    options.add_argument("--own-papers", action="store_true", help="each document is another PDF, with its own page 1")
    postgres.add_option(options)
    wish = options.wish()
    pdf, spent = make_pdf(), []
    bare = BareWork(pdf, SIGNERS)
    with (
        temporary_folder() as folder,
        postgres.found(wish.postgres) as url,
        places(folder, wish.filled, url) as (first, rest),
        receiving() as receiver,
        ExitStack() as stack,
    ):
        os.environ.update(first.environment)
        key = make_key(first.data, "*")
        ids = seeded(first, key, pdf)
        servers: dict[int, Server] = {}
        for number, place in rest.items():
            copied(first, place, url)
            asyncio.run(fill(place, ids, number))
            servers[number] = stack.enter_context(serving(place, key, pdf))
            servers[number].own_papers = wish.own_papers
            at_once(servers[number], wish.clients, 1)  # starts the sandboxes
        for _ in range(wish.rounds):
            spent.append(bare.once())
            for server in servers.values():
                server.round(wish.alone, wish.clients, wish.each)
            for server in servers.values():
                server.round_told(receiver, wish.alone, wish.clients, wish.each)
    kind = "PostgreSQL" if wish.postgres else "SQLite"
    print(f"create → send → sign ({SIGNERS} signers) → sealed, {PAGES} pages, {kind}, {wish.clients} clients:")
    show(wish, servers, spent)


if __name__ == "__main__":
    main()
