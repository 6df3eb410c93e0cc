"""CPU per request of `GET /api/v1/documents` with 200,000 rows, beside a bare ASGI app and FastAPI with SQLAlchemy.

Usage: python -m bench.request [--rows 200000] [--requests 400] [--rounds 7]"""

import argparse
import http.client
import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.measure import cpu_seconds, get, median, peers_python, process, temporary_folder
from deedbox.kernel.clock import instant
from deedbox.kernel.db.sqlite import connect
from deedbox.kernel.ids import new_id

PATH = "/api/v1/documents"


def make_key(data: Path, scope: str = "documents:read") -> str:
    """A key whose limits the bench does not reach."""
    words = ["keys", "create", "--json", "--data", str(data), "--name", "bench", "--scope", scope]
    words += ["--tier", "enterprise", "--per-minute", "100000", "--per-day", "10000000"]
    made = subprocess.run([sys.executable, "-m", "deedbox", *words], capture_output=True, text=True, check=True)
    return str(json.loads(made.stdout)["key"])


def fill(data: Path, rows: int) -> None:
    """Documents of the one workspace, a second apart."""
    connection = connect(data / "deedbox.sqlite", writable=True)
    workspace = connection.execute("select id from workspaces").fetchone()[0]
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    message = '{"subject":"Please sign","body":"The agreement we spoke about."}'
    connection.execute("begin")
    for number in range(rows):
        moment = begin + timedelta(seconds=number)
        at, packet = instant(moment), new_id("pkt", moment)
        connection.execute(
            "insert into packets (id, workspace_id, lone, sender, company, language, message, title, title_folded,"
            " metadata, created_at)"
            " values (?, ?, 1, 'Main', 'Main', 'en', ?, '', '', '{}', ?)",
            (packet, workspace, message, at),
        )
        connection.execute(
            "insert into documents (id, workspace_id, packet_id, position, title, title_folded, status, source,"
            " metadata, files, asked_fields, require_timestamp, created_at, updated_at, sent_at, archive_status,"
            " archive_attempts, verification_code)"
            " values (?, ?, ?, 0, ?, '', 'sent', 'api', ?, '[]', '[]', 0, ?, ?, ?, 'disabled', 0, ?)",
            (
                new_id("doc", moment),
                workspace,
                packet,
                f"Lease agreement {number}",
                f'{{"case":"{number}"}}',
                at,
                at,
                at,
                f"code-{number}",
            ),
        )
    connection.execute("commit")
    connection.execute("analyze")
    connection.close()


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=7)
    wish = parser.parse_args()
    with temporary_folder() as folder, ExitStack() as stack:
        data = folder / "data"
        key = make_key(data)
        fill(data, wish.rows)
        database = str(data / "deedbox.sqlite")
        ports = {name: free_port() for name in ("deedbox", "bare", "fastapi")}
        commands = {
            "deedbox": [sys.executable, "-m", "deedbox", "serve", "--data", str(data), "--port", str(ports["deedbox"])],
            "bare": [sys.executable, "-m", "bench.peers.bare", database, str(ports["bare"])],
            "fastapi": [peers_python(), "bench/peers/fastapi_app.py", database, str(ports["fastapi"])],
        }
        children = {name: stack.enter_context(process(command)) for name, command in commands.items()}
        wires = {name: wait_for(port) for name, port in ports.items()}
        bodies = {name: json.loads(get(wires[name], PATH, key)) for name in commands}
        assert bodies["deedbox"] == bodies["bare"] == bodies["fastapi"], "the three do not answer the same"
        spent: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(wish.rounds):
            for name in commands:
                wires[name].close()  # an idle connection may have been closed meanwhile; the client opens it anew
                before = cpu_seconds(children[name].pid)
                for _ in range(wish.requests):
                    get(wires[name], PATH, key)
                spent[name].append((cpu_seconds(children[name].pid) - before) / wish.requests * 1e6)
    ours, bare, fastapi = (median(spent[name]) for name in ("deedbox", "bare", "fastapi"))
    print(f"CPU per request, {wish.rows} rows, median of {wish.rounds} rounds of {wish.requests}:")
    print(f"  deedbox  {ours:7.0f} µs")
    print(f"  bare     {bare:7.0f} µs   deedbox / bare    = {ours / bare:.2f}  (aim at most 1.7)")
    print(f"  fastapi  {fastapi:7.0f} µs   fastapi / deedbox = {fastapi / ours:.2f}  (aim at least 2)")


if __name__ == "__main__":
    main()
