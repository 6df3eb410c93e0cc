"""Texts are found by any part of them, by the index alone, on both databases."""

import pytest

from deedbox.kernel import limits
from deedbox.kernel.db import Database, Tx, grams

pytestmark = [pytest.mark.anyio, pytest.mark.both_databases]

NAMES = ["lease agreement", "mietvertrag für büro 7", "租赁合同 北京", "a", "", "50% discount_(new)", "ein 😀 smiley"]


@pytest.fixture(autouse=True)
def index_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest names are not walked first."""
    monkeypatch.setattr(limits, "NAMES_WALKED", 0)


def add(tx: Tx, number: int, name: str, workspace: str = "wsp_a") -> None:
    tx.run(
        "insert into templates (id, workspace_id, name_folded, version, created_at)"
        " values (:id, :workspace, :name, 1, '2026-03-01T12:00:00Z')",
        id=f"tpl_{number:03}",
        workspace=workspace,
        name=name,
    )


async def filled(db: Database) -> None:
    def fill(tx: Tx) -> None:
        for workspace in ("wsp_a", "wsp_b"):
            sql = "insert into workspaces (id, name, created_at) values (:id, 'A', '2026-03-01T12:00:00Z')"
            tx.run(sql, id=workspace)
        for number, name in enumerate(NAMES):
            add(tx, number, name)
            add(tx, 100 + number, name, "wsp_b")

    await db.write(fill)


async def found(db: Database, part: str) -> list[str]:
    wanted = grams.WantedRows("templates", "name_folded", part, ["templates.workspace_id = :workspace_id"])
    return await db.read(lambda tx: grams.page(tx, "wsp_a", wanted, 50, {}))


@pytest.mark.parametrize(
    "part", [*NAMES, "e", "ag", "agr", "合同", "同", "büro 7", "%", "_(n", "😀", "ase agre", '"', "eega"]
)
async def test_every_part_of_a_name_finds_it(db: Database, part: str) -> None:
    await filled(db)
    expected = [f"tpl_{number:03}" for number, name in enumerate(NAMES) if part in name]
    assert await found(db, part) == expected[::-1]


async def test_a_renamed_row_is_found_by_its_new_name_only(db: Database) -> None:
    await filled(db)
    sql = "update templates set name_folded = 'contract' where id = 'tpl_000'"
    await db.write(lambda tx: tx.run(sql))
    assert (await found(db, "lease"), await found(db, "ntra")) == ([], ["tpl_000"])


async def test_a_deleted_row_is_not_found(db: Database) -> None:
    await filled(db)
    await db.write(lambda tx: tx.run("delete from templates where id = 'tpl_000'"))
    assert await found(db, "lease") == []
    await db.write(lambda tx: add(tx, 50, "release"))
    assert await found(db, "lease") == ["tpl_050"]
