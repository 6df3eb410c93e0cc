"""Members by the API: roles, invitations, and the owner who always stays."""

import asyncio
from urllib.parse import urlsplit

import pytest

from deedbox.accounts import tiers
from deedbox.accounts.caller import Caller
from deedbox.accounts.members import invitations, members
from deedbox.accounts.members.invitations import NewInvitation
from deedbox.accounts.roles import Role, scopes_of
from deedbox.accounts.workspaces import operator
from deedbox.kernel import limits
from deedbox.kernel.errors import Conflict
from tests.api.conftest import Api
from tests.api.people import member, signed_in

pytestmark = pytest.mark.anyio

NEW = {"as": "new", "name": "Ben", "email": "ben@example.com", "password": "correct horse battery"}


async def the_owner(api: Api) -> str:
    [(person_id,)] = await api.rows(
        f"select person_id from memberships where workspace_id = '{api.workspace}' and role = 'owner'"
    )
    return str(person_id)


async def test_an_invitation_is_listed_joins_one_person_and_is_gone(api: Api) -> None:
    made = await api.post("/api/v1/members", {"role": "sender", "email": "Ben@Example.com"})
    assert made.status_code == 201
    body = made.json()
    assert (body["status"], body["role"], body["email"], body["mailed"]) == (
        "invited",
        "sender",
        "ben@example.com",
        False,
    )
    path = urlsplit(body["link"]).path
    assert path.removeprefix("/join/") not in repr(await api.rows("select * from invitations"))
    listed = (await api.get("/api/v1/members")).json()
    assert [one["status"] for one in listed["members"]] == ["member", "invited"]
    assert "link" not in listed["members"][1]
    async with api.client() as stranger:
        for _ in range(3):
            assert (await stranger.get(path)).status_code == 200
        assert (await stranger.post(path, data=NEW)).headers["Location"] == "/app"
        assert (await stranger.get("/app")).headers["Location"] == "/app/documents"
    [ben] = [one for one in (await api.get("/api/v1/members")).json()["members"] if one["name"] == "Ben"]
    assert (ben["role"], ben["status"], ben["email"]) == ("sender", "member", "ben@example.com")
    async with api.client() as second:
        for answer in (await second.get(path), await second.post(path, data={**NEW, "email": "c@example.com"})):
            assert (answer.status_code, "used, withdrawn, or has expired" in answer.text) == (404, True)
    assert len((await api.get("/api/v1/members")).json()["members"]) == 2


async def test_a_role_changes_for_the_very_next_request_and_what_is_read_can_be_written_back(api: Api) -> None:
    ann = await member(api, "sender")
    async with signed_in(api, ann) as browser:
        assert (await browser.get("/app/mail")).status_code == 200
        record = (await api.get(f"/api/v1/members/{ann}")).json()
        changed = await api.call("PATCH", f"/api/v1/members/{ann}", json={**record, "role": "viewer"})
        assert (changed.status_code, changed.json()) == (200, {**record, "role": "viewer"})
        assert (await browser.get("/app/mail")).status_code == 403
    for wrong in ({"role": "king"}, {"name": "Eve"}, {}):
        assert (await api.call("PATCH", f"/api/v1/members/{ann}", json=wrong)).status_code == 400


async def test_removing_ends_the_sessions_here_at_once_and_elsewhere_none(api: Api) -> None:
    ann = await member(api, "owner")
    now = api.clock.now()
    await api.deedbox.db.write(lambda tx: _join_other(tx, api, ann, now))
    async with signed_in(api, ann, api.workspace) as here, signed_in(api, ann, api.other_workspace) as there:
        assert (await api.call("DELETE", f"/api/v1/members/{ann}")).status_code == 204
        assert (await here.get("/account")).headers["Location"] == "/login"
        assert (await there.get("/account")).status_code == 200
    assert (await api.get(f"/api/v1/members/{ann}")).status_code == 404
    assert (await api.call("DELETE", f"/api/v1/members/{ann}")).status_code == 404


def _join_other(tx: object, api: Api, person_id: str, now: object) -> None:
    from deedbox.accounts import store

    store.add_member(tx, api.other_workspace, person_id, "viewer", str(now))  # type: ignore[arg-type]


async def test_the_last_owner_stays(api: Api) -> None:
    owner = await the_owner(api)
    for method, body in (("PATCH", {"role": "viewer"}), ("DELETE", None)):
        refused = await api.call(method, f"/api/v1/members/{owner}", json=body)
        assert refused.status_code == 409
        assert "last owner" in refused.json()["error"]
    second = await member(api, "owner", "Second")
    assert (await api.call("PATCH", f"/api/v1/members/{owner}", json={"role": "sender"})).status_code == 200
    assert (await api.call("DELETE", f"/api/v1/members/{second}")).status_code == 409


@pytest.mark.both_databases
async def test_of_two_owners_who_remove_each_other_at_once_one_stays(api: Api) -> None:
    first, second = await the_owner(api), await member(api, "owner", "Second")
    caller, now = operator(api.workspace), api.clock.now()

    async def removed(person_id: str) -> bool:
        try:
            await api.deedbox.db.write(lambda tx: members.remove(tx, caller, person_id, now=now))
        except Conflict:
            return False
        return True

    done = await asyncio.gather(removed(first), removed(second))
    assert sorted(done) == [False, True]
    assert len(await api.rows(f"select 1 from memberships where workspace_id = '{api.workspace}'")) == 1


