"""How people sign in and out, and what keeps other sites away."""

import asyncio
import functools
import re
from pathlib import Path

import httpx
import pytest

from deedbox.accounts import people, workspaces
from deedbox.accounts.passkeys import store as passkeys
from deedbox.accounts.passkeys.store import PasskeyRow
from deedbox.kernel import limits
from deedbox.web import limits as web_limits
from tests.api.answers import RATE_HEADERS, faults
from tests.api.conftest import Api, opened
from tests.conftest import HandClock

pytestmark = pytest.mark.anyio

EMAIL, PASSWORD = "owner@example.com", "correct horse battery"
SETTLED = {"name": "Owner", "email": EMAIL, "password": PASSWORD}


async def link(api: Api) -> str:
    now = api.clock.now()
    token = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.workspace, now=now))
    return f"/login/{token.reveal()}"


async def signed_in(api: Api, *, scheme: str = "http") -> httpx.AsyncClient:
    client = api.client(scheme=scheme)
    assert (await client.post(await link(api))).status_code == 303
    return client


async def settled(api: Api) -> httpx.AsyncClient:
    """A client signed in as an owner who has e-mail and password."""
    client = await signed_in(api)
    assert (await client.post("/account", data=SETTLED)).headers["Location"] == "/app/welcome"
    return client


async def is_in(client: httpx.AsyncClient) -> bool:
    return (await client.get("/account")).status_code == 200


async def test_a_link_signs_in_once_and_leaves_the_address(api: Api) -> None:
    path = await link(api)
    async with api.client() as client:
        for accepted in ("*/*", "text/html"):  # whoever looks, also a program that follows links
            assert (await client.get(path, headers={"Accept": accepted})).status_code == 200
            assert not await is_in(client)
        first = await client.post(path)
        assert (first.status_code, first.headers["Location"]) == (303, "/app")
        assert await is_in(client)
    async with api.client() as client:
        again = await client.post(path)
        assert (again.status_code, "set-cookie" in again.headers) == (401, False)
        assert "already been used or has expired" in again.text
        assert not await is_in(client)


async def test_a_link_dies_after_an_hour(api: Api) -> None:
    path = await link(api)
    api.clock.forward(limits.LOGIN_LINK_MINUTES * 60)
    async with api.client() as client:
        assert (await client.post(path)).status_code == 401


@pytest.mark.parametrize(
    "token", ["x", "deed_login_", "deed_session_x", "%00", "deed_login_" + "a" * 5000, "%F0%9F%94%91"]
)
async def test_an_invented_link_signs_nobody_in(api: Api, token: str) -> None:
    async with api.client() as client:
        answer = await client.post(f"/login/{token}")
        assert answer.status_code in (400, 401)
        assert "set-cookie" not in answer.headers


async def test_tokens_are_kept_as_hashes_alone(api: Api) -> None:
    path = await link(api)
    async with api.client() as client:
        await client.post(path)
        session = client.cookies["deedbox"]
    stored = repr(await api.rows("select * from login_links") + await api.rows("select * from login_sessions"))
    assert path.removeprefix("/login/") not in stored
    assert session not in stored


@pytest.mark.parametrize(("scheme", "name", "secure"), [("http", "deedbox", False), ("https", "__Host-deedbox", True)])
async def test_the_cookie_is_as_tight_as_its_scheme_allows(api: Api, scheme: str, name: str, secure: bool) -> None:
    async with api.client(scheme=scheme) as client:
        cookie = (await client.post(await link(api))).headers["set-cookie"]
    words = {word.strip().lower() for word in cookie.split(";")[1:]}
    assert re.match(rf"{name}=deed_session_[\w-]{{43}};", cookie)
    assert {"httponly", "samesite=lax", "path=/", f"max-age={limits.LOGIN_SESSION_DAYS * 86400}"} <= words
    assert ("secure" in words) is secure
    assert not any(word.startswith("domain") for word in words)


