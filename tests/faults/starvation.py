"""R22: callers who want everything, each beside another who wants a little, at a real server.

`python -m tests.faults.starvation` prints the whole table; FAULT_SOURCE names another source folder.
"""

import asyncio
import base64
import copy
import http.client
import json
import os
import resource
import select
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from bench.pages_served import fill
from bench.title_search import LIST, SEARCHES, other_key
from msgspec import Struct, field

from deedbox.kernel import limits
from deedbox.kernel.clock import stopwatch
from deedbox.web import limits as web_limits
from tests import server
from tests.api.search.files import pdf
from tests.faults import FULL
from tests.faults.faulty_server import VARIABLE
from tests.pdf import bombs

ROOT = Path(__file__).parents[2]
ATTACKERS = ("127.0.0.11", "127.0.0.12", "127.0.0.13")
OTHER, PROBE = "127.0.0.2", "127.0.0.3"
STALLED = 515
HALF_OPEN = 4200 if FULL else 300
REFUSED = "deedbox_connections_refused_total"
TEXTS = 256
TEXT_CHARS = 3900 if FULL else 260
BATCH_ROWS = limits.BULK_ROWS if FULL else 200
NOTHING_BYTES = 15 * limits.MB
NOTHING_SECONDS, NOTHING_MB = 5, 200
"""What is taken for starving, on however busy a machine: such a file took a minute and such a list half a gigabyte."""
LARGE_SENDERS = 8
LARGE_ROUNDS = 4 if FULL else 1
TITLES = 200_000 if FULL else 5_000
SEARCHERS = 4
LIVEZ_SECONDS, TENANT_SECONDS = (0.1, 1.0) if FULL else (0.5, 5.0)
"""What 99 of 100 answers take at most while titles are searched; in small, the machine may have other work."""
WATCH_SECONDS = 15.0 if FULL else 1.5
"""For how long the other caller is watched, once everything is taken that can be."""
PATIENCE_SECONDS = 60
"""After this a request counts as never answered."""
PAGE = pdf("The tenant pays the rent.", size=(595, 842))
DEEP = b"[" * (web_limits.JSON_BODY_BYTES - limits.KB)
WIDE = b"[" + b"[]," * (7 * limits.MB // 3) + b"[]]"
BASE64 = b'{"title": "x", "file": {"name": "x.pdf", "content_base64": "' + b"QUJD" * (5 * limits.MB) + b'"}}'
PADDED = json.dumps({"query": "rent"}).encode() + b" " * (2 * web_limits.SMALL_BODY_BYTES)


class Row(Struct):
    """What one case came to."""

    case: str
    facts: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    """How long each request of the other caller took."""
    livez: list[float] = field(default_factory=list)
    megabytes: float = 0.0

    def __str__(self) -> str:
        facts = ", ".join(f"{name} {number}" for name, number in self.facts.items())
        p50, p99 = (_part(self.waited, percent) * 1000 for percent in (50, 99))
        return (
            f"| {self.case} | {facts} | {len(self.waited)} | {p50:.0f} | {p99:.0f} | {max(self.waited) * 1000:.0f}"
            f" | {_part(self.livez, 99) * 1000:.0f} | {self.megabytes:+.0f} | {len(self.faults)} |"
        )


HEADER = (
    "| case | what it took | other's requests | p50 ms | p99 ms | slowest ms | /livez p99 ms | memory MB | faults |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def _part(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else sum(values)


class Stage:
    """A running server, a greedy caller's key and another's."""

    def __init__(self, running: server.Server, data: Path, greedy: str, other: str) -> None:
        parts = urlsplit(running.address)
        self.place = (str(parts.hostname), int(parts.port or 0))
        self.pid = running.process.pid
        self.data = data
        self.documents = 0
        """How many the workspace of both has from the start."""
        self.greedy = greedy
        self.other = other

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        key: str | None = None,
        address: str = OTHER,
        kind: str = "application/json",
    ) -> tuple[int, bytes]:
        """Status and body of the answer, on a connection of its own."""
        connection = http.client.HTTPConnection(*self.place, timeout=PATIENCE_SECONDS, source_address=(address, 0))
        headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {key}"} if key else {})
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def metric(self, name: str) -> int:
        text = self.ask("GET", "/metrics", address=PROBE)[1].decode()
        found = [line.split()[-1] for line in text.splitlines() if line.startswith(f"{name} ")]
        return int(found[0]) if found else 0

    def connect(self, number: int = 0) -> socket.socket:
        return socket.create_connection(self.place, PATIENCE_SECONDS, (ATTACKERS[number % len(ATTACKERS)], 0))

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.pid}/status")
        lines = status.read_text().splitlines() if status.exists() else []
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


