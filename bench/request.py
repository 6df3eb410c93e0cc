"""CPU per request of `GET /api/v1/documents` with 200,000 rows, beside a bare ASGI app and FastAPI with SQLAlchemy.

Usage: python -m bench.request [--rows 200000] [--requests 400] [--rounds 7] [--no-peers] [--small]"""

import asyncio
import http.client
import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.measure import cpu_seconds, get, median, peers_python, process, ratio, temporary_folder
from bench.options import NOT_MEASURED, Options, tell
from deedbox import wiring
from deedbox.accounts import store as accounts
from deedbox.kernel.clock import instant
from deedbox.kernel.ids import new_id
from deedbox.kernel.settings import Settings
from deedbox.signing.model import Document, Message, Packet
from deedbox.signing.store import documents

BATCH = 5_000
PATH = "/api/v1/documents"


def make_key(data: Path, scope: str = "documents:read") -> str:
    """A key whose limits the bench does not reach."""
    words = ["keys", "create", "--json", "--data", str(data), "--name", "bench", "--scope", scope]
    words += ["--tier", "enterprise", "--per-minute", "100000", "--per-day", "10000000"]
    made = subprocess.run([sys.executable, "-m", "deedbox", *words], capture_output=True, text=True, check=True)
    return str(json.loads(made.stdout)["key"])


def made(workspace: str, number: int) -> Packet:
    """A sent document, a second later than the one before it, without people: the peers know none."""
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
    at, packet = instant(moment), new_id("pkt", moment)
    document = Document(
        new_id("doc", moment), workspace, packet, f"Lease agreement {number}", "sent", "api", None,
        {"case": str(number)}, [], False, at, at, sent_at=at, verification_code=f"code-{number}",
    )  # fmt: skip
    message = Message("Please sign", "The agreement we spoke about.")
    return Packet(packet, workspace, True, "Main", "Main", None, "en", message, None, None, [], [document])


async def fill(data: Path, rows: int) -> None:
    """Documents of the one workspace."""
    async with wiring.open_installation(Settings(data_dir=data)) as deedbox:
        first = await deedbox.db.read(accounts.first_workspace)
        assert first is not None
        for start in range(0, rows, BATCH):
            packets = [made(str(first[0]), number) for number in range(start, min(start + BATCH, rows))]
            asked: dict[str, list[Document]] = {one.first.id: [] for one in packets}
            await deedbox.db.write(lambda tx, packets=packets, asked=asked: documents.add_all(tx, packets, asked))  # type: ignore[misc]
        await deedbox.db.write(lambda tx: tx.run("analyze"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> http.client.HTTPConnection:
    for _ in range(300):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.connect()
            return connection
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing listens on {port}")


def show(wish: Any, spent: dict[str, float]) -> None:
    ours, times_bare = spent["deedbox"], ratio(spent["deedbox"], spent["bare"])
    print(f"CPU per request, {wish.rows} rows, median of {wish.rounds} rounds of {wish.requests}:")
    print(f"  deedbox  {ours:7.0f} µs")
    print(f"  bare     {spent['bare']:7.0f} µs   deedbox / bare    = {times_bare:.2f}  (aim at most 1.7)")
    fastapi = NOT_MEASURED
    if wish.peers:
        fastapi = f"{ratio(spent['fastapi'], ours):.1f} ×"
        print(f"  fastapi  {spent['fastapi']:7.0f} µs   fastapi / deedbox = {fastapi}  (aim at least 2)")
    tell(wish, cpu=f"{ours / 1000:.1f} ms", bare=f"{times_bare:.1f} ×", fastapi=fastapi)


def main() -> None:
    options = Options(__doc__, peers="FastAPI with SQLAlchemy")
    options.size("rows", 200_000, small=200)
    options.size("requests", 400, small=10)
    options.size("rounds", 7, small=1)
    wish = options.wish()
    with temporary_folder() as folder, ExitStack() as stack:
        data = folder / "data"
        key = make_key(data)
        asyncio.run(fill(data, wish.rows))
        database = str(data / "deedbox.sqlite")
        names = ("deedbox", "bare", "fastapi") if wish.peers else ("deedbox", "bare")
        ports = {name: free_port() for name in names}
        commands = {
            "deedbox": [sys.executable, "-m", "deedbox", "serve", "--data", str(data), "--port", str(ports["deedbox"])],
            "bare": [sys.executable, "-m", "bench.peers.bare", database, str(ports["bare"])],
        }
        if wish.peers:
            commands["fastapi"] = [peers_python(), "bench/peers/fastapi_app.py", database, str(ports["fastapi"])]
        children = {name: stack.enter_context(process(command)) for name, command in commands.items()}
        wires = {name: wait_for(port) for name, port in ports.items()}
        bodies = {name: json.loads(get(wires[name], PATH, key)) for name in commands}
        if any(body != bodies["bare"] for body in bodies.values()):
            raise SystemExit(f"{', '.join(names)} do not answer the same")
        spent: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(wish.rounds):
            for name in commands:
                wires[name].close()  # an idle connection may have been closed meanwhile; the client opens it anew
                before = cpu_seconds(children[name].pid)
                for _ in range(wish.requests):
                    get(wires[name], PATH, key)
                spent[name].append((cpu_seconds(children[name].pid) - before) / wish.requests * 1e6)
    show(wish, {name: median(each) for name, each in spent.items()})


if __name__ == "__main__":
    main()