async def test_behind_https_the_cookie_is_secure_although_no_proxy_is_trusted(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with opened(database_url, tmp_path, clock, base_url="https://sign.example.com") as api:
        await api.settle()
        async with api.client(scheme="http") as client:
            cookie = (await client.post(await link(api))).headers["set-cookie"]
            assert cookie.startswith("__Host-deedbox=")
            assert "secure" in {word.strip().lower() for word in cookie.split(";")}
            sent = {"Cookie": cookie.split(";")[0]}
            assert (await client.get("/account", headers=sent)).status_code == 200
            out = await client.post("/logout", headers=sent)
            assert "secure" in out.headers["set-cookie"].lower()
            assert (await client.get("/account", headers=sent)).headers["Location"] == "/login"


async def test_a_session_ends_after_its_days(api: Api) -> None:
    client = await signed_in(api)
    api.clock.forward(limits.LOGIN_SESSION_DAYS * 86400 - 1)
    assert await is_in(client)
    api.clock.forward(1)
    assert (await client.get("/account")).headers["Location"] == "/login"


async def test_logging_out_ends_the_session_also_for_a_copied_cookie(api: Api) -> None:
    client = await signed_in(api)
    copy = api.client()
    copy.cookies.update(client.cookies)
    out = await client.post("/logout")
    assert (out.status_code, out.headers["Location"]) == (303, "/login")
    assert "max-age=0" in out.headers["set-cookie"].lower()
    assert not await is_in(copy)


async def test_a_person_chooses_a_password_and_signs_in_with_it(api: Api) -> None:
    await settled(api)
    async with api.client() as client:
        answer = await client.post("/login", data={"email": EMAIL.upper(), "password": PASSWORD})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/app")
        assert await is_in(client)
    [(stored,)] = await api.rows("select password_hash from people where email is not null")
    assert stored.startswith("$argon2id$")
    assert PASSWORD not in stored


async def test_a_new_password_ends_every_other_session(api: Api) -> None:
    other, client = await signed_in(api), await signed_in(api)
    assert (await client.post("/account", data=SETTLED)).status_code == 303
    assert await is_in(client)
    assert not await is_in(other)


NEW = "another horse entirely"


async def test_a_changed_password_asks_for_the_old_one_and_ends_the_other_sessions(api: Api) -> None:
    client = await settled(api)
    async with api.client() as other:
        await other.post("/login", data={"email": EMAIL, "password": PASSWORD})
        assert await is_in(other)
        change = {**SETTLED, "password": NEW}
        for wrong in ({}, {"current_password": ""}, {"current_password": NEW}, {"current_password": PASSWORD.upper()}):
            refused = await client.post("/account", data={**change, **wrong})
            assert (refused.status_code, 'role="alert"' in refused.text) == (403, True)
        assert await is_in(other)
        saved = await client.post("/account", data={**change, "current_password": PASSWORD})
        assert saved.headers["Location"] == "/account?done=saved"
        assert (await is_in(client), await is_in(other)) == (True, False)
    for password, status in ((PASSWORD, 401), (NEW, 303)):
        async with api.client() as again:
            assert (await again.post("/login", data={"email": EMAIL, "password": password})).status_code == status


async def test_name_and_address_need_the_password_too_and_leave_it_as_it_is(api: Api) -> None:
    client, other = await settled(api), await signed_in(api)
    change = {"name": "Olga", "email": "olga@example.com", "password": ""}
    assert (await client.post("/account", data=change)).status_code == 403
    assert (await client.post("/account", data={**change, "current_password": PASSWORD})).status_code == 303
    assert await api.rows("select name, email from people where email is not null") == [("Olga", "olga@example.com")]
    assert await is_in(other)
    async with api.client() as again:
        form = {"email": "olga@example.com", "password": PASSWORD}
        assert (await again.post("/login", data=form)).status_code == 303


async def test_guesses_at_the_current_password_are_counted(api: Api) -> None:
    client = await settled(api)
    form = {**SETTLED, "password": NEW, "current_password": "a guess of mine"}
    tries = [await client.post("/account", data=form) for _ in range(web_limits.LOGIN_TRIES_PER_MINUTE + 1)]
    assert [one.status_code for one in tries] == [403] * web_limits.LOGIN_TRIES_PER_MINUTE + [429]
    assert tries[-1].headers["Retry-After"] == "60"
    api.clock.forward(60)
    assert (await client.post("/account", data={**form, "current_password": PASSWORD})).status_code == 303


async def test_a_lost_password_is_forgotten_by_who_runs_the_server(api: Api) -> None:
    client, unused, now = await settled(api), await link(api), api.clock.now()
    token = await api.deedbox.db.write(
        lambda tx: workspaces.owner_link(tx, api.workspace, now=now, forget_password=True)
    )
    assert not await is_in(client)
    async with api.client() as anew:
        assert (await anew.post(unused)).status_code == 401
        assert (await anew.post("/login", data={"email": EMAIL, "password": PASSWORD})).status_code == 401
        assert (await anew.post(f"/login/{token.reveal()}")).status_code == 303
        assert (await anew.post("/account", data={**SETTLED, "password": NEW})).status_code == 303
        assert (await anew.post("/login", data={"email": EMAIL, "password": NEW})).status_code == 303


async def test_a_wrong_password_and_an_unknown_address_look_alike(api: Api) -> None:
    await settled(api)
    async with api.client() as client:
        wrong = await client.post("/login", data={"email": EMAIL, "password": "not the password"})
        nobody = await client.post("/login", data={"email": "nobody@example.com", "password": PASSWORD})
    assert (wrong.status_code, nobody.status_code) == (401, 401)
    assert wrong.text.replace(EMAIL, "") == nobody.text.replace("nobody@example.com", "")
    assert "set-cookie" not in wrong.headers


async def test_a_person_without_a_password_cannot_sign_in_with_an_empty_one(api: Api) -> None:
    async with api.client() as client:
        for form in ({"email": "", "password": ""}, {}, {"email": "None", "password": "None"}):
            assert (await client.post("/login", data=form)).status_code == 401


async def test_tries_for_one_address_are_throttled_even_when_the_last_is_right(api: Api) -> None:
    await settled(api)
    async with api.client() as client:
        for _ in range(web_limits.LOGIN_TRIES_PER_MINUTE):
            assert (await client.post("/login", data={"email": EMAIL, "password": "x"})).status_code == 401
        refused = await client.post("/login", data={"email": EMAIL, "password": PASSWORD})
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
        assert "set-cookie" not in refused.headers
        api.clock.forward(60)
        assert (await client.post("/login", data={"email": EMAIL, "password": PASSWORD})).status_code == 303


async def try_at(api: Api, address: str, password: str, cookies: httpx.Cookies | None = None) -> int:
    """The status of an attempt to sign in from this address."""
    async with api.client(address=address) as client:
        client.cookies = cookies or httpx.Cookies()
        return (await client.post("/login", data={"email": EMAIL, "password": password})).status_code


async def crowd(api: Api, last: int) -> None:
    """Attempts from so many addresses that no unknown device has one left."""
    for number in range(web_limits.LOGIN_TRIES_OF_ALL_PER_MINUTE):
        await try_at(api, f"198.51.{number}.{last}", "x")
    assert await try_at(api, f"203.0.113.{last}", PASSWORD) == 429


async def test_a_stranger_locks_nobody_out_elsewhere(api: Api) -> None:
    await settled(api)
    tries = [await try_at(api, "198.51.100.7", "x") for _ in range(web_limits.LOGIN_TRIES_PER_MINUTE + 1)]
    assert tries == [401] * web_limits.LOGIN_TRIES_PER_MINUTE + [429]
    assert await try_at(api, "203.0.113.9", PASSWORD) == 303


async def test_a_known_device_gets_in_although_a_crowd_of_strangers_tries(api: Api) -> None:
    await settled(api)
    async with api.client() as client:
        assert (await client.post("/login", data={"email": EMAIL, "password": PASSWORD})).status_code == 303
        await client.post("/logout")
        known = client.cookies
    await crowd(api, 1)
    assert await try_at(api, "198.51.1.1", PASSWORD, known) == 303
    altered = httpx.Cookies({"deedbox_device": known["deedbox_device"][:-6] + "AAAAAA"})
    assert await try_at(api, "203.0.113.2", PASSWORD, altered) == 429
    guesses = [await try_at(api, "203.0.113.2", "x", known) for _ in range(web_limits.LOGIN_TRIES_PER_MINUTE)]
    assert (guesses[0], guesses[-1]) == (401, 429)


async def test_a_device_is_forgotten_in_time_and_known_to_one_account(api: Api) -> None:
    client = await settled(api)
    known = client.cookies
    token = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.other_workspace, now=api.clock.now()))
    async with api.client() as other:
        await other.post(f"/login/{token.reveal()}")
        stranger = other.cookies
    await crowd(api, 1)
    assert await try_at(api, "203.0.113.2", PASSWORD, stranger) == 429
    assert await try_at(api, "203.0.113.2", PASSWORD, known) == 303
    api.clock.forward(limits.KNOWN_DEVICE_DAYS * 86400)
    await crowd(api, 2)
    assert await try_at(api, "203.0.113.3", PASSWORD, known) == 429


