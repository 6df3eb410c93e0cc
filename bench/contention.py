"""Sixty documents on PostgreSQL by two servers and a worker: how many transactions were rolled back, and begun again.

Usage: python -m bench.contention [--clients 6] [--documents 10] [--small]"""

import os
import re
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import psycopg

from bench import postgres
from bench.lifecycle import Place, at_once, make_pdf, places, serving
from bench.measure import temporary_folder
from bench.options import Options, tell
from bench.request import make_key
from bench.scale import working

AIM = 0.1
"""Per cent of all transactions."""


class Counted(NamedTuple):
    transactions: int
    lost: int
    """Races, as PostgreSQL's log has them: each is a transaction that was rolled back and begun again."""


def counted(url: str) -> Counted:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("select pg_stat_force_next_flush()")
        sql = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()"
        [(transactions,)] = connection.execute(sql).fetchall()
        [(folder,)] = connection.execute("show data_directory").fetchall()
    log = Path(folder).with_name("log").read_text(errors="replace")
    return Counted(transactions, len(re.findall("ERROR:  (?:could not serialize|deadlock detected)", log)))


def run(place: Place, key: str, pdf: bytes, clients: int, each: int) -> tuple[Counted, Counted]:
    assert place.url is not None
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(place, key, pdf, "--no-work")) for _ in range(2)]
        stack.enter_context(working(place))
        for server in servers:
            at_once(server, 1, 1)  # starts the sandboxes
        before = counted(place.url)
        threads = [threading.Thread(target=at_once, args=(server, clients // 2, each)) for server in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return before, counted(place.url)


def main() -> None:
    options = Options(__doc__)
    options.size("clients", 6, small=2)
    options.size("documents", 10, small=1, help="of each client")
    wish, pdf = options.wish(), make_pdf()
    with temporary_folder() as folder, postgres.found(postgres.OWN) as url, places(Path(folder), [], url) as (place, _):
        os.environ.update(place.environment)
        key = make_key(place.data, "*")
        before, after = run(place, key, pdf, wish.clients, wish.documents)
    done = Counted(*(late - early for early, late in zip(before, after, strict=True)))
    share = 100 * done.lost / max(1, done.transactions)
    print(f"{wish.clients * wish.documents} documents, two servers, one worker:")
    print(f"  {done.transactions} transactions, {done.lost} lost a race and began again ({share:.2f} %, aim {AIM} %)")
    tell(wish, share=f"{share:.2f} %", transactions=str(done.transactions))


if __name__ == "__main__":
    main()
