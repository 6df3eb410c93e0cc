"""What more processes bring on one machine: requests a second with 1, 2 and 4 servers, documents a second with 1 and 2
workers, all on one PostgreSQL; and a hybrid query at a size, on each kind of index.

Servers, workers, PostgreSQL and the clients share the cores of this machine: where those are all busy, more processes
bring nothing, and the CPU of each request says what a machine of its own would bring.

Usage: python -m bench.scale [--servers 1 2 4] [--workers 1 2] [--chunks 100000] [--small]"""

import asyncio
import http.client
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psycopg

from bench import indexes, postgres, query
from bench.corpus import DIMENSIONS, Corpus
from bench.lifecycle import Place, Server, at_once, make_pdf, places, serving, tree_seconds
from bench.measure import get, median, process, ratio, temporary_folder
from bench.options import Options, tell
from bench.request import PATH, make_key
from deedbox.kernel.clock import stopwatch
from deedbox.kernel.db.postgres import PostgresDatabase
from deedbox.search.embed.local import cores
from deedbox.search.index.postgres.indexes import PostgresIndexes

BASE_URL = "http://127.0.0.1:1"
"""Where links in mails lead: nobody opens one."""


class Rate(NamedTuple):
    per_second: float
    cpu_ms: float
    """Of servers, workers and PostgreSQL, for each."""


class Asked(NamedTuple):
    """Of one size on one kind of index."""

    p50: float
    p99: float
    recall: float


def local(folder: Path, size: int, queries: int) -> Asked:
    """The index in a server's own folder."""
    asked = query.built(folder, Corpus(), size, queries, None)
    engine = query.Engine(folder, asked)
    spent, recall = engine.times().hybrid, engine.recall()
    engine.index.close()
    return Asked(median(spent), float(np.percentile(spent, 99)), recall)


