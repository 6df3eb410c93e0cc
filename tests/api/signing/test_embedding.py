"""Signing in a frame: for the sites that the workspace names, by links made for it, and for nobody else."""

import re
from typing import Any

import httpx
import pytest

from deedbox.kernel import limits
from deedbox.web import limits as web_limits
from tests.api.signing.conftest import Office, signer
from tests.api.signing.test_entry import HTML, SIGNED, mailed, people, trail

pytestmark = pytest.mark.anyio

SITES = ["https://app.example.com", "http://localhost:9000"]
FRAMED = {**HTML, "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "same-origin"}
TAB = {**HTML, "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "same-origin"}


async def name_sites(office: Office, *sites: str) -> None:
    answer = await office.api.call("PATCH", "/api/v1/workspace", json={"embed_sites": [*sites]})
    assert answer.status_code == 200, answer.text


def ancestors(answer: httpx.Response) -> str:
    """Who may show the page in a frame."""
    found = re.search(r"frame-ancestors ([^;]*)", answer.headers["content-security-policy"])
    assert found is not None, "a page without frame-ancestors can be framed by anybody"
    return found[1]


def told(answer: httpx.Response) -> tuple[str, str] | None:
    """Whom the page in the frame tells, and what; None if it cannot tell anybody."""
    found = re.search(r'data-sites="([^"]*)" data-told="([^"]*)"', answer.text)
    return (found[1], found[2]) if found else None


async def test_pages_of_an_embedded_link_name_the_sites_and_those_of_a_mailed_one_nobody(office: Office) -> None:
    await name_sites(office, *SITES)
    document = await office.create(send=True)
    [by_mail], embedded = await mailed(office), await office.link(document, "ann")
    for path, frames in ((by_mail, "'none'"), (embedded, " ".join(SITES))):
        async with office.api.client(scheme="https") as browser:
            opening = await browser.get(path, headers=FRAMED)
            own = (await browser.post(path, headers=FRAMED)).headers["location"]
            page = await browser.get(own, headers=FRAMED)
            wrong = await browser.post(own, data={"act": "sign"}, headers=FRAMED)
            refused = await browser.get(f"{own}/download", headers=FRAMED)
        statuses = [one.status_code for one in (opening, page, wrong, refused)]
        assert statuses == [200, 200, 400, 409]
        assert {ancestors(one) for one in (opening, page, wrong, refused)} == {frames}
        whom = None if frames == "'none'" else frames
        assert [one and one[0] for one in map(told, (opening, page, wrong))] == [whom] * 3


async def test_a_site_learns_why_a_link_does_not_open(office: Office) -> None:
    await name_sites(office, *SITES)
    path = await office.link(await office.create(send=True), "ann")
    async with office.api.client(scheme="https") as browser:
        assert (await browser.post(path, headers=FRAMED)).status_code == 303
        again = [await browser.get(path, headers=FRAMED), await browser.post(path, headers=FRAMED)]
    assert [(one.status_code, ancestors(one)) for one in again] == [(409, " ".join(SITES))] * 2


async def test_without_named_sites_and_without_a_session_nothing_can_be_framed(office: Office) -> None:
    document = await office.create(send=True)
    path = await office.link(document, "ann")
    assert ancestors(await office.api.get(path, key=None, headers=FRAMED)) == "'none'"
    await name_sites(office, *SITES)
    stranger = await office.api.get(f"/sign/{people(document)['Ann']}", key=None, headers=FRAMED)
    unknown = await office.api.get("/s/deed_sign_unknown", key=None, headers=FRAMED)
    for answer in (stranger, unknown, await office.api.get("/login", key=None, headers=FRAMED)):
        assert ancestors(answer) == "'none'"


async def test_the_cookie_goes_into_a_frame_only_if_link_sites_and_press_all_say_so(office: Office) -> None:
    document = await office.create(send=True)
    cases: list[tuple[str, bool, dict[str, str], bool]] = []
    for kind in ("mail", "embedded"):
        for named in (False, True):
            for headers in (FRAMED, TAB, HTML):
                cases.append((kind, named, headers, kind == "embedded" and named and headers is FRAMED))
    for kind, named, headers, framed in cases:
        await name_sites(office, *(SITES if named else []))
        path = (await mailed(office))[0] if kind == "mail" else await office.link(document, "ann")
        for scheme in ("http", "https"):
            if kind == "embedded" and scheme == "https":
                path = await office.link(document, "ann")
            async with office.api.client(scheme=scheme) as browser:
                cookie = (await browser.post(path, headers=headers)).headers["set-cookie"]
            parts = {one.strip().lower() for one in cookie.split(";")[1:]}
            case = (kind, named, headers.get("Sec-Fetch-Dest"), scheme)
            assert ("partitioned" in parts, "samesite=none" in parts) == (framed, framed), case
            assert ("samesite=lax" in parts) == (not framed), case
            assert ("secure" in parts) == (framed or scheme == "https"), case
            assert cookie.startswith("__Host-") == (scheme == "https"), case
            assert {"httponly", "path=/"} <= parts


async def test_a_form_of_the_framing_site_cannot_act_with_the_signers_cookie(office: Office) -> None:
    await name_sites(office, *SITES)
    document = await office.create(send=True)
    async with office.api.client(scheme="https") as browser:
        own = (await browser.post(await office.link(document, "ann"), headers=FRAMED)).headers["location"]
        assert (await browser.get(own, headers=FRAMED)).status_code == 200
        for foreign in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Origin": SITES[0]},
            {"Origin": "null"},
        ):
            headers = {**HTML, "Sec-Fetch-Dest": "iframe", **foreign}
            for path, body in ((own, {"data": {"act": "decline"}}), (f"{own}/complete", {"json": SIGNED})):
                answer = await browser.post(path, headers=headers, **body)
                assert (answer.status_code, foreign) == (403, foreign)
    assert (await office.document(document["id"]))["status"] == "sent"


async def test_of_two_cookies_each_place_has_its_own_session(office: Office) -> None:
    """As a browser sends them where the framing site is of the same site as the server."""
    await name_sites(office, *SITES)
    document = await office.create(send=True)
    [by_mail], embedded = await mailed(office), await office.link(document, "ann")
    sent = []
    for path, headers in ((by_mail, TAB), (embedded, FRAMED)):
        async with office.api.client(scheme="https") as browser:
            answer = await browser.post(path, headers=headers)
            own = answer.headers["location"]
            sent.append(answer.headers["set-cookie"].split(";")[0])
    framed_name = sent[1].partition("=")[0]
    for both in ("; ".join(sent), "; ".join(reversed(sent))):
        async with office.api.client(scheme="https") as browser:
            for headers, frames in ((FRAMED, " ".join(SITES)), (TAB, "'none'")):
                assert ancestors(await browser.get(own, headers={**headers, "Cookie": both})) == frames
    dead = f"{sent[0]}; {framed_name}=deed_session_{'x' * 32}"
    form = {"act": "sign", "consent": "yes", "signature": "Ann"}
    async with office.api.client(scheme="https") as browser:
        for headers in (FRAMED, TAB, HTML):
            assert (await browser.get(own, headers={**headers, "Cookie": dead})).status_code == 200
        signed = await browser.post(own, data=form, headers={**TAB, "Cookie": "; ".join(sent)})
        assert signed.status_code == 303, signed.text
    [act] = await trail(office, document, "signer.signed")
    assert "kept_link" in str(act), act


async def test_the_frame_shows_what_the_guard_refuses_too(office: Office) -> None:
    await name_sites(office, *SITES)
    path = await office.link(await office.create(send=True), "ann")
    frames, form = " ".join(SITES), "application/x-www-form-urlencoded"
    async with office.api.client(scheme="https") as browser:
        not_text = await browser.post(path, headers={**FRAMED, "Content-Type": form}, content=b"consent=%FC")
        own = (await browser.post(path, headers=FRAMED)).headers["location"]
        kind = await browser.post(own, headers={**FRAMED, "Content-Type": "text/plain"}, content=b"x")
        foreign = await browser.post(own, headers={**FRAMED, "Sec-Fetch-Site": "cross-site"})
        office.api.clock.forward(limits.SIGNER_SESSION_SECONDS)
        over = await browser.get(own, headers=FRAMED)
        for _ in range(web_limits.LINK_PER_MINUTE + 1):
            often = await browser.get(path, headers=FRAMED)
    refused = [(400, not_text), (415, kind), (403, foreign), (401, over), (429, often)]
    assert [(status, one.status_code, ancestors(one)) for status, one in refused] == [
        (status, status, frames) for status, _ in refused
    ]


async def test_the_page_in_the_frame_tells_where_the_signer_stands(office: Office) -> None:
    await name_sites(office, *SITES)
    whom = " ".join(SITES)
    people = [signer("ann"), signer("ben"), signer("eve", auth="access_code", access_code="tulip")]
    document = await office.create(send=True, signers=people)

    async def stands(name: str, act: dict[str, Any] | None = None) -> list[tuple[str, str] | None]:
        async with office.api.client(scheme="https") as browser:
            own = (await browser.post(await office.link(document, name), headers=FRAMED)).headers["location"]
            seen = [told(await browser.get(own, headers=FRAMED))]
            if act is not None:
                answer = await browser.post(f"{own}{act['path']}", json=act["body"])
                assert answer.status_code == 200, answer.text
                seen.append(told(await browser.get(own, headers=FRAMED)))
            return seen

    assert await stands("eve") == [(whom, "")]
    assert await stands("ann", {"path": "/complete", "body": SIGNED}) == [(whom, "opened"), (whom, "signed")]
    declined = {"path": "/decline", "body": {}}
    assert await stands("ben", declined) == [(whom, "opened"), (whom, "declined")]
    async with office.api.client(scheme="https") as browser:
        voided = await office.create(send=True)
        own = (await browser.post(await office.link(voided, "ann"), headers=FRAMED)).headers["location"]
        await office.api.call("POST", f"/api/v1/documents/{voided['id']}/void")
        assert told(await browser.get(own, headers=FRAMED)) == (whom, "over")


async def test_the_script_for_other_sites_has_one_address_and_is_not_kept_for_long(office: Office) -> None:
    script = await office.api.get("/static/embed.js", key=None)
    assert (script.status_code, script.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert script.headers["cache-control"] == f"public, max-age={web_limits.EMBED_SCRIPT_SECONDS}"
    assert script.headers["cross-origin-resource-policy"] == "cross-origin"
    again = await office.api.get("/static/embed.js", key=None, headers={"If-None-Match": script.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.one_database
async def test_the_way_to_verification_leads_out_of_the_frame_which_may_not_show_it(office: Office) -> None:
    await name_sites(office, *SITES)
    document = await office.create(send=True)
    async with office.session(document, "ann") as browser:
        await browser.get("/session")
        assert (await browser.post("/complete", json=SIGNED)).status_code == 200
        code = (await office.completed(document))["verification_code"]
        done = await browser.get("", headers=HTML)
    assert f'<a href="/verify/{code}" target="_blank" rel="noopener">' in done.text
