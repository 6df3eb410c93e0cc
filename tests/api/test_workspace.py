"""The workspace's own words: its name, its sender, and whether the sender is sent notices."""

from typing import Any

import pytest

from tests.api.conftest import Api

pytestmark = pytest.mark.anyio

PATH = "/api/v1/workspace"


async def changed(api: Api, **body: Any) -> Any:
    answer = await api.call("PATCH", PATH, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_new_workspace_has_no_sender_and_notices_on(api: Api) -> None:
    assert (await api.get(PATH)).json() == {
        "id": api.workspace,
        "object": "workspace",
        "name": "Main",
        "sender_name": None,
        "sender_email": None,
        "notices": True,
    }


async def test_what_is_given_changes_and_the_rest_stays(api: Api) -> None:
    await changed(api, name="Harbour Ltd", sender_name=" Mara\nLind ", sender_email="Mara@BÜCHER.example")
    after = await changed(api, notices=False)
    assert (after["name"], after["sender_name"], after["notices"]) == ("Harbour Ltd", "Mara Lind", False)
    assert after["sender_email"] == "Mara@xn--bcher-kva.example"
    assert (await api.get(PATH)).json() == after
    assert (await changed(api, sender_name=None, sender_email=None))["sender_email"] is None
    assert (await api.get("/api/v1/me")).json()["workspace"]["name"] == "Harbour Ltd"


async def test_what_is_read_can_be_written_back(api: Api) -> None:
    shown = (await api.get(PATH)).json()
    assert await changed(api, **shown) == shown
    other = await api.call("PATCH", PATH, json={**shown, "id": api.other_workspace})
    assert (other.status_code, other.json()["error"]) == (400, "id: cannot be changed")


async def test_another_workspace_is_neither_seen_nor_changed(api: Api) -> None:
    theirs = await api.make_key("workspace:read", "workspace:write", workspace=api.other_workspace)
    await changed(api, name="Harbour Ltd")
    shown = (await api.get(PATH, key=theirs)).json()
    assert (shown["id"], shown["name"]) == (api.other_workspace, "Other")


async def test_each_scope_opens_its_own(api: Api) -> None:
    reader = await api.make_key("workspace:read")
    assert (await api.get(PATH, key=reader)).status_code == 200
    refused = await api.call("PATCH", PATH, json={"name": "X"}, key=reader)
    assert (refused.status_code, "workspace:write" in refused.json()["error"]) == (403, True)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "Nothing is to be changed"),
        ({"name": ""}, "name"),
        ({"name": " \n "}, "must not be empty"),
        ({"name": "x" * 101}, "name"),
        ({"name": None}, "name"),
        ({"name": "\U00012000"}, "The name of the workspace"),
        ({"sender_name": ""}, "sender_name"),
        ({"sender_email": "nobody"}, "e-mail address"),
        ({"sender_email": "a@b.example\r\nBcc: c@d.example"}, "e-mail address"),
        ({"notices": "yes"}, "notices"),
        ({"logo": "x"}, "logo"),
    ],
)
@pytest.mark.one_database
async def test_what_cannot_be_is_refused_and_changes_nothing(api: Api, body: Any, says: str) -> None:
    before = (await api.get(PATH)).json()
    answer = await api.call("PATCH", PATH, json=body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]
    assert (await api.get(PATH)).json() == before
