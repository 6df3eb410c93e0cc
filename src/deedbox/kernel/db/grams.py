"""Find rows by any part of a text: an index of all sequences of one to three characters, on both databases.

Triggers (`migrations/ddl.py`) keep the table `<table>_grams` up to date. A longer part is found by its sequences of
three characters, and then compared as a whole. PostgreSQL's own trigrams ignore scripts that its locale does not know,
and SQLite's find nothing shorter than three characters: so both databases index the same sequences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from deedbox.kernel import limits
from deedbox.kernel.db import Tx, Value

TABLES = frozenset(f"{table}_grams" for table in ("documents", "packets", "templates", "uploads", "mails"))
_LONGEST = 3
_SEPARATOR = "\x1f"


class WantedRows(NamedTuple):
    """Which rows of a table a list shows; conditions name the columns with their table."""

    table: str
    text: str
    """The expression that the index is made of."""
    part: str
    """What the text contains, folded as the text is."""
    bounds: Sequence[str]
    """Conditions on the id."""
    branches: Sequence[str] = ("true",)
    """A row meets one of these: an index holds the rows of each in the order of their ids."""
    others: Sequence[str] = ()
    newest_first: bool = True


def tokens(workspace_id: str, text: str) -> str:
    """Return what SQLite's full-text index stores for the text: words of hexadecimal digits."""
    return _hexadecimal([workspace_id, *_grams(text, range(1, _LONGEST + 1))])


def page(tx: Tx, workspace_id: str, wanted: WantedRows, limit: int, values: Mapping[str, Value]) -> list[str]:
    """Return the ids of the first rows that a list shows. Its cost grows with the data: call it with `read_aside`."""
    table = wanted.table
    order = f"order by {table}.id {'desc' if wanted.newest_first else 'asc'}"
    own = " and ".join([f"{table}.workspace_id = :workspace_id", *wanted.bounds])
    others = "".join(f" and {condition}" for condition in wanted.others)
    given = {**values, "workspace_id": workspace_id, "q": wanted.part, "limit": limit}
    # What is frequent is found among the nearest rows, where the index would find all others too.
    branches = [
        f"select * from (select id, {wanted.text} as text from {table} where {own} and {branch} {order} limit :walked)"
        f" as branch{number}"
        for number, branch in enumerate(wanted.branches)
    ]
    walk = (
        f"with near as materialized ({' union all '.join(branches)}) select {table}.id from near"
        f" cross join {table} where {table}.id = near.id and instr(near.text, :q) > 0{others}"
        f" {order} limit :limit"
    )
    found = [row[0] for row in tx.all(walk, **given, walked=limits.NAMES_WALKED)]
    if len(found) >= limit:
        return found
    held = (
        f"with held as materialized (select id from {table} where {_INDEXED[tx.dialect].format(table=table)}"
        f" and workspace_id = :workspace_id and instr({wanted.text}, :q) > 0) select {table}.id from held"
        f" cross join {table} where {table}.id = held.id and {own} and ({' or '.join(wanted.branches)}){others}"
        f" {order} limit :limit"
    )
    return [row[0] for row in tx.all(held, **given, grams=_asked(tx, workspace_id, wanted.part))]


_INDEXED = {
    "sqlite": "{table}.rowid in (select rowid from {table}_grams where {table}_grams match :grams)",
    "postgres": "id in (select id from {table}_grams where grams @> string_to_array(:grams, chr(31)))",
}


def _asked(tx: Tx, workspace_id: str, part: str) -> str:
    """Return the sequences that a text must have to contain the part."""
    words = [workspace_id, *_grams(part, [min(len(part), _LONGEST)])]
    return _hexadecimal(words) if tx.dialect == "sqlite" else _SEPARATOR.join(words)


def _grams(text: str, sizes: Iterable[int]) -> set[str]:
    return {text[at : at + size] for size in sizes if size for at in range(len(text) - size + 1)}


def _hexadecimal(words: Iterable[str]) -> str:
    return " ".join(word.encode(errors="surrogatepass").hex() for word in words)
