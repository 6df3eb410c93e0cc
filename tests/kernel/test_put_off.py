"""Statements that are put off go together, and nobody can tell that they came later."""

import pytest

from deedbox.kernel.db import Database, Tx
from deedbox.kernel.db.deferred import DeferredWrites
from tests.kernel.counted import Counted

pytestmark = pytest.mark.anyio

_INSERT = "insert into workspaces (id, name, created_at) values (:id, :name, '')"


def _names(tx: Tx) -> list[str]:
    return [row[0] for row in tx.all("select name from workspaces order by id")]


async def test_what_was_put_off_is_seen_by_whatever_is_asked_next(db: Database) -> None:
    def write(tx: Tx) -> list[str]:
        for number in range(3):
            tx.later(_INSERT, id=f"wsp_{number}", name=f"n{number}")
        seen = _names(tx)
        tx.later(_INSERT, id="wsp_9", name="late")
        tx.run("update workspaces set name = 'changed' where id = 'wsp_9'")
        return seen

    assert await db.write(write) == ["n0", "n1", "n2"]
    assert await db.read(_names) == ["n0", "n1", "n2", "changed"]


async def test_what_was_put_off_is_written_at_the_end_or_not_at_all(db: Database) -> None:
    await db.write(lambda tx: tx.later(_INSERT, id="wsp_1", name="kept"))

    def doomed(tx: Tx) -> None:
        tx.later(_INSERT, id="wsp_2", name="lost")
        raise LookupError

    with pytest.raises(LookupError):
        await db.write(doomed)

    def twice(tx: Tx) -> None:
        tx.later(_INSERT, id="wsp_3", name="first")
        tx.later(_INSERT, id="wsp_3", name="again")

    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        await db.write(twice)
    assert await db.read(_names) == ["kept"]


async def test_statements_of_one_text_go_to_the_database_together(db: Database) -> None:
    def write(tx: Tx) -> int:
        waiting, counted = DeferredWrites(), Counted(tx)
        for number in range(5):
            waiting.add(_INSERT, {"id": f"wsp_{number}", "name": "x"})
            waiting.add("update workspaces set name = :name where id = :id", {"id": "wsp_0", "name": str(number)})
        waiting.settle(counted)
        return counted.calls

    assert await db.write(write) == 2
    assert await db.read(_names) == ["4", "x", "x", "x", "x"]
