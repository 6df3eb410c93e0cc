"""Keys by their pages: made with sentences, shown once, renamed, revoked; and who did it stands among the changes."""

import re
from html import unescape

import pytest

from deedbox.accounts.scopes import SCOPES, SEARCH_SCOPES
from deedbox.web.dashboard.settings.keys import GROUPS, PRESETS
from tests.api.conftest import Api
from tests.api.test_mail_page import owner

pytestmark = pytest.mark.anyio

KEYS = "/app/settings/keys"


def plain_key(text: str) -> str:
    found = re.search(r"deed_live_[0-9a-f]{32}", text)
    assert found, text
    return found[0]


def once(text: str) -> str:
    found = re.search(r'name="once" value="([^"]+)"', text)
    assert found
    return found[1]


async def test_a_key_of_the_page_is_shown_once_works_and_is_refused_once_revoked(api: Api) -> None:
    async with owner(api) as client:
        form = {"once": once((await client.get(f"{KEYS}/new")).text), "name": "Payroll <b>", "days": "30"}
        form |= {"scopes.3": "documents:read", "scopes.9": "search:query", "tier": "starter"}
        made = await client.post(KEYS, data=form)
        assert made.status_code == 200
        assert made.headers["Cache-Control"] == "no-store"
        key = plain_key(made.text)
        assert f"curl 'http://deedbox.test/api/v1/me' -H 'Authorization: Bearer {key}'" in unescape(made.text)
        told = (await api.get("/api/v1/me", key=key)).json()["key"]
        assert (told["name"], told["tier"], told["last4"]) == ("Payroll <b>", "starter", key[-4:])
        assert told["scopes"] == ["documents:read", "search:query"]
        assert told["expires_at"] is not None
        again = await client.post(KEYS, data=form)
        assert (again.status_code, again.headers["Location"]) == (303, f"{KEYS}/{told['id']}")
        page = f"{KEYS}/{told['id']}"
        assert (await client.post(page, data={"name": "Payroll 2"})).headers["Location"] == f"{page}?done=renamed"
        for path in (KEYS, page, f"{KEYS}/new", "/app/settings/audit", "/app/settings/audit?kind=key"):
            shown = await client.get(path)
            assert shown.status_code == 200, path
            assert key not in shown.text, path
        assert "Payroll 2" in (await client.get(KEYS)).text
        assert (await client.post(f"{page}/revoke", data={"once": "x"})).headers["Location"] == f"{page}?done=revoked"
        assert (await api.get("/api/v1/me", key=key)).status_code == 401
        changes = unescape((await client.get("/app/settings/audit?kind=key")).text)
        said = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", changes))
        for act in ("revoked the key Payroll 2", "changed the key Payroll 2", "created the key Payroll"):
            assert f"Owner {act}" in said, said
        assert "Payroll" not in (await client.get("/app/settings/audit?kind=hook")).text
        assert (await client.get("/app/settings")).headers["Location"] == KEYS


async def test_what_was_filled_in_comes_back_with_what_is_wrong(api: Api) -> None:
    async with owner(api) as client:
        before = await api.rows("select count(*) from api_keys")
        wrong = await client.post(KEYS, data={"once": "a", "name": "Web shop", "days": "90", "tier": "enterprise"})
        assert wrong.status_code == 400
        assert "Select at least one permission" in wrong.text
        assert 'value="Web shop"' in wrong.text
        assert '<option value="90" selected>' in wrong.text
        nameless = await client.post(KEYS, data={"once": "b", "name": " ", "scopes.1": "verify:read"})
        assert nameless.status_code == 400
        assert 'value="verify:read" checked' in nameless.text
        unknown = await client.post(KEYS, data={"once": "c", "name": "X", "scopes.1": "documents:eat"})
        assert unknown.status_code == 400
        assert await api.rows("select count(*) from api_keys") == before


async def test_a_key_of_another_workspace_is_not_there(api: Api) -> None:
    theirs = await api.make_key(workspace=api.other_workspace)
    async with owner(api) as client:
        assert (await client.get(f"{KEYS}/{theirs.id}")).status_code == 404
        assert (await client.post(f"{KEYS}/{theirs.id}/revoke")).status_code == 404
    assert (await api.get("/api/v1/me", key=theirs)).status_code == 200


def test_every_scope_can_be_ticked_and_every_preset_ticks_what_there_is() -> None:
    shown = [scope for group in GROUPS.values() for scope in group]
    assert sorted(shown) == sorted(SCOPES)
    assert {scope for preset in PRESETS.values() for scope in preset} <= {*SCOPES, "*"}
    assert PRESETS["search"] == SEARCH_SCOPES