class Watch:
    """The other caller and a probe, who ask until they are stopped."""

    ASKED: Sequence[tuple[str, str, bytes, int]] = (
        ("GET", "/health", b"", 200),
        ("GET", "/api/v1/documents", b"", 200),
        ("POST", "/query", PADDED, 400),  # nothing is indexed: the body was read to be told so
    )

    def __init__(self, stage: Stage, row: Row, asked: Sequence[tuple[str, str, bytes, int]] = ASKED) -> None:
        self._stage = stage
        self._row = row
        self._asked = asked
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._other), threading.Thread(target=self._probe)]

    def __enter__(self) -> "Watch":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _other(self) -> None:
        while not self._done.is_set():
            for method, path, body, expected in self._asked:
                begun = stopwatch()
                try:
                    status, _ = self._stage.ask(method, path, body, key=self._stage.other)
                except (OSError, http.client.HTTPException) as error:
                    self._row.faults.append(f"{method} {path}: {type(error).__name__}")
                    status = expected
                self._row.waited.append(stopwatch() - begun)
                if status != expected:
                    self._row.faults.append(f"{method} {path}: {status}")

    def _probe(self) -> None:
        before = self._stage.megabytes()
        while not self._done.is_set():
            begun = stopwatch()
            try:
                status, _ = self._stage.ask("GET", "/livez", address=PROBE)
                if status != 200:
                    self._row.faults.append(f"/livez: {status}")
            except (OSError, http.client.HTTPException) as error:
                self._row.faults.append(f"/livez: {type(error).__name__}")
            self._row.livez.append(stopwatch() - begun)
            self._row.megabytes = max(self._row.megabytes, self._stage.megabytes() - before)
            self._done.wait(0.05)


def open_still(sockets: Sequence[socket.socket]) -> list[socket.socket]:
    """Those on which nothing has come, neither an answer nor the end."""
    poll = select.poll()
    for one in sockets:
        poll.register(one, select.POLLIN)
    heard = {number for number, _ in poll.poll(0)}
    return [one for one in sockets if one.fileno() not in heard]


@contextmanager
def closing(sockets: Sequence[socket.socket]) -> Iterator[None]:
    try:
        yield
    finally:
        for one in sockets:
            one.close()


def head(path: str, length: int | None, key: str | None, kind: str = "application/json") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: a", f"Content-Type: {kind}"]
    lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
    lines += [f"Authorization: Bearer {key}"] if key else []
    return "\r\n".join([*lines, "", ""]).encode()


def stalled_uploads(stage: Stage, row: Row) -> None:
    """Uploads of one key that begin and never go on."""
    begin = head("/documents/upload", 1_000_000, stage.greedy, "multipart/form-data; boundary=b")
    begin += b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx'
    sockets = [stage.connect(number) for number in range(STALLED)]
    with closing(sockets):
        for one in sockets:
            one.sendall(begin)
        end = stopwatch() + PATIENCE_SECONDS
        while (held := len(open_still(sockets))) != stage.metric("deedbox_requests_in_flight") - 1:
            if stopwatch() > end:
                row.faults.append("the uploads were neither taken nor refused")
                break
            time.sleep(0.05)
        row.facts = {"asked for": STALLED, "held": held}
        if held > limits.IN_FLIGHT_PER_CALLER:
            row.faults.append(f"one key holds {held} places of {limits.IN_FLIGHT_REQUESTS}")
        watch(stage, row)


