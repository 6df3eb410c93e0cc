"""Signing within another site, in a real browser: the example of the docs as host, the server a stranger to it."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.async_api import Browser, FrameLocator, Page

from tests.api.search.files import pdf
from tests.browser.screens import faults
from tests.docs.test_commands import free_port
from tests.faults.installation import ROOT, Installation
from tests.server import environment

pytestmark = pytest.mark.anyio

HOST = ROOT / "docs" / "how-to" / "hosts" / "host.py"


class Place(NamedTuple):
    server: str
    key: str
    login_link: str
    named: str
    """A site that the workspace names."""
    other: str
    """The same site under an address that it does not name."""

    def api(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=self.server, headers=headers, timeout=30, trust_env=False)

    def mailed(self) -> str:
        """The signing link of a mail that stayed here."""
        with httpx.Client(base_url=self.server, follow_redirects=True, timeout=30, trust_env=False) as person:
            person.post(self.login_link)
            [mail, *_] = re.findall(r'href="(/app/mail/[^"]+)"', person.get("/app/mail").text)
            [address] = re.findall(r'href="(http[^"]+/s/[^"]+)"', person.get(mail).text)
            return str(address)

    def statuses(self) -> list[str]:
        with self.api() as api:
            return [one["status"] for one in api.get("/api/v1/documents").json()["documents"]]


@contextmanager
def host(folder: Path, server: str, key: str) -> Iterator[str]:
    """The site of the docs, running; by a name that makes it another site than the server."""
    (folder / "lease.pdf").write_bytes(pdf("The rent.", size=(595, 842)))
    port = free_port()
    env = environment(DEEDBOX_URL=server, DEEDBOX_API_KEY=key)
    command = [sys.executable, str(HOST), str(port), str(folder / "lease.pdf")]
    process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(trust_env=False) as client:
            while process.poll() is None:
                try:
                    client.get(f"http://127.0.0.1:{port}/")
                    break
                except httpx.ConnectError:
                    continue
        yield f"http://localhost:{port}"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("embedding")
    installation = Installation(folder / "data")
    key = installation.key()
    with (
        installation.running() as running,
        host(folder, running.address, key) as named,
        host(folder, running.address, key) as other,
    ):
        link = json.loads(installation.command("login-link", "--json"))["login_link"]
        found = Place(running.address, key, link, named, other)
        with found.api() as api:
            assert api.patch("/api/v1/workspace", json={"embed_sites": [named]}).status_code == 200
        yield found


async def framed(browser: Browser, site: str, **options: Any) -> tuple[Page, FrameLocator]:
    """The site's page after a press on its button, and the frame in it."""
    page = await (await browser.new_context(**options)).new_page()
    await page.goto(site)
    async with page.expect_response("**/link") as made:
        await page.get_by_role("button", name="Sign it here").click()
    assert (await made.value).status == 201
    await page.locator("iframe").wait_for()
    return page, page.frame_locator("iframe")


async def heard(page: Page, words: str) -> None:
    """Waits until the site has heard exactly this."""
    await page.wait_for_function("words => document.getElementById('heard').textContent.trim() === words", arg=words)


async def in_frame(page: Page, code: str) -> Any:
    """What this code gives inside the frame."""
    return await page.frames[1].evaluate(code)


async def test_a_named_site_shows_signing_in_a_frame_and_hears_opened_signed_closed(
    browser: Browser, place: Place
) -> None:
    page, frame = await framed(browser, place.named, viewport={"width": 390, "height": 760}, bypass_csp=True)
    assert await faults(page.frames[1]) == []  # type: ignore[arg-type]
    card = await page.locator("iframe").evaluate("frame => frame.getBoundingClientRect().height")
    await frame.get_by_label("I agree to sign").check()
    await frame.get_by_role("button", name="Open the document").click()
    await heard(page, "opened")
    assert await page.locator("iframe").evaluate("frame => frame.getBoundingClientRect().height") == round(760 * 0.9)
    assert 320 <= card <= round(760 * 0.9)
    [cookie] = [one for one in await page.context.cookies() if "deedbox_framed_" in str(one.get("name"))]
    assert (cookie.get("sameSite"), cookie.get("secure"), cookie.get("httpOnly")) == ("None", True, True)
    await _sign(frame)
    await heard(page, "opened signed")
    await frame.get_by_role("button", name="Close").wait_for()
    assert await faults(page.frames[1]) == []  # type: ignore[arg-type]
    await frame.get_by_role("button", name="Close").click()
    await heard(page, "opened signed closed")
    assert await page.locator("iframe").count() == 0


async def _sign(frame: FrameLocator) -> None:
    """By presses in the frame, where the browser gives the page no storage."""
    go_on = frame.get_by_role("button", name=re.compile("^(Next|Sign)$"))
    await go_on.wait_for()
    while await go_on.inner_text() == "Next":
        await go_on.click()
    while not await frame.locator("[name=signature-kind][value=typed]").is_checked():  # the site may scroll meanwhile
        await frame.get_by_text("Type", exact=True).click()
    await go_on.click()


