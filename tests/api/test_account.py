"""A person's account: sessions, workspaces, joining, and a forgotten password."""

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.mail import content
from deedbox.mail import store as mail_store
from deedbox.web import limits as web_limits
from tests.api.conftest import Api, opened
from tests.api.people import member, signed_in
from tests.api.test_login import EMAIL, PASSWORD, is_in, settled
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

LINUX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1"


async def by_password(api: Api, agent: str = LINUX, password: str = PASSWORD) -> httpx.AsyncClient:
    client = api.client()
    client.headers["User-Agent"] = agent
    assert (await client.post("/login", data={"email": EMAIL, "password": password})).status_code == 303
    return client


async def invited(api: Api, **wanted: str) -> str:
    made = await api.post("/api/v1/members", {"role": "sender", **wanted})
    return str(urlsplit(made.json()["link"]).path)


async def test_the_first_run_leads_to_the_account_and_then_to_three_cards(api: Api) -> None:
    client = await settled(api)
    assert (await client.get("/")).headers["Location"] == "/app"
    assert (await client.get("/app")).headers["Location"] == "/app/documents"
    shown = (await client.get("/app/welcome")).text
    assert [path in shown for path in ('"/app/new"', '"/app/library"', '"/app/settings/keys"')] == [True] * 3
    async with signed_in(api, await member(api, "viewer")) as viewer:
        assert (await viewer.get("/app")).headers["Location"] == "/account"
        shown = (await viewer.get("/app/welcome")).text.partition("<main")[2]
        assert [path in shown for path in ('"/app/new"', '"/app/search"', '"/app/settings/keys"')] == [
            False,
            True,
            False,
        ]


async def test_sessions_are_listed_with_their_browser_and_end_one_by_one_or_all_others(api: Api) -> None:
    await settled(api)
    here, phone, third = await by_password(api), await by_password(api, PHONE), await by_password(api)
    page = (await here.get("/account")).text
    assert ("Firefox on Linux" in page, "iPhone" in page, "127.0.0.1" in page) == (True, True, True)
    assert page.count("This browser") == 1
    [(session_id,)] = await api.rows("select id from login_sessions where agent like '%iPhone%'")
    other = await member(api, "owner", "Other")
    async with signed_in(api, other) as stranger:
        assert (await stranger.post(f"/account/sessions/{session_id}/end")).status_code == 404
    ended = await here.post(f"/account/sessions/{session_id}/end")
    assert ended.headers["Location"] == "/account?done=ended#sessions"
    assert [await is_in(one) for one in (here, phone, third)] == [True, False, True]
    await here.post("/account/sessions/end-others")
    assert [await is_in(one) for one in (here, third)] == [True, False]


async def test_the_day_of_last_use_is_noted_without_a_write_for_each_look(api: Api) -> None:
    async with signed_in(api, await member(api, "viewer")) as browser:
        await browser.get("/account")
        assert api.deedbox.seen_sessions == {}
        api.clock.forward(3 * 86400)
        await browser.get("/account")
        assert len(api.deedbox.seen_sessions) == 1
        await api.deedbox._note_use()
        [(seen,)] = await api.rows("select seen_on from login_sessions where agent = ''")
        assert seen == "2026-03-04T00:00:00Z"


async def test_a_person_switches_between_workspaces_and_into_no_other(api: Api) -> None:
    ann = await member(api, "viewer", email="ann@example.com")
    path = urlsplit(
        (
            await api.post("/api/v1/members", {"role": "owner"}, key=await api.make_key(workspace=api.other_workspace))
        ).json()["link"]
    ).path
    async with signed_in(api, ann) as browser:
        assert "Join with this account" in (await browser.get(path)).text
        assert (await browser.post(path, data={"as": "me"})).headers["Location"] == "/app"
        assert (await browser.get("/app/settings/members")).status_code == 200
        listed = (await browser.get("/account/workspaces")).text
        assert api.workspace in listed
        moved = await browser.post("/account/workspaces", data={"workspace": api.workspace})
        assert moved.headers["Location"] == "/app"
        assert (await browser.get("/app/settings/members")).status_code == 403
        third = await api.add_workspace("Third")
        assert (await browser.post("/account/workspaces", data={"workspace": third})).status_code == 404


