"""GET /health of the search API."""

import pytest

from deedbox.accounts.scopes import SCOPES, SHORTHANDS
from tests.api.conftest import Api

pytestmark = pytest.mark.anyio


async def test_health_has_exactly_the_two_fields_of_the_contract(api: Api) -> None:
    answer = await api.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "healthy", "timestamp": "2026-03-01T12:00:00Z"}


async def test_health_answers_any_key_that_works_and_no_other(api: Api) -> None:
    assert (await api.get("/health", key=None)).status_code == 401
    for scope in (*SCOPES, *SHORTHANDS):
        assert (await api.get("/health", key=await api.make_key(scope))).status_code == 200, scope


async def test_health_is_not_healthy_without_its_database(api: Api) -> None:
    assert (await api.get("/health")).status_code == 200
    await api.deedbox.db.write(lambda tx: tx.run("alter table workspaces rename to elsewhere"))
    answer = await api.get("/health")
    assert (answer.status_code, answer.json()) == (500, {"error": "Internal server error"})