async def test_a_removed_passkey_ends_the_sessions_it_opened(api: Api) -> None:
    client = await settled(api)
    now = api.clock.now()
    [(person_id,)] = await api.rows("select id from people where email is not null")
    key = PasskeyRow("pky_1", person_id, "Lost phone", b"credential", b"public", 0, "2026-01-01T00:00:00Z", None)
    await api.deedbox.db.write(lambda tx: passkeys.add(tx, key))
    thief, other = api.client(), api.client()
    for browser, passkey_id in ((thief, key.id), (other, None)):
        opened_now = await api.deedbox.db.write(
            functools.partial(people.open_session, person_id=person_id, passkey_id=passkey_id, now=now)
        )
        browser.cookies.set("deedbox", opened_now.reveal())
        assert await is_in(browser)
    assert (await client.post(f"/account/passkeys/{key.id}/remove")).status_code == 303
    assert [await is_in(one) for one in (client, thief, other)] == [True, False, True]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://deedbox.test"},
        {"Sec-Fetch-Site": ""},
        {"Origin": "http://evil.test"},
        {"Origin": "http://deedbox.test.evil.test"},
        {"Origin": "http://deedbox.test:81"},
        {"Origin": "null"},
        {"Origin": ""},
    ],
)
@pytest.mark.one_database
async def test_no_form_of_another_site_can_act(api: Api, headers: dict[str, str]) -> None:
    client = await settled(api)
    for path, form in (("/login", SETTLED), ("/account", {**SETTLED, "name": "Evil"}), ("/logout", {})):
        answer = await client.post(path, data=form, headers=headers)
        assert faults(path, answer, 403) == []
        assert "set-cookie" not in answer.headers
    assert await api.rows("select name from people where email is not null") == [("Owner",)]
    assert await is_in(client)


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://deedbox.test"}, {}]
)
@pytest.mark.one_database
async def test_forms_of_this_site_work(api: Api, headers: dict[str, str]) -> None:
    client = await signed_in(api)
    assert (await client.post("/account", data=SETTLED, headers=headers)).headers["Location"] == "/app/welcome"


