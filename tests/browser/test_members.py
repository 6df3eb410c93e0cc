"""Members, workspaces, sessions and passkeys in a real browser."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.api.people import member
from tests.api.signing.conftest import Office
from tests.browser.screens import accepted
from tests.browser.test_frame import link

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]

PASSWORD = "correct horse battery"


async def first_run(office: Office, page: Page) -> None:
    """From the one-time link to the three cards, by keyboard alone."""
    await page.goto(await link(office))
    await page.get_by_role("button", name="Sign in").press("Enter")
    for label, typed in (("Name", "Mara"), ("Email address", "mara@example.com"), ("New password", PASSWORD)):
        await page.get_by_label(label).fill(typed)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/app/welcome")


async def test_a_person_is_invited_joins_gets_another_role_and_is_removed(browser: Browser, office: Office) -> None:
    mine = await (await browser.new_context()).new_page()
    await first_run(office, mine)
    await expect(mine.get_by_role("heading", name="Welcome, Mara")).to_be_visible()
    assert await mine.locator(".way").count() == 3
    await mine.goto(f"{office.address}/app/settings/members")
    await accepted(mine, "members-alone")
    await mine.locator("#role").select_option("viewer")
    await mine.get_by_label("Email address (optional)").fill("ben@example.com")
    await mine.get_by_role("button", name="Create link").click()
    await expect(mine.get_by_text("This link is shown only once.")).to_be_visible()
    address = await mine.locator("#made pre").inner_text()
    await accepted(mine, "members-invited")
    theirs = await (await browser.new_context()).new_page()
    await theirs.goto(office.address + address.partition("/join")[1] + address.partition("/join")[2])
    await accepted(theirs, "join")
    assert await theirs.get_by_label("Email address").first.input_value() == "ben@example.com"
    await theirs.get_by_label("Name").fill("Ben")
    await theirs.get_by_label("New password").fill(PASSWORD)
    await theirs.get_by_role("button", name="Create account and join").click()
    await theirs.goto(f"{office.address}/app/settings/members")
    await expect(theirs.get_by_role("alert")).to_contain_text("Your role in this workspace does not allow this")
    await accepted(theirs, "role-refused")
    await theirs.goto(f"{office.address}/app/welcome")
    await accepted(theirs, "welcome-viewer")
    await mine.goto(f"{office.address}/app/settings/members")
    await mine.get_by_label("Role of Ben").select_option("owner")
    await mine.locator("tr", has_text="Ben").get_by_role("button", name="Change").click()
    await expect(mine.get_by_text("Role changed.")).to_be_visible()
    await theirs.goto(f"{office.address}/app/settings/members")
    await expect(theirs.get_by_role("heading", name="Members")).to_be_visible()
    await mine.get_by_role("button", name="Remove Ben").click()
    dialog = mine.get_by_role("dialog")
    await expect(dialog.get_by_role("heading", name="Remove Ben?")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await accepted(mine, "members-remove")
    await dialog.get_by_role("button", name="Remove").click()
    await expect(mine.get_by_text("Member removed.")).to_be_visible()
    await theirs.reload()
    await theirs.wait_for_url("**/login")
    await theirs.goto(office.address + address.partition("/join")[1] + address.partition("/join")[2])
    await expect(theirs.get_by_role("alert")).to_contain_text("used, withdrawn, or has expired")
    await accepted(theirs, "join-over")


async def test_a_passkey_signs_in_and_sessions_end(browser: Browser, office: Office) -> None:
    office.address = office.address.replace("127.0.0.1", "localhost")
    context = await browser.new_context()
    page = await context.new_page()
    tools = await context.new_cdp_session(page)
    await tools.send("WebAuthn.enable")
    virtual = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    made = await tools.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": {**virtual, "isUserVerified": True, "automaticPresenceSimulation": True}},
    )
    await first_run(office, page)
    await page.goto(f"{office.address}/account")
    await page.get_by_label("Name of the new passkey").fill("Laptop")
    await page.get_by_role("button", name="Add a passkey").click()
    await expect(page.get_by_text("Passkey added.")).to_be_visible()
    await accepted(page, "account")
    old = await (await browser.new_context(storage_state=await context.storage_state())).new_page()
    await page.locator("main").get_by_role("button", name="Sign out").last.click()
    await page.wait_for_url("**/login")
    await accepted(page, "login-passkey")
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await page.wait_for_url("**/app/documents")
    await old.goto(f"{office.address}/account")
    await old.wait_for_url("**/login")
    # One that this browser does not show opens nothing; nor does a password lost to someone else.
    await tools.send("WebAuthn.setUserVerified", {"authenticatorId": made["authenticatorId"], "isUserVerified": False})
    other = await (await browser.new_context()).new_page()
    await other.goto(f"{office.address}/login")
    await other.get_by_label("Email address").fill("mara@example.com")
    await other.get_by_label("Password").fill(PASSWORD)
    await other.get_by_role("button", name="Sign in", exact=True).click()
    await other.wait_for_url("**/app/documents")
    await page.goto(f"{office.address}/account")
    await page.get_by_role("button", name="Sign out everywhere else").click()
    await other.reload()
    await other.wait_for_url("**/login")
    await page.get_by_role("button", name="Remove Laptop").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    # It has opened this very session, which ends with it.
    await page.wait_for_url("**/login#passkeys")
    await page.goto(f"{office.address}/account")
    await page.wait_for_url("**/login")
    await tools.send("WebAuthn.setUserVerified", {"authenticatorId": made["authenticatorId"], "isUserVerified": True})
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("This passkey does not open an account here.")


async def test_someone_in_two_workspaces_switches_between_them(browser: Browser, office: Office) -> None:
    api = office.api
    page = await (await browser.new_context()).new_page()
    await first_run(office, page)
    await member(api, "owner", workspace=api.other_workspace)
    made = await api.post("/api/v1/members", {"role": "viewer"}, key=await api.make_key(workspace=api.other_workspace))
    await page.goto(f"{office.address}/join/{Path(made.json()['link']).name}")
    await accepted(page, "join-signed-in")
    await page.get_by_role("button", name="Join with this account").click()
    await page.goto(f"{office.address}/account/workspaces")
    await accepted(page, "workspaces")
    await expect(page.locator(".house")).to_contain_text("Other")
    await page.get_by_role("button", name="Switch to Main").click()
    await expect(page.locator(".house")).to_contain_text("Main")
    await page.goto(f"{office.address}/login/forgot")
    await accepted(page, "forgot")