async def test_someone_with_an_account_joins_by_showing_it(api: Api) -> None:
    client = await settled(api)
    [(owner,)] = await api.rows("select id from people where email is not null")
    await member(api, "owner", "Second")
    assert (await api.call("DELETE", f"/api/v1/members/{owner}")).status_code == 204
    assert not await is_in(client)
    async with api.client() as browser:
        out = await browser.post("/login", data={"email": EMAIL, "password": PASSWORD})
        assert (out.status_code, "no longer a member of any workspace" in out.text) == (401, True)
        path = await invited(api)
        known = {"as": "known", "known_email": EMAIL, "known_password": "a guess of mine"}
        wrong = await browser.post(path, data=known)
        assert (wrong.status_code, "is wrong" in wrong.text, EMAIL in wrong.text) == (401, True, True)
        taken = {"as": "new", "name": "Me", "email": EMAIL, "password": PASSWORD}
        again = await browser.post(path, data=taken)
        assert (again.status_code, "Another person uses" in again.text) == (409, True)
        assert (await browser.post(path, data={**known, "known_password": PASSWORD})).status_code == 303
        assert await is_in(browser)


async def test_a_wrong_form_keeps_what_was_typed_and_uses_up_no_invitation(api: Api) -> None:
    path = await invited(api, email="ben@example.com")
    async with api.client() as browser:
        assert 'value="ben@example.com"' in (await browser.get(path)).text
        form = {"as": "new", "name": "Ben", "email": "b@example.com", "password": "short"}
        refused = await browser.post(path, data=form)
        assert (refused.status_code, 'value="b@example.com"' in refused.text) == (400, True)
        assert (await browser.post(path, data={**form, "password": PASSWORD})).status_code == 303


async def test_members_are_invited_changed_and_removed_on_the_page(api: Api) -> None:
    client = await settled(api)
    ann = await member(api, "owner", "Ann", email="ann@example.com")
    async with signed_in(api, ann) as other:
        # A key that she makes stays, and is named before she is removed.
        now = api.clock.now()
        from deedbox.accounts import keys, people

        token = other.cookies["deedbox"]
        session = await api.deedbox.db.read(lambda tx: people.session(tx, token, now=now))
        made = await api.deedbox.db.write(
            lambda tx: keys.create(tx, session.caller, keys.NewKey(name="Ann's importer"), now=now)
        )
        page = (await client.get("/app/settings/members")).text
        assert "API keys that they created keep working until someone revokes them: Ann's importer." in unescape(page)
        form = {"role": "sender", "email": "carl@example.com", "once": re.findall('name="once" value="(.*?)"', page)[0]}
        shown = await client.post("/app/settings/members", data=form)
        [link] = re.findall(r"http://[^<\"]*/join/deed_join_[\w-]{43}", shown.text.partition("<pre")[2])[:1]
        assert shown.status_code == 200
        again = await client.post("/app/settings/members", data=form)
        assert again.headers["Location"] == "/app/settings/members?done=invited"
        assert link not in (await client.get("/app/settings/members")).text
        changed = await client.post(f"/app/settings/members/{ann}/role", data={"role": "viewer"})
        assert changed.headers["Location"] == "/app/settings/members?done=role"
        gone = await client.post(f"/app/settings/members/{ann}/remove")
        assert gone.headers["Location"] == "/app/settings/members?done=removed"
        assert not await is_in(other)
    assert (await api.get("/api/v1/me", key=made.plain.reveal())).status_code == 200
    [(me,)] = await api.rows(f"select id from people where email = '{EMAIL}'")
    for act, data in (("role", {"role": "viewer"}), ("remove", {})):
        refused = await client.post(f"/app/settings/members/{me}/{act}", data=data)
        assert (refused.status_code, "last owner" in refused.text) == (409, True)
    noted = [act for (act,) in await api.rows("select act from workspace_acts where act like 'member.%' order by act")]
    assert noted == ["member.invited", "member.made_viewer", "member.removed"]
    wrong = await client.post("/app/settings/members", data={"role": "sender", "email": "nonsense"})
    assert (wrong.status_code, 'value="nonsense"' in wrong.text) == (400, True)


