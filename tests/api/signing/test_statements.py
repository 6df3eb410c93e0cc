"""How many statements it takes to create and send a document: nothing is read that was just written."""

from collections.abc import Callable
from typing import Any

import pytest

from deedbox.kernel.db.postgres import PostgresTx
from deedbox.kernel.db.sqlite import SqliteTx
from tests.api.conftest import opened
from tests.api.signing.conftest import Office, signer
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio
MOST = 13


@pytest.fixture
async def office(database_url: str, tmp_path: Any, clock: HandClock) -> Any:
    async with opened(database_url, tmp_path, clock) as made:
        await made.settle()
        yield Office(made)


def watched(patch: pytest.MonkeyPatch) -> dict[int, list[str]]:
    """What each transaction is asked, from now on."""
    asked: dict[int, list[str]] = {}
    held: list[Any] = []  # so that no two transactions have the same address

    def noting(method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any, sql: str, /, *args: Any, **values: Any) -> Any:
            held.append(self)
            asked.setdefault(id(self), []).append(" ".join(sql.split())[:60])
            return method(self, sql, *args, **values)

        return noted

    for kind in (SqliteTx, PostgresTx):
        for name in ("one", "all", "run", "many"):
            patch.setattr(kind, name, noting(getattr(kind, name)))
    return asked


async def test_create_and_send_takes_at_most_thirteen_statements(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        asked = watched(patch)
        document = await office.create(send=True)
    assert document["status"] == "sent"
    assert len(writing(asked)) <= MOST, "\n".join(writing(asked))


async def test_from_a_template_it_takes_no_more(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    new = {"name": "Lease", "file": office.body()["file"], "roles": [{"name": "Tenant"}]}
    template = (await office.api.post("/api/v1/templates", new)).json()
    wanted = {"template_id": template["id"], "roles": {"Tenant": signer("ann")}, "send": True}
    with monkeypatch.context() as patch:
        asked = watched(patch)
        document = (await office.api.post("/api/v1/documents", wanted)).json()
    assert document["status"] == "sent"
    assert len(writing(asked)) <= MOST, "\n".join(writing(asked))


def writing(asked: dict[int, list[str]]) -> list[str]:
    """What the transaction was asked that wrote the document."""
    [found] = [sql for sql in asked.values() if any("insert into documents" in one for one in sql)]
    return found
