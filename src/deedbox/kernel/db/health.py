"""Checks of the database for `deedbox doctor`."""

from deedbox.kernel.clock import Clock
from deedbox.kernel.db import Tx


def postgres_clock_ahead(url: str, clock: Clock) -> float:
    """By how many seconds PostgreSQL's clock is ahead of this machine's."""
    from deedbox.kernel.db import postgres

    with postgres.connect(url) as connection:
        row = connection.execute("select extract(epoch from clock_timestamp())").fetchone()
        return float(row[0]) - clock.now().timestamp() if row else 0.0


def database_time(tx: Tx) -> float:
    """What PostgreSQL's clock says."""
    row = tx.one("select extract(epoch from clock_timestamp())")
    return float(row[0]) if row else 0.0


def postgres_settings(url: str) -> dict[str, str]:
    """What PostgreSQL says of itself: its version, whether writes are durable, its room for connections."""
    from deedbox.kernel.db import postgres

    asked = "select name, setting from pg_settings where name = any(%s)"
    names = ["server_version", "fsync", "full_page_writes", "synchronous_commit", "max_connections"]
    with postgres.connect(url) as connection:
        return {str(name): str(setting) for name, setting in connection.execute(asked, [names]).fetchall()}


def problems(tx: Tx) -> list[str]:
    """What SQLite's own check finds, at most a few lines; PostgreSQL keeps watch over itself."""
    if tx.dialect == "postgres":
        return []
    return [row[0] for row in tx.all("pragma quick_check(5)") if row[0] != "ok"]