@pytest.fixture
async def with_mail(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Api]:
    """An installation that has a mail server; nothing is handed to it, because no job runs."""
    settings = {"smtp_url": Secret("smtp://127.0.0.1:1"), "mail_from": "sign@example.com"}
    async with opened(database_url, tmp_path, clock, **settings) as api:
        await api.settle()
        yield api


async def letters(api: Api) -> list[tuple[str, str]]:
    """Whom each mail that waits is for, and its link."""
    found = await api.deedbox.db.read(lambda tx: mail_store.part(tx, api.workspace, mail_store.MailPart(limit=50)))
    return [(one.to_address, str(getattr(content.decrypt(api.deedbox.box, one).letter, "link"))) for one in found]  # noqa: B009


async def test_a_forgotten_password_is_chosen_anew_by_a_mailed_link_once(with_mail: Api) -> None:
    api, client = with_mail, await settled(with_mail)
    async with api.client() as browser:
        assert "/login/forgot" in (await browser.get("/login")).text
        known = await browser.post("/login/forgot", data={"email": EMAIL.upper()})
        nobody = await browser.post("/login/forgot", data={"email": "nobody@example.com"})
        assert known.text.replace(EMAIL, "") == nobody.text.replace("nobody@example.com", "")
        assert (known.status_code, nobody.status_code) == (200, 200)
        [(to, link)] = await letters(api)
        path = urlsplit(link).path
        assert (to, "deed_reset_" in path) == (EMAIL, True)
        assert (await browser.post(path.replace("/reset", ""), data={})).status_code == 401, "it signs nobody in"
        assert (await browser.get(path)).status_code == 200
        assert (await browser.post(path, data={"password": "short"})).status_code == 400
        assert await is_in(client)
        assert (await browser.post(path, data={"password": "another horse entirely"})).headers["Location"] == "/app"
        assert (await is_in(browser), await is_in(client)) == (True, False)
        assert (await browser.post(path, data={"password": "a third horse there"})).status_code == 401
    await by_password(api, password="another horse entirely")


async def test_mails_for_a_new_password_are_counted_and_their_links_run_out(with_mail: Api) -> None:
    api = with_mail
    await settled(api)
    async with api.client() as browser:
        for email in (EMAIL, "nobody@example.com"):
            answers = [
                await browser.post("/login/forgot", data={"email": email})
                for _ in range(web_limits.RESETS_PER_MINUTE + 1)
            ]
            assert [one.status_code for one in answers] == [200] * web_limits.RESETS_PER_MINUTE + [429]
        path = urlsplit((await letters(api))[0][1]).path
        api.clock.forward(limits.RESET_MINUTES * 60)
        late = await browser.post(path, data={"password": "another horse entirely"})
        assert (late.status_code, "has expired" in late.text) == (401, True)


async def test_an_invitation_with_an_address_is_mailed(with_mail: Api) -> None:
    api = with_mail
    made = (await api.post("/api/v1/members", {"role": "viewer", "email": "ben@example.com"})).json()
    assert made["mailed"]
    assert await letters(api) == [("ben@example.com", made["link"])]


async def test_without_a_mail_server_the_page_names_the_command(api: Api) -> None:
    await settled(api)
    async with api.client() as browser:
        for page in (await browser.get("/login/forgot"), await browser.post("/login/forgot", data={"email": EMAIL})):
            assert "deedbox login-link" in page.text
    assert await api.rows("select 1 from mails") == []
