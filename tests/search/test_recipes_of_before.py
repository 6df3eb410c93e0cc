"""A database in which one log stood for every model goes on answering, byte for byte, when logs are split by recipe."""

import pytest

from deedbox.accounts import store as accounts
from deedbox.kernel.db import Tx
from deedbox.search import library, store
from deedbox.search.chunks import store as chunk_store
from tests.conftest import HandClock
from tests.search.before import Old, old

__all__ = ["old"]
pytestmark = pytest.mark.anyio
UPLOAD = """
insert into uploads (id, workspace_id, filename, media_type, size_bytes, sha256, text_length, pages, status,
    status_before, error, revision, chunk_set_id, signed, created_at, indexed_at)
values (:id, 'wsp_one', :id, 'text/plain', 1, :sha256, 1, null, :status, null, null, 1, :set_id, 0,
    '2026-03-01T12:00:00Z', null)
"""
SET = """
insert into chunk_sets (id, workspace_id, sha256, recipe, chunks, created_at)
values (:id, 'wsp_one', :sha256, :recipe, 1, :created_at)
"""
CHUNK = """
insert into chunks (chunk_set_id, number, text, char_start, char_end, page, heading, vector)
values (:id, 0, :text, 0, 1, 3, 'Rent', :vector)
"""
LOG = """
insert into index_log (workspace_id, number, upload_id, chunk_set_id)
values ('wsp_one', :number, :upload_id, :set_id)
"""


def fill(tx: Tx) -> None:
    """Two documents of the last model, one of the model before it, one that is gone, one never indexed."""
    accounts.add_workspace(tx, "wsp_one", "one", "2026-03-01T12:00:00Z")
    sets = {"a": "new", "b": "new", "c": "old"}
    for number, (name, recipe) in enumerate(sets.items(), 1):
        created_at = f"2026-03-0{2 if recipe == 'new' else 1}T12:00:00Z"
        tx.run(SET, id=f"set_{name}", sha256=name * 64, recipe=recipe, created_at=created_at)
        tx.run(CHUNK, id=f"set_{name}", text=f"text {name}", vector=name.encode() * 8)
        tx.run(UPLOAD, id=f"upl_{name}", sha256=name * 64, status="indexed", set_id=f"set_{name}")
        tx.run(LOG, number=number, upload_id=f"upl_{name}", set_id=f"set_{name}")
    tx.run(LOG, number=7, upload_id="upl_gone", set_id=None)
    tx.run(UPLOAD, id="upl_d", sha256="d" * 64, status="uploaded", set_id=None)


async def test_what_answered_before_the_upgrade_answers_after_it(old: Old, clock: HandClock) -> None:
    db = old.opened()
    await db.write(fill)
    await db.close()
    old.upgrade()
    db = old.opened()
    try:
        described = await db.read(lambda tx: store.summaries(tx, "wsp_one"))
        assert [(each.upload.id, each.chunks, each.recipe) for each in described] == [
            ("upl_a", 1, "new"),
            ("upl_b", 1, "new"),
            ("upl_c", 1, "old"),
            ("upl_d", 0, None),
        ]
        assert await db.read(lambda tx: chunk_store.serving_recipe(tx, "wsp_one")) == "new"
        assert await db.read(lambda tx: chunk_store.watermark(tx, "wsp_one", "new")) == 7
        chunks = await db.read(lambda tx: library.chunks(tx, "wsp_one", "upl_c"))
        assert [(chunk.text, chunk.page, chunk.heading) for chunk in chunks] == [("text c", 3, "Rent")]
        vectors = await db.read(lambda tx: chunk_store.chunk_vectors(tx, "set_b"))
        assert [bytes(vector) for _, _, vector in vectors] == [b"b" * 8]
        assert await db.read(lambda tx: chunk_store.to_renew(tx, "wsp_one", "new")) == ["upl_c"]
        assert await db.read(lambda tx: chunk_store.workspaces_to_renew(tx, "new")) == ["wsp_one"]
        kept = await db.read(lambda tx: chunk_store.chunk_set(tx, described[0].upload, "new"))
        assert kept == ("set_a", 1)
        for name in ("upl_a", "upl_b", "upl_c"):
            await db.write(lambda tx, name=name: library.remove(tx, "wsp_one", name, now=clock.now()))  # type: ignore[misc]
        assert await db.read(lambda tx: tx.all("select id from chunk_sets")) == []
    finally:
        await db.close()
