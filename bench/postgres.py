"""A PostgreSQL server for a bench: the one that it was told of, or one of its own, as durable as any."""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres import Cluster

OWN = "own"


def add_option(options: argparse.ArgumentParser) -> None:
    options.add_argument(
        "--postgres", nargs="?", const=OWN, metavar="URL", help="on PostgreSQL: where databases may be made, or its own"
    )


@contextmanager
def found(wish: str | None) -> Iterator[str | None]:
    """Where databases may be made; None if PostgreSQL was not asked for."""
    if wish != OWN:
        yield wish
        return
    # A short path: a socket's name has 100 characters at most.
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="deedpg")))
    try:
        cluster.start(durable=True)
        yield cluster.url("postgres")
    finally:
        cluster.stop()
