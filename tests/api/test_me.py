"""Who the caller is."""

import pytest

from deedbox.accounts.scopes import SCOPES, SHORTHANDS
from tests.api.conftest import Api

pytestmark = pytest.mark.anyio


async def test_a_key_sees_itself_and_its_workspace(api: Api) -> None:
    key = await api.make_key("keys:read", tier="starter")
    body = (await api.get("/api/v1/me", key=key)).json()
    assert list(body) == ["key", "workspace"]
    assert (body["key"]["id"], body["key"]["scopes"], body["key"]["tier"]) == (key.id, ["keys:read"], "starter")
    assert body["workspace"] == {"id": api.workspace, "name": "Main"}


async def test_any_key_may_ask_who_it_is(api: Api) -> None:
    for scope in (*SCOPES, *SHORTHANDS):
        key = await api.make_key(scope)
        answer = await api.get("/api/v1/me", key=key)
        assert (answer.status_code, answer.json()["key"]["scopes"]) == (200, [scope])


async def test_a_key_of_another_workspace_sees_that_one(api: Api) -> None:
    key = await api.make_key(workspace=api.other_workspace)
    assert (await api.get("/api/v1/me", key=key)).json()["workspace"] == {"id": api.other_workspace, "name": "Other"}


async def test_the_plain_text_is_not_shown_again(api: Api) -> None:
    assert api.key.plain not in (await api.get("/api/v1/me")).text