async def test_every_page_carries_tight_headers(api: Api) -> None:
    client = await settled(api)
    answers = [await client.get(path) for path in ("/", "/login", "/account", "/login/deed_login_x")]
    answers.append(await client.post("/login", data={"email": "x", "password": "y"}))
    answers.append(await client.post("/account", data={}))
    answers.append(await client.post("/logout"))
    for answer in answers:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        # A page's own forms say where they come from; an answer that is no page has none.
        assert answer.headers["Referrer-Policy"] == ("no-referrer" if answer.is_redirect else "same-origin")
        assert answer.headers["Cache-Control"] == "no-store"
        assert all(answer.headers[name].isdigit() for name in RATE_HEADERS)


async def test_what_people_type_is_escaped(api: Api) -> None:
    evil = '"><script>alert(1)</script>'
    async with api.client() as client:
        assert evil not in (await client.post("/login", data={"email": evil, "password": "x"})).text
    client = await signed_in(api)
    await client.post("/account", data={**SETTLED, "name": evil})
    page = (await client.get("/account")).text
    assert evil not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    "form",
    [
        {**SETTLED, "password": "short"},
        {**SETTLED, "password": "x" * 257},
        {**SETTLED, "email": "nonsense"},
        {**SETTLED, "email": "a b@example.com"},
        {**SETTLED, "email": "x" * 300 + "@example.com"},
        {**SETTLED, "name": " "},
        {**SETTLED, "name": "x" * 101},
        {},
    ],
)
async def test_a_wrong_form_is_400_and_changes_nothing(api: Api, form: dict[str, str]) -> None:
    client = await signed_in(api)
    answer = await client.post("/account", data=form)
    assert (answer.status_code, 'role="alert"' in answer.text) == (400, True)
    assert await api.rows("select email from people where email is not null") == []