async def test_a_key_gives_and_takes_no_role_that_may_do_more_than_it(api: Api) -> None:
    key = await api.make_key("workspace:write", "workspace:read")
    refused = await api.post("/api/v1/members", {"role": "viewer"}, key=key)
    assert (refused.status_code, refused.headers["X-Service-Error-Code"]) == (403, "missing_scope")
    ann = await member(api, "sender")
    await member(api, "owner", "Second")
    for method, body in (("PATCH", {"role": "viewer"}), ("DELETE", None)):
        assert (await api.call(method, f"/api/v1/members/{ann}", key=key, json=body)).status_code == 403
    reader = ("documents:read", "verify:read", "workspace:read", "archive:read", "search:read", "search:query")
    allowed = await api.make_key("workspace:write", *reader)
    assert (await api.post("/api/v1/members", {"role": "viewer"}, key=allowed)).status_code == 201
    assert (await api.post("/api/v1/members", {"role": "sender"}, key=allowed)).status_code == 403


async def test_an_invitation_is_withdrawn_runs_out_and_keeps_its_role(api: Api) -> None:
    first, second = [(await api.post("/api/v1/members", {"role": "viewer"})).json() for _ in range(2)]
    refused = await api.call("PATCH", f"/api/v1/members/{first['id']}", json={"role": "owner"})
    assert (refused.status_code, "Withdraw it" in refused.json()["error"]) == (409, True)
    assert (await api.call("DELETE", f"/api/v1/members/{first['id']}")).status_code == 204
    async with api.client() as browser:
        assert (await browser.post(urlsplit(first["link"]).path, data=NEW)).status_code == 404
        api.clock.forward(limits.INVITATION_DAYS * 86400)
        assert (await browser.post(urlsplit(second["link"]).path, data=NEW)).status_code == 404
    assert len((await api.get("/api/v1/members")).json()["members"]) == 1
    assert await api.rows("select 1 from people where name = 'Ben'") == []


async def test_an_invitation_ends_with_the_rights_of_its_maker(api: Api) -> None:
    """An owner who is removed, or a sender by now, does not come back as owner; nor by a key that was revoked."""
    await member(api, "owner", "Second")
    reader = ("documents:read", "verify:read", "workspace:read", "archive:read", "search:read", "search:query")
    key = await api.make_key("workspace:write", *reader)
    by_key = (await api.post("/api/v1/members", {"role": "viewer"}, key=key)).json()["link"]
    links: dict[str, list[str]] = {}
    for name in ("Removed", "Lowered"):
        person_id = await member(api, "owner", name)
        roles: tuple[Role, ...] = ("owner", "sender")
        links[person_id] = [await invited_by(api, person_id, role) for role in roles]
    (removed, removed_links), (lowered, lowered_links) = links.items()
    async with api.client() as browser:
        for path in (urlsplit(by_key).path, *removed_links, *lowered_links):
            assert (await browser.get(path)).status_code == 200
        assert (await api.call("DELETE", f"/api/v1/members/{removed}")).status_code == 204
        change = await api.call("PATCH", f"/api/v1/members/{lowered}", json={"role": "sender"})
        assert change.status_code == 200
        await api.revoke(key)
        for path in (urlsplit(by_key).path, *removed_links, lowered_links[0]):
            assert (await browser.get(path)).status_code == 404
            assert (await browser.post(path, data=NEW)).status_code == 404
        assert (await browser.get(lowered_links[1])).status_code == 200, "as much as they still have"
        assert (await browser.post(lowered_links[1], data=NEW)).headers["Location"] == "/app"


async def invited_by(api: Api, person_id: str, role: Role) -> str:
    """The path of an invitation that this owner has made."""
    caller = Caller(person_id, api.workspace, scopes_of("owner"), tiers.TIERS["enterprise"], "", is_owner=True)
    new, now = NewInvitation(role), api.clock.now()
    made = await api.deedbox.db.write(lambda tx: invitations.make(tx, caller, new, now=now))
    return f"/join/{made.token.reveal()}"


async def test_members_of_another_workspace_are_not_there(api: Api) -> None:
    theirs = await member(api, "sender", workspace=api.other_workspace)
    for method, body in (("GET", None), ("PATCH", {"role": "viewer"}), ("DELETE", None)):
        assert (await api.call(method, f"/api/v1/members/{theirs}", json=body)).status_code == 404
    assert theirs not in (await api.get("/api/v1/members")).text


async def test_a_long_list_comes_in_pages_members_before_invitations(api: Api) -> None:
    for number in range(3):
        await member(api, "viewer", f"Person {number}")
        await api.post("/api/v1/members", {"role": "viewer"})
    seen, cursor = [], ""
    while True:
        page = (await api.get(f"/api/v1/members?limit=2{cursor}")).json()
        seen += page["members"]
        if not page["has_more"]:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert [one["status"] for one in seen] == ["member"] * 4 + ["invited"] * 3
    assert len({one["id"] for one in seen}) == 7
