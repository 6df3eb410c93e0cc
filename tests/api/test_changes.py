"""The changes of a workspace: who made which key and webhook, by API, page and command line alike, and no secret."""

import re
from pathlib import Path

import pytest

import deedbox
from deedbox.accounts import roles, workspace_profile, workspaces
from deedbox.i18n import dashboard
from deedbox.kernel import admin_log
from deedbox.kernel.admin_log import Act, ActPart
from deedbox.kernel.db import Tx
from deedbox.webhooks import hooks
from deedbox.webhooks.hook import CreatedHook, HookChange, NewHook
from tests.api.conftest import Api

pytestmark = pytest.mark.anyio

TARGET = "https://hooks.example/in/very-private-path"


async def changes(api: Api, workspace: str = "", kind: str | None = None) -> list[Act]:
    """The oldest first."""
    place = workspace or api.workspace
    return (await api.deedbox.db.read(lambda tx: admin_log.page(tx, place, ActPart(limit=50, act=kind))))[::-1]


async def test_what_keys_do_to_keys_is_noted_with_their_names(api: Api) -> None:
    api.clock.forward(1)
    made = (await api.post("/api/v1/keys", {"name": "Payroll", "scopes": ["keys:write"]})).json()
    api.clock.forward(1)
    changed = await api.call("PATCH", f"/api/v1/keys/{made['id']}", json={"name": "Payroll 2"})
    assert changed.status_code == 200
    api.clock.forward(1)
    again = await api.call("PATCH", f"/api/v1/keys/{made['id']}", json={"name": "Payroll 2"})
    assert again.status_code == 200
    for _ in range(2):
        assert (await api.call("DELETE", f"/api/v1/keys/{made['id']}")).status_code == 204
    first, *noted = await changes(api, kind="key")
    assert (first.act, first.by_id, first.by_name) == ("key.created", "operator", "operator")
    assert [(one.act, one.subject_name) for one in noted] == [
        ("key.created", "Payroll"),
        ("key.changed", "Payroll 2"),
        ("key.revoked", "Payroll 2"),
    ]
    assert {(one.by_id, one.by_name, one.subject_id) for one in noted} == {(api.key.id, "test", made["id"])}
    assert made["key"] not in str(noted)
    assert await changes(api, api.other_workspace) == []


async def test_what_is_done_to_a_webhook_is_noted_and_tells_no_secret(api: Api) -> None:
    who, box = workspaces.operator(api.workspace), api.deedbox.box
    new = NewHook(TARGET, events=["document.sent"])

    def make(tx: Tx) -> CreatedHook:
        return hooks.create(tx, box, who, new, managed_by="dashboard", now=api.clock.now())

    made = await api.deedbox.db.write(make)
    assert made.secret is not None
    api.clock.forward(1)
    again = await api.deedbox.db.write(make)
    assert again.secret is None
    change = HookChange(events=["document.completed"])
    await api.deedbox.db.write(lambda tx: hooks.change(tx, who, made.hook.id, change, now=api.clock.now()))
    for verb in ("pause", "resume", "rotate"):
        api.clock.forward(1)
        assert (await api.post(f"/api/v1/hooks/{made.hook.id}/{verb}")).status_code == 200
    api.clock.forward(1)
    assert (await api.call("DELETE", f"/api/v1/hooks/{made.hook.id}")).status_code == 204
    noted = await changes(api, kind="hook")
    done = ["created", "changed", "paused", "resumed", "rotated", "deleted"]
    assert [one.act for one in noted] == [f"hook.{verb}" for verb in done]
    assert [one.by_name for one in noted] == ["operator"] * 2 + ["test"] * 4
    assert {one.subject_name for one in noted} == {"hooks.example"}
    assert "very-private-path" not in str(noted)
    assert made.secret.reveal() not in str(noted)


async def test_a_change_that_fails_is_not_noted(api: Api) -> None:
    refused = await api.post("/api/v1/keys", {"name": "Late", "expires_at": "2001-01-01T00:00:00Z"})
    assert refused.status_code == 400
    assert [one.subject_name for one in await changes(api)] == ["test"]


async def test_the_workspace_s_own_changes_are_noted_and_come_by_pages(api: Api) -> None:
    names = ["Harbour", "Harbour Ltd", "Harbour AG"]
    for name in [*names, names[-1]]:
        api.clock.forward(1)
        assert (await api.call("PATCH", "/api/v1/workspace", json={"name": name})).status_code == 200
    api.clock.forward(1)
    change, who = workspace_profile.WorkspaceChange(name="Harbour AG"), workspaces.operator(api.workspace)
    await api.deedbox.db.write(lambda tx: workspace_profile.change(tx, who, change, now=api.clock.now()))
    assert [one.subject_name for one in await changes(api, kind="workspace")] == names
    first = await api.deedbox.db.read(lambda tx: admin_log.page(tx, api.workspace, ActPart(limit=2)))
    then = await api.deedbox.db.read(
        lambda tx: admin_log.page(tx, api.workspace, ActPart(limit=9, before=first[-1].id))
    )
    assert [one.subject_name for one in first] == ["Harbour AG", "Harbour Ltd"]
    assert [one.subject_name for one in then] == ["Harbour", "test"]


async def test_programs_read_the_changes_by_name_kind_and_time(api: Api) -> None:
    api.clock.forward(60)
    start = api.clock.now().isoformat()
    made = (await api.post("/api/v1/keys", {"name": "Payroll", "scopes": ["keys:read"]})).json()
    api.clock.forward(60)
    assert (await api.call("DELETE", f"/api/v1/keys/{made['id']}")).status_code == 204
    api.clock.forward(60)
    assert (await api.call("PATCH", "/api/v1/workspace", json={"name": "Harbour"})).status_code == 200

    async def found(**query: str) -> list[str]:
        answer = await api.get("/api/v1/changes", params=query, key=reader)
        assert answer.status_code == 200, answer.text
        return [one["act"] for one in answer.json()["changes"] if one["subject_id"] != reader_id]

    reader = await api.make_key("workspace:read")
    reader_id = (await api.get("/api/v1/me", key=reader)).json()["key"]["id"]
    assert await found(since=start) == ["workspace.changed", "key.revoked", "key.created"]
    assert await found(since=start, act="key") == ["key.revoked", "key.created"]
    assert await found(act="key.revoked") == ["key.revoked"]
    assert await found(act="key.revoke") == []
    assert await found(since=start, limit="1", act="workspace") == ["workspace.changed"]
    [revoked] = (await api.get("/api/v1/changes?act=key.revoked")).json()["changes"]
    assert (revoked["by_id"], revoked["by_name"], revoked["subject_name"]) == (api.key.id, "test", "Payroll")
    wrong = await api.get("/api/v1/changes?act=Key")
    assert (wrong.status_code, "such as key.created" in wrong.json()["error"]) == (400, True)


def test_every_act_that_is_noted_has_its_words() -> None:
    here = Path(deedbox.__file__).parent
    code = "".join(path.read_text() for part in ("accounts", "webhooks") for path in (here / part).rglob("*.py"))
    noted = set(re.findall(r'"((?:key|hook|member|workspace)\.[a-z_]+)"', code))
    noted |= {f"member.made_{role}" for role in roles.ROLES}
    assert len(noted) > 15
    assert [act for act in sorted(noted) if f"act_{act.replace('.', '_')}" not in dashboard.WORDS] == []