async def test_an_address_belongs_to_one_person(api: Api) -> None:
    await settled(api)
    now = api.clock.now()
    token = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.other_workspace, now=now))
    async with api.client() as client:
        await client.post(f"/login/{token.reveal()}")
        assert (await client.post("/account", data=SETTLED)).status_code == 409


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (b"application/x-www-form-urlencoded", b"email=%FF%ED%A0%80&password=%ED%A0%80%00"),
        (b"application/x-www-form-urlencoded; charset=utf-16", b"email=a&password=b"),
        (b"application/x-www-form-urlencoded; charset=nonsense", b"email=a&password=b"),
        (b"application/x-www-form-urlencoded", b"&=&%&%zz=" * 1000),
        (b"multipart/form-data", b"x"),
        (
            b"multipart/form-data; boundary=b",
            b"--b\r\nContent-Disposition: form-data; name=email\r\n\r\n\xff\xfe\r\n--b--",
        ),
        (b"multipart/form-data; boundary=b", b"--b\r\nnonsense"),
        (
            b"multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="email"; filename="x"\r\n\r\na\r\n--b--\r\n',
        ),
        (b"multipart/form-data; boundary=\xe9", b"--b--"),
        (b"application/json", b'{"email": ["a"], "password": 5}'),
        (b"text/plain", b"\0"),
        (b"", b""),
    ],
)
async def test_no_form_can_break_the_login(api: Api, kind: bytes, content: bytes) -> None:
    async with api.client() as client:
        answer = await client.post("/login", content=content, headers={b"Content-Type": kind})
    is_form = kind.startswith((b"application/x-www-form-urlencoded", b"multipart/form-data")) or not content
    assert answer.status_code in ((400, 401) if is_form else (415,)), answer.text
    assert all(answer.headers[name].isdigit() for name in RATE_HEADERS)


async def test_a_form_that_is_too_large_is_400(api: Api) -> None:
    async with api.client() as client:
        answer = await client.post("/login", data={"email": "x" * (web_limits.JSON_BODY_BYTES + 1)})
    assert faults("/login", answer, 400) == []


async def test_a_session_cookie_opens_no_api(api: Api) -> None:
    client = await settled(api)
    for path in ("/health", "/api/v1/me", "/api/v1/keys"):
        assert (await client.post(path)).status_code == 401
    session = client.cookies["deedbox"]
    assert (await client.get("/api/v1/me", headers={"Authorization": f"Bearer {session}"})).status_code == 401


async def test_an_api_key_opens_no_page(api: Api) -> None:
    answer = await api.get("/account", headers={"Cookie": f"deedbox={api.key.plain}"})
    assert answer.headers["Location"] == "/login"


@pytest.mark.both_databases
async def test_of_two_that_use_a_link_at_once_one_gets_in(api: Api) -> None:
    path = await link(api)
    async with api.client() as client:
        answers = await asyncio.gather(*(client.post(path) for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [303] + [401] * 5
