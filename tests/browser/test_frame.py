"""The frame of all pages in a real browser: its look, its live parts, its policy, and a workspace's own brand."""

import io

import pytest
from PIL import Image, ImageDraw
from playwright.async_api import Browser, Page, expect

from deedbox.accounts import workspaces
from deedbox.mail import Mail
from tests.api.signing.conftest import Office
from tests.browser.conftest import program
from tests.browser.screens import accepted
from tests.mail.letters import LETTERS, READER

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


async def link(office: Office) -> str:
    """A one-time login link."""
    api, now = office.api, office.api.clock.now()
    token = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.workspace, now=now))
    return f"{office.address}/login/{token.reveal()}"


async def signed_in(office: Office, page: Page) -> None:
    await page.goto(await link(office))
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url("**/account")


async def queued(office: Office, letter: str) -> None:
    api, mail = office.api, Mail(to=READER, letter=LETTERS[letter])
    await api.deedbox.db.write(lambda tx: api.deedbox.mailer.queue(tx, api.workspace, mail, now=api.clock.now()))


async def test_the_pages_of_people_may_be_shown_to_anyone(browser: Browser, office: Office) -> None:
    page = await (await browser.new_context()).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(f"{office.address}/login")
    await accepted(page, "login")
    await page.goto(await link(office))
    await accepted(page, "login-link")
    await page.get_by_role("button", name="Sign in").click()
    await accepted(page, "account-first")
    await page.get_by_label("Name").fill("Mara")
    await page.get_by_label("Email address").fill("mara@example.com")
    await page.get_by_label("New password").fill("correct horse battery")
    await page.get_by_role("button", name="Save").click()
    await accepted(page, "welcome")
    await page.goto(f"{office.address}/account")
    await page.locator("form[action='/account']").get_by_label("Current password").fill("wrong horse")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_label("Current password")).to_have_attribute("aria-invalid", "true")
    await accepted(page, "account-wrong")
    document = await office.create(send=True)
    await page.goto(f"{office.address}/app/documents/{document['id']}")
    await accepted(page, "document")
    await page.get_by_role("link", name="Mail").click()
    await accepted(page, "mails")
    await page.get_by_role("link", name="asks you to sign").first.click()
    await accepted(page, "mail")
    await page.goto(f"{office.address}/app/documents/doc_unknown")
    await accepted(page, "refused")
    assert [address for address in asked if not address.startswith(office.address)] == []


async def test_a_part_of_a_page_follows_what_happens_without_a_reload(browser: Browser, office: Office) -> None:
    page = await (await browser.new_context()).new_page()
    await signed_in(office, page)
    await page.clock.install()
    await page.goto(f"{office.address}/app/mail")
    await page.evaluate("window.sameDocument = true")
    await expect(page.get_by_text("No emails yet")).to_be_visible()
    await queued(office, "invitation")
    await page.clock.run_for(10_000)
    await expect(page.get_by_text(READER.address).first).to_be_visible()
    # Whoever is at work in it is left alone.
    await page.locator("[data-live] a").first.focus()
    await queued(office, "code")
    await page.clock.run_for(30_000)
    assert await page.locator("[data-live] li").count() == 1
    await page.evaluate("document.activeElement.blur()")
    await page.clock.run_for(10_000)
    await expect(page.locator("[data-live] li")).to_have_count(2)
    assert await page.evaluate("window.sameDocument")


async def test_nothing_can_be_written_into_a_page_but_by_the_one_policy(browser: Browser, office: Office) -> None:
    page = await (await browser.new_context()).new_page()
    await page.goto(f"{office.address}/login")
    told = await page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return 'allowed' } catch (error) { return error.name } }"
    )
    other = await page.evaluate(
        "() => { try { trustedTypes.createPolicy('mine', {}); return 'allowed' } catch (error) { return error.name } }"
    )
    assert (told, other) == ("TypeError", "TypeError")


async def test_forms_work_over_plain_http_where_browsers_do_not_tell_the_site(browser: Browser, office: Office) -> None:
    """In a home or an office, by the name of a machine: neither TLS nor loopback, and so no Sec-Fetch-Site."""
    rule = "--host-resolver-rules=MAP deedbox.lan 127.0.0.1"
    running = await browser.browser_type.launch(executable_path=program(), args=["--no-sandbox", rule])
    try:
        page = await (await running.new_context(java_script_enabled=False)).new_page()
        told: list[dict[str, str]] = []
        page.on("request", lambda request: told.append(request.headers) if request.method == "POST" else None)
        office.address = office.address.replace("127.0.0.1", "deedbox.lan")
        await signed_in(office, page)
        await page.get_by_label("Name").fill("Mara")
        await page.get_by_label("Email address").fill("mara@example.com")
        await page.get_by_label("New password").fill("correct horse battery")
        await page.get_by_role("button", name="Save").click()
        await page.wait_for_url("**/app/welcome")
        document = await office.create(send=True)
        await page.goto(office.address + await office.link(document, "ann"))
        await page.locator("form[action^='/s/'] button").click()
        await page.wait_for_url("**/sign/sgn_*")
        await page.locator("[name=signature]").fill("Ann")
        if await page.locator("[name=consent]").is_visible():
            await page.locator("[name=consent]").check()
        await page.locator("#act").click()
        await page.wait_for_load_state()
    finally:
        await running.close()
    assert len(told) == 4
    assert not any("sec-fetch-site" in one for one in told), "this browser tells the site: the test shows nothing"
    found = await office.document(document["id"])
    assert found["parties"][0]["signers"][0]["status"] == "signed"


def logo() -> bytes:
    made = io.BytesIO()
    image = Image.new("RGBA", (600, 200), (0, 0, 0, 0))
    ImageDraw.Draw(image).rounded_rectangle((0, 0, 599, 199), 60, fill="#7a1f5c")
    image.save(made, "PNG")
    return made.getvalue()


async def test_a_signer_sees_the_workspace_s_name_logo_and_colour(browser: Browser, office: Office) -> None:
    api = office.api
    answer = await api.call("PATCH", "/api/v1/workspace", json={"name": "Harbour Ltd", "accent": "#e0a0d0"})
    assert answer.json()["accent_shown"]["darkened"]
    assert (await api.call("PUT", "/api/v1/workspace/logo", files={"file": ("logo.png", logo())})).status_code == 200
    document = await office.create(send=True)
    page = await (await browser.new_context()).new_page()
    await page.goto(office.address + await office.link(document, "ann"))
    shown = page.locator("img.logo")
    assert await shown.evaluate("image => image.naturalWidth") == 512
    await expect(page.get_by_text("Harbour Ltd").first).to_be_visible()
    button = page.get_by_role("button").last
    dark = answer.json()["accent_shown"]["light"]
    red, green, blue = (int(dark[at : at + 2], 16) for at in (1, 3, 5))
    await expect(button).to_have_css("background-color", f"rgb({red}, {green}, {blue})")
    await accepted(page, "branded")