def half_open_connections(stage: Stage, row: Row) -> None:
    """Connections of one address on which a head begins and never ends."""
    sockets: list[socket.socket] = []
    before = stage.metric(REFUSED)
    with closing(sockets):
        for _ in range(HALF_OPEN):
            with suppress(OSError):
                sockets.append(stage.connect())
                sockets[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n")
        begun = stopwatch()
        # Whoever asks now stands behind all of these: when the answer comes, each was taken or refused.
        refused = stage.metric(REFUSED) - before
        while (held := len(open_still(sockets))) > len(
            sockets
        ) - refused and stopwatch() < begun + web_limits.HEAD_SECONDS:
            time.sleep(0.05)
        row.facts = {"asked for": HALF_OPEN, "held": held}
        if held > limits.CONNECTIONS_PER_ADDRESS:
            row.faults.append(f"one address holds {held} connections")
        watch(stage, row)
        while FULL and open_still(sockets) and stopwatch() < begun + 4 * web_limits.HEAD_SECONDS:
            time.sleep(0.2)
        row.facts["held after the time for a head"] = len(open_still(sockets)) if FULL else 0


def many_texts(stage: Stage, row: Row) -> None:
    """Four requests of one key to embed 256 texts each; the other has a text of its own to embed."""
    body = json.dumps({"input": ["The tenant pays the rent. " * (TEXT_CHARS // 26)] * TEXTS}).encode()
    answered: Counter[int] = Counter()
    first = threading.Event()

    def send(number: int) -> None:
        try:
            status, _ = stage.ask("POST", "/v1/embeddings", body, key=stage.greedy, address=ATTACKERS[number % 3])
        except OSError:
            status = 0
        answered[status] += 1
        first.set()

    senders = [threading.Thread(target=send, args=(number,)) for number in range(4)]
    own = json.dumps({"text": "When is the rent due?"}).encode()
    assert stage.ask("POST", "/embed", own, key=stage.other)[0] == 200  # the model is loaded
    alone = [_timed(stage, own) for _ in range(5)]
    with Watch(stage, row):
        for sender in senders:
            sender.start()
        while stage.metric("deedbox_requests_in_flight") < 4 and not first.is_set():
            time.sleep(0.01)
        meanwhile, waited = 0, list[float]()
        while not first.is_set():
            begun = stopwatch()
            status, _ = stage.ask("POST", "/embed", own, key=stage.other)
            waited.append(stopwatch() - begun)
            meanwhile += status == 200 and not first.is_set()
        for sender in senders:
            sender.join()
    row.waited = waited  # those are the ones that could have to wait
    row.facts = {"asked for": 4 * TEXTS, "texts of the other embedded meanwhile": meanwhile}
    row.facts["ms for one alone"] = round(statistics.median(alone) * 1000)
    row.facts |= {f"answered {status}": number for status, number in sorted(answered.items())}
    if meanwhile < 10:
        row.faults.append(f"{meanwhile} texts of the other were embedded beside {4 * TEXTS} of one key")


def _timed(stage: Stage, body: bytes) -> float:
    begun = stopwatch()
    stage.ask("POST", "/embed", body, key=stage.other)
    return stopwatch() - begun


def large_json_without_a_key(stage: Stage, row: Row) -> None:
    """Strangers begin with large and deep bodies: who they are is asked before what they say."""
    bodies = [DEEP, WIDE] * LARGE_SENDERS
    sockets = [stage.connect(number) for number in range(len(bodies))]
    with closing(sockets):
        for one, body in zip(sockets, bodies, strict=True):
            one.sendall(head("/api/v1/documents", len(body), None) + body[: limits.KB])
        end = stopwatch() + (PATIENCE_SECONDS if FULL else 5)
        while open_still(sockets) and stopwatch() < end:
            time.sleep(0.02)
        unread = len(sockets) - len(open_still(sockets))
        row.facts = {"asked for": len(bodies), "answered before the body": unread}
        if unread < len(bodies):
            row.faults.append(f"{len(bodies) - unread} strangers must send their body before they are refused")
        rest = threading.Thread(target=_send_rest, args=(list(zip(sockets, bodies, strict=True)),))
        rest.start()
        watch(stage, row)
        rest.join()


def _send_rest(sending: Sequence[tuple[socket.socket, bytes]]) -> None:
    for one, body in sending:
        with suppress(OSError):
            one.sendall(body[limits.KB :])


def large_json_with_a_key(stage: Stage, row: Row) -> None:
    """One key sends bodies that are deep, wide, or 20 MB of base64."""
    sent = (("/query", DEEP), ("/api/v1/documents", WIDE), ("/api/v1/documents", BASE64))
    statuses: Counter[int] = Counter()

    def send() -> None:
        for path, body in sent * LARGE_ROUNDS:
            try:
                statuses[stage.ask("POST", path, body, key=stage.greedy, address=ATTACKERS[0])[0]] += 1
            except OSError:
                statuses[0] += 1

    senders = [threading.Thread(target=send) for _ in range(LARGE_SENDERS)]
    with Watch(stage, row):
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
    row.facts = {"asked for": LARGE_SENDERS * LARGE_ROUNDS * len(sent)}
    row.facts |= {f"answered {status}": number for status, number in sorted(statuses.items())}
    if statuses.keys() - {400, 408, 503}:
        row.faults.append(f"odd answers: {dict(statuses)}")


def dripping_json(stage: Stage, row: Row) -> None:
    """One key announces large JSON, or does not say how large, and sends little of it."""
    sockets = [stage.connect(number) for number in range(2 * LARGE_SENDERS)]
    with closing(sockets):
        for number, one in enumerate(sockets):
            length = 20 * limits.MB if number % 2 else None
            one.sendall(head("/api/v1/documents", length, stage.greedy) + (b"" if number % 2 else b"1\r\n{\r\n"))
        row.facts = {"asked for": len(sockets)}
        watch(stage, row)
        row.facts["held"] = len(open_still(sockets))


def rows_of_nothing(stage: Stage, row: Row) -> None:
    """One key sends bulk sends of 15 MB in which no row can be sent: empty lines of CSV, or numbers in JSON."""
    told = json.dumps({"name": "Nobody", "template_id": _template(stage), "dry_run": True}).encode()
    disposition = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
    parts = [(b"bulk_send", b"", told)]
    parts.append((b"file", b'; filename="a.csv"', b"Tenant.name,Tenant.email\n" + b"\n" * NOTHING_BYTES))
    form = b"".join(disposition % (name, more) + data + b"\r\n" for name, more, data in parts) + b"--b--\r\n"
    numbers = told[:-1] + b', "rows": [' + b"1," * (NOTHING_BYTES // 2) + b"1]}"
    answered: Counter[int] = Counter()
    with Watch(stage, row):
        for body, kind in ((form, "multipart/form-data; boundary=b"), (numbers, "application/json")):
            answered[stage.ask("POST", "/api/v1/bulk-sends", body, key=stage.greedy, kind=kind)[0]] += 1
    row.facts = {"asked for": 2, **{f"answered {status}": number for status, number in answered.items()}}
    if answered != {400: 2}:
        row.faults.append(f"odd answers: {dict(answered)}")
    if max(row.livez) > NOTHING_SECONDS:
        row.faults.append(f"/livez took {max(row.livez):.1f} s")
    if row.megabytes > NOTHING_MB:
        row.faults.append(f"it took {row.megabytes:.0f} MB")


def _template(stage: Stage) -> str:
    file = {"name": "lease.pdf", "content_base64": base64.b64encode(PAGE).decode()}
    template = {"name": "Lease", "file": file, "roles": [{"name": "Tenant"}]}
    _, made = stage.ask("POST", "/api/v1/templates", json.dumps(template).encode(), key=stage.greedy)
    return str(json.loads(made)["id"])


def large_batch(stage: Stage, row: Row) -> None:
    """One key sends to thousands of people at once: all rows are checked in its request, and sent by its job."""
    template_id = _template(stage)
    people = [{"name": "Ann", "email": f"ann{number}@example.com"} for number in range(BATCH_ROWS)]
    rows = [{"roles": {"Tenant": one}} for one in people]
    body = {"name": "Everybody", "template_id": template_id, "rows": rows}
    with Watch(stage, row):
        status, answer = stage.ask("POST", "/api/v1/bulk-sends", json.dumps(body).encode(), key=stage.greedy)
        batch = json.loads(answer)
        row.facts = {"asked for": BATCH_ROWS, f"answered {status}": 1, "asked by the other meanwhile": len(row.waited)}
        end = stopwatch() + 10 * PATIENCE_SECONDS
        while status == 201 and batch["status"] != "completed" and stopwatch() < end:
            time.sleep(0.1)
            batch = json.loads(stage.ask("GET", f"/api/v1/bulk-sends/{batch['id']}", key=stage.greedy)[1])
    if status != 201 or batch["counts"]["sent"] != BATCH_ROWS:
        row.faults.append(f"the batch came to {answer[:200]!r}")


def verify_bombs(stage: Stage, row: Row) -> None:
    """Strangers have small files verified that ask for much work; the other has a clean file verified."""
    files = [make() for make in bombs.BOMBS.values()]
    answered: Counter[int] = Counter()

    def send(address: str) -> None:
        for file in files:
            body, kind = _form(file)
            with suppress(OSError):
                answered[stage.ask("POST", "/verify", body, address=address, kind=kind)[0]] += 1

    def own() -> int:
        body, kind = _form(PAGE)
        return stage.ask("POST", "/api/v1/verify", body, key=stage.other, kind=kind)[0]

    assert own() == 200  # a process is ready
    senders = [threading.Thread(target=send, args=(address,)) for address in (*ATTACKERS, "127.0.0.14")]
    waited = list[float]()
    with Watch(stage, row):
        for sender in senders:
            sender.start()
        while any(sender.is_alive() for sender in senders) or len(waited) < 10:
            begun = stopwatch()
            status = own()
            waited.append(stopwatch() - begun)
            if status != 200:
                row.faults.append(f"a file of the other: {status}")
    row.waited += waited
    row.facts = {"asked for": len(files) * len(senders), "files of the other verified meanwhile": len(waited)}
    row.facts |= {f"answered {status}": number for status, number in sorted(answered.items())}
    if answered != {200: len(files) * len(senders)}:
        row.faults.append(f"odd answers: {dict(answered)}")
    if max(waited) > NOTHING_SECONDS:
        row.faults.append(f"a file of the other took {max(waited):.1f} s")


def title_searches(stage: Stage, row: Row) -> None:
    """Four callers of a workspace with many documents search titles; another workspace lists and searches its own."""
    answered: Counter[int] = Counter()
    done = threading.Event()

    def search(number: int) -> None:
        while not done.is_set():
            for query in SEARCHES:
                path = f"{LIST}?q={query}"
                answered[stage.ask("GET", path, key=stage.greedy, address=ATTACKERS[number % len(ATTACKERS)])[0]] += 1

    other = copy.copy(stage)
    other.other = asyncio.run(other_key(stage.data))
    asked = [("GET", path, b"", 200) for path in (LIST, f"{LIST}?q=agreement")]
    for _, path, *_ in asked:
        assert other.ask("GET", path, key=other.other)[0] == 200  # what the first request loads
    searchers = [threading.Thread(target=search, args=(number,)) for number in range(SEARCHERS)]
    for searcher in searchers:
        searcher.start()
    with Watch(other, row, asked):
        time.sleep(WATCH_SECONDS)
        while len(row.livez) < 10 or len(row.waited) < 10 or sum(answered.values()) < SEARCHERS:
            time.sleep(0.05)
    done.set()
    for searcher in searchers:
        searcher.join()
    row.facts = {"documents": stage.documents, "searches": sum(answered.values())}
    row.facts |= {f"answered {status}": number for status, number in sorted(answered.items())}
    if answered.keys() != {200}:
        row.faults.append(f"odd answers: {dict(answered)}")
    if (livez := _part(row.livez, 99)) > LIVEZ_SECONDS:
        row.faults.append(f"/livez: p99 of {livez * 1000:.0f} ms")
    if (waited := _part(row.waited, 99)) > TENANT_SECONDS:
        row.faults.append(f"another workspace: p99 of {waited * 1000:.0f} ms")


def _form(file: bytes) -> tuple[bytes, str]:
    head = b'--bomb\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
    return head + file + b"\r\n--bomb--\r\n", "multipart/form-data; boundary=bomb"


def watch(stage: Stage, row: Row) -> None:
    with Watch(stage, row):
        time.sleep(WATCH_SECONDS)


Case: TypeAlias = Callable[[Stage, Row], None]
CASES: dict[str, Case] = {
    "stalled uploads of one key": stalled_uploads,
    "half-open connections of one address": half_open_connections,
    "4 requests of 256 texts to embed, of one key": many_texts,
    "large and deep JSON without a key": large_json_without_a_key,
    "large and deep JSON with a key": large_json_with_a_key,
    "large JSON that drips, of one key": dripping_json,
    "a batch of thousands of rows, of one key": large_batch,
    "rows of nothing, of one key": rows_of_nothing,
    "files that verify slowly, of four strangers": verify_bombs,
}
AMONG_MANY: dict[str, Case] = {"title searches of four callers": title_searches}
"""Cases in a workspace with many documents."""


def make_key(data: Path) -> str:
    rates = ("--scope", "*", "--tier", "enterprise", "--per-minute", "100000", "--per-day", "10000000")
    made = server.run("keys", "create", "--name", "fault test", "--json", *rates, data=data)
    assert made.returncode == 0, made.stderr
    return str(json.loads(made.stdout)["key"])


def play(cases: Sequence[str], data: Path, models: Path, *, bug: str | None = None, documents: int = 0) -> list[Row]:
    """The cases, one after the other, at a server of their own, whose workspace has so many documents."""
    if documents:
        make_key(data)
        asyncio.run(fill(data, documents))
    env = {"PYTHONPATH": os.environ.get("FAULT_SOURCE", str(ROOT)), "DEEDBOX_MODELS_DIR": str(models)}
    env |= {VARIABLE: bug} if bug else {}
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * limits.CONNECTIONS), hard))
    running = server.start(data, module="tests.faults.faulty_server" if bug else "deedbox", env=env)
    rows = []
    try:
        stage = Stage(running, data, make_key(data), make_key(data))
        stage.documents = documents
        for name in cases:
            rows.append(Row(name))
            (CASES | AMONG_MANY)[name](stage, rows[-1])
            while stage.metric("deedbox_requests_in_flight") > 1:
                time.sleep(0.05)
    finally:
        running.kill()
        if running.process.stdout:
            running.process.stdout.close()
    return rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        words, models = sys.argv[1:], ROOT / ".cache" / "models"
        played = []
        for group, documents in ((CASES, 0), (AMONG_MANY, TITLES)):
            if chosen := [name for name in group if not words or any(word in name for word in words)]:
                played += play(chosen, Path(folder) / f"data-{documents}", models, documents=documents)
        print(HEADER, *played, sep="\n")
        print(*(f"{row.case}: {fault}" for row in played for fault in row.faults[:5]), sep="\n")
