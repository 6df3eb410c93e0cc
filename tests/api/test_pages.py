"""Pages from templates: one block alone, 304 for what the browser has, and frames of named sites only."""

import threading
from typing import Any

import pytest
from litestar import Response, get

from deedbox.kernel.ratelimit import Allowance
from deedbox.mail import Mail
from deedbox.web import limits
from deedbox.web.http import pages
from deedbox.web.http.auth import PUBLIC, requires
from deedbox.web.http.context import AnyRequest
from tests.api.conftest import Api
from tests.api.test_mail_page import owner, queued
from tests.mail.letters import LETTERS, READER

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


async def test_one_part_of_a_page_is_rendered_alone_and_not_sent_twice(api: Api) -> None:
    await queued(api, Mail(to=READER, letter=LETTERS["invitation"]))
    async with owner(api) as client:
        whole = await client.get("/app/mail")
        part = await client.get("/app/mail", headers={"X-Part": "mails"})
        assert 'data-live="mails"' in whole.text
        assert READER.address in part.text
        assert "<html" not in part.text
        assert part.text.strip() in whole.text
        same = {"X-Part": "mails", "If-None-Match": part.headers["ETag"]}
        assert [(await client.get("/app/mail", headers=same)).status_code for _ in range(2)] == [304, 304]
        await queued(api, Mail(to=READER, letter=LETTERS["code"]))
        anew = await client.get("/app/mail", headers=same)
        assert (anew.status_code, anew.text != part.text) == (200, True)
        assert anew.headers["Content-Security-Policy"] == whole.headers["Content-Security-Policy"]


@pytest.mark.parametrize("part", ["nothing", "", "../frame", "x" * 4000])
async def test_a_part_that_there_is_not_is_409(api: Api, part: str) -> None:
    async with owner(api) as client:
        answer = await client.get("/app/mail", headers={"X-Part": part})
    assert answer.status_code == 409
    assert "no such part" in answer.text


async def test_a_page_is_framed_by_the_sites_that_are_named_and_by_no_others(api: Api) -> None:
    @get("/planted/framed", opt=requires(PUBLIC), include_in_schema=False)
    async def framed(request: AnyRequest) -> Response[Any]:
        del request
        sites = ["https://a.example", "https://b.example"]
        return pages.page("public/refused.html", frames=sites, told="opened", said="No.", request_id="req")

    api.plant(framed)
    policy = (await api.get("/planted/framed", key=None)).headers["Content-Security-Policy"]
    assert "frame-ancestors https://a.example https://b.example;" in policy
    assert (await api.get("/login", key=None)).headers["Content-Security-Policy"] == policy.replace(
        "https://a.example https://b.example", "'none'"
    )


async def test_a_page_of_many_parts_is_made_beside_the_requests_of_others() -> None:
    made_in: list[int] = []

    class Noted:
        def __html__(self) -> str:
            made_in.append(threading.get_ident())
            return "x@example.com"

    for parts in (limits.PAGE_PARTS_AT_ONCE, limits.PAGE_PARTS_AT_ONCE + 1):
        shown = await pages.long_page(parts, "dashboard/login.html", error="", email=Noted())
        assert 'value="x@example.com"' in shown.content
    assert [one == threading.get_ident() for one in made_in] == [True, False]


HTML = {"Accept": "text/html,*/*;q=0.8"}


@pytest.mark.parametrize(
    ("path", "language", "says"),
    [
        ("/verify/a/b", "de", "Diese Seite existiert nicht"),
        ("/verify/a/b", "ar", "هذه الصفحة غير موجودة"),
        ("/account/nothing", "de", "This page cannot be shown"),
        ("/static/x/y.css", "en", "does not exist"),
    ],
)
async def test_an_error_where_a_browser_asks_is_a_page_with_a_sentence_and_the_request(
    api: Api, path: str, language: str, says: str
) -> None:
    answer = await api.get(path, key=None, headers={**HTML, "Accept-Language": language})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert says in answer.text
    assert 'role="alert"' in answer.text
    assert answer.headers["X-Request-Id"] in answer.text
    assert answer.headers["Content-Security-Policy"] == pages.HEADERS["Content-Security-Policy"]
    program = await api.get(path, key=None)
    assert (program.status_code, program.headers["content-type"]) == (404, "application/json")


async def test_a_failure_and_too_many_requests_are_pages_too(api: Api) -> None:
    @get("/verify/planted/fails", opt=requires(PUBLIC), include_in_schema=False)
    async def fails() -> None:
        raise RuntimeError("secret detail")

    api.plant(fails, alone=True)
    answer = await api.get("/verify/planted/fails", key=None, headers={**HTML, "Accept-Language": "fr"})
    assert (answer.status_code, "secret detail" in answer.text) == (500, False)
    assert '<html lang="fr"' in answer.text
    api.guard.anonymous = Allowance(per_minute=1, per_day=None)
    for _ in range(2):
        answer = await api.get("/verify", key=None, headers=HTML, address="192.0.2.9")
    assert (answer.status_code, answer.headers["content-type"]) == (429, "text/html; charset=utf-8")
    assert "Retry-After" in answer.headers


async def test_a_key_s_route_keeps_its_envelope_whatever_is_asked_for(api: Api) -> None:
    answer = await api.get("/api/v1/keys", key=None, headers=HTML)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/json")