async def test_a_decline_is_heard(browser: Browser, place: Place) -> None:
    page, frame = await framed(browser, place.named)
    await frame.get_by_role("button", name="Open the document").click()
    await heard(page, "opened")
    await in_frame(
        page,
        "() => fetch(location.pathname + '/decline', {method: 'POST', headers: {'Content-Type': 'application/json'},"
        " body: '{}'}).then(() => location.reload())",
    )
    await heard(page, "opened declined")


async def test_a_site_that_is_not_named_gets_no_page_and_hears_nothing(browser: Browser, place: Place) -> None:
    page, _ = await framed(browser, place.other)
    refused = page.frames[1]
    await refused.wait_for_load_state()
    assert refused.url == "chrome-error://chromewebdata/"
    assert await page.locator("#heard").inner_text() == ""


async def test_a_mailed_link_cannot_be_framed_by_a_named_site_either(browser: Browser, place: Place) -> None:
    page, _ = await framed(browser, place.named)  # which has sent a mail, too
    address = place.mailed()
    await page.evaluate("url => Deedbox.sign(document.getElementById('signing'), url)", address)
    await page.wait_for_function("document.querySelectorAll('iframe').length === 1")
    shown = page.frames[-1]
    await shown.wait_for_load_state()
    assert shown.url == "chrome-error://chromewebdata/"


FORGE = """async ([server]) => {
  window.forged = 0;
  window.addEventListener("message", (event) => { window.forged += event.data.forged === true; });
  const word = {deedbox: "signed", forged: true};
  window.postMessage(word, "*");
  const stranger = document.createElement("iframe");
  stranger.srcdoc = "<script>parent.postMessage({deedbox: 'signed', forged: true}, '*')</" + "script>";
  const twin = document.createElement("iframe");  // of the server itself, but not the frame that was opened
  twin.src = server + "/static/embed.js";
  await new Promise((done) => { twin.onload = done; document.body.append(stranger, twin); });
}"""
WORD = "parent.postMessage({deedbox: 'signed', forged: true}, '*')"


async def test_a_forged_message_is_ignored(browser: Browser, place: Place) -> None:
    page, frame = await framed(browser, place.named)
    await frame.get_by_role("button", name="Open the document").click()
    await heard(page, "opened")
    await page.evaluate(FORGE, [place.server])
    await next(one for one in page.frames if one.url.endswith("/static/embed.js")).evaluate(WORD)
    # The very frame, but another site's page in it.
    async with page.expect_event("framenavigated", lambda one: one.url.startswith(place.other)) as gone:
        await page.evaluate("site => { document.querySelector('#signing iframe').src = site; }", place.other)
    await (await gone.value).wait_for_load_state()
    await (await gone.value).evaluate(WORD)
    await page.wait_for_function("window.forged === 4")
    assert await page.locator("#heard").inner_text() == "opened"
    assert place.statuses()[0] == "sent"


TRAP = """own => {
  const trap = Object.assign(document.createElement("iframe"), {name: "trap"});
  const form = Object.assign(document.createElement("form"), {method: "post", action: own, target: "trap"});
  form.append(Object.assign(document.createElement("input"), {name: "act", value: "decline"}));
  document.body.append(trap, form);
  form.submit();
}"""


async def test_a_form_of_the_named_site_cannot_act_with_the_cookie_of_the_frame(browser: Browser, place: Place) -> None:
    page, frame = await framed(browser, place.named)
    await frame.get_by_role("button", name="Open the document").click()
    await heard(page, "opened")
    own = page.frames[1].url
    async with page.expect_response(lambda answer: answer.request.method == "POST") as sent:
        await page.evaluate(TRAP, own)
    assert (await sent.value).status == 403
    assert place.statuses()[0] == "sent"


NO_COOKIES = "Object.defineProperty(Document.prototype, 'cookie', {get: () => '', set: () => {}})"


async def test_where_a_frame_keeps_no_cookies_a_tab_is_offered_and_the_link_is_not_used_up(
    browser: Browser, place: Place
) -> None:
    context = await browser.new_context(bypass_csp=True)  # axe runs from a text
    await context.add_init_script(f"if (window.parent !== window) {NO_COOKIES}")
    page = await context.new_page()
    await page.goto(place.named)
    await page.get_by_role("button", name="Sign it here").click()
    frame = page.frame_locator("iframe")
    offered = frame.get_by_role("link", name="Open in a new tab")
    await offered.wait_for()
    assert await faults(page.frames[1]) == []  # type: ignore[arg-type]
    assert not await frame.get_by_role("button", name="Open the document").is_visible()
    async with context.expect_page() as opened:
        await offered.click()
    tab = await opened.value
    await tab.get_by_role("button", name="Open the document").click()
    await tab.wait_for_url("**/sign/sgn_*")
    assert (await tab.request.get(f"{tab.url}/session")).status == 200