def in_postgres(_: Path, size: int, queries: int) -> Asked:
    """The index in a PostgreSQL of its own; prints pgvector and ts_rank alone, on the same chunks, beside it."""
    with (
        postgres.found(postgres.OWN) as server,
        indexes.database(str(server)) as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        db = PostgresDatabase(url)
        kept = PostgresIndexes(db, url)
        index = kept.open(indexes.PLACE, DIMENSIONS)
        asked = indexes.fill({"PostgreSQL": index}, connection, size, queries)
        indexes.settle(db, index)
        connection.execute("vacuum analyze")
        spent = indexes.quietest(indexes.hybrid(index, asked), queries, query.ROUNDS - 1)
        found = Asked(median(spent), float(np.percentile(spent, 99)), indexes.recall(index, asked))
        indexes.measure_plain(connection, asked, query.ROUNDS - 1)
        kept.close()
        asyncio.run(db.close())
        return found


INDEXES: Mapping[str, Callable[[Path, int, int], Asked]] = {"local": local, "postgres": in_postgres}
"""The kinds of index: each gets a folder, so many chunks and so many queries."""


class Spent:
    """CPU seconds of these processes with their children, and of the PostgreSQL server with all its own."""

    def __init__(self, url: str, pids: Sequence[int]) -> None:
        with psycopg.connect(url) as connection:
            [(folder,)] = connection.execute("show data_directory").fetchall()
        self._postmaster = int(Path(folder, "postmaster.pid").read_text().split()[0])
        self._pids = pids
        self._before = self._now()

    def _now(self) -> float:
        return sum(map(tree_seconds, self._pids)) + tree_seconds(self._postmaster) + ended_seconds(self._postmaster)

    def seconds(self) -> float:
        return self._now() - self._before


def ended_seconds(pid: int) -> float:
    """CPU time of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def listed(servers: Sequence[Server], key: str, clients: int, requests: int) -> float:
    """Seconds that the clients take for so many requests each, one server after the other."""

    def work(number: int) -> None:
        wire = http.client.HTTPConnection("127.0.0.1", servers[number % len(servers)].port, timeout=60)
        for _ in range(requests):
            get(wire, PATH, key)
        wire.close()
        done.append(number)

    done: list[int] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    begun = stopwatch()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(done) != clients:
        raise SystemExit("a client failed")
    return stopwatch() - begun


def requests_by_servers(wish: Any, first: Place, key: str, pdf: bytes) -> Iterator[tuple[int, Rate]]:
    """Each server has a data folder of its own, as on a machine of its own."""
    assert first.url is not None
    with ExitStack() as stack:
        servers: list[Server] = []
        for wanted in sorted(wish.servers):
            while len(servers) < wanted:
                place = Place(first.data.with_name(f"server{len(servers)}"), first.url)
                shutil.copytree(first.data, place.data)
                servers.append(stack.enter_context(serving(place, key, pdf, "--no-work")))
            listed(servers, key, len(servers), 5)  # everything is loaded
            spent, number = Spent(first.url, [one.pid for one in servers]), wish.clients * wish.requests
            seconds = listed(servers, key, wish.clients, wish.requests)
            yield wanted, Rate(number / seconds, spent.seconds() / number * 1000)


@contextmanager
def working(place: Place) -> Iterator[int]:
    """A worker beside the server, in the same folder; its process."""
    command = [sys.executable, "-m", "deedbox", "worker", "--json", "--data", str(place.data), "--base-url", BASE_URL]
    with process(command, **place.environment) as child:
        assert child.stdout is not None
        json.loads(child.stdout.readline())
        yield child.pid


def documents_by_workers(wish: Any, place: Place, key: str, pdf: bytes) -> Iterator[tuple[int, Rate]]:
    """One server that leaves the work to its workers."""
    assert place.url is not None
    with ExitStack() as stack:
        server, workers = stack.enter_context(serving(place, key, pdf, "--no-work")), list[int]()
        for wanted in sorted(wish.workers):
            while len(workers) < wanted:
                workers.append(stack.enter_context(working(place)))
            at_once(server, wanted + 1, 1)  # starts the sandboxes
            spent, number = Spent(place.url, [server.pid, *workers]), wish.clients * wish.documents
            begun = stopwatch()
            at_once(server, wish.clients, wish.documents)
            yield wanted, Rate(number / (stopwatch() - begun), spent.seconds() / number * 1000)


def show(wish: Any, what: str, who: str, found: Mapping[int, Rate]) -> None:
    """Prints the rates, and keeps them by the name of who does it."""
    print(f"{what}, {wish.clients} clients, {cores()} cores for clients, {who}s and PostgreSQL together:")
    for number, rate in found.items():
        print(
            f"  {number} {who}{'s' * (number > 1)}  {rate.per_second:7.1f}/s   {rate.cpu_ms:6.2f} ms of CPU each",
            end="",
        )
        print(f"   {ratio(cores() * 1000, rate.cpu_ms):7.1f}/s if these cores did nothing else", flush=True)
    rates, cpu = (rate.per_second for rate in found.values()), (rate.cpu_ms for rate in found.values())
    digits = 0 if who == "server" else 1
    tell(
        wish,
        cores=str(cores()),
        **{
            f"{who}s": ", ".join(map(str, found)),
            f"{who}_rates": ", ".join(f"{one:.{digits}f}" for one in rates),
            f"{who}_cpu": ", ".join(f"{one:.{1 - digits}f}" for one in cpu) + " ms",
        },
    )


def hybrid(wish: Any) -> None:
    print(f"a hybrid query, without embedding; load {os.getloadavg()[0]:.1f}:")
    for size in wish.chunks:
        for name, measured in INDEXES.items():
            with temporary_folder() as folder:
                found = measured(folder / "index", size, wish.queries)
            told = f"p50 {found.p50:.1f} ms, p99 {found.p99:.1f} ms, recall@10 {found.recall:.4f}"
            print(f"  {name:8} {size:9,d} chunks   {told}", flush=True)
            tell(wish, **{f"hybrid_{name}_{size}": told})


def main() -> None:
    options = Options(__doc__)
    options.size("servers", [1, 2, 4], small=[1, 2])
    options.size("workers", [1, 2], small=[1, 2])
    options.size("clients", 8, small=2)
    options.size("requests", 500, small=5, help="of each client")
    options.size("documents", 8, small=1, help="of each client")
    options.size("listed", 25, small=1, help="documents in the list")
    options.size("chunks", [100_000], small=[200])
    options.size("queries", 100, small=3)
    wish, pdf = options.wish(), make_pdf()
    with (
        temporary_folder() as folder,
        postgres.found(postgres.OWN) as url,
        places(folder, [], url) as (place, _),
    ):
        os.environ.update(place.environment)
        key = make_key(place.data, "*")
        with serving(place, key, pdf) as server:
            for _ in range(wish.listed):
                server.desk().create()
        show(wish, "lists of documents", "server", dict(requests_by_servers(wish, place, key, pdf)))
        show(wish, "documents sealed", "worker", dict(documents_by_workers(wish, place, key, pdf)))
    hybrid(wish)


if __name__ == "__main__":
    main()
