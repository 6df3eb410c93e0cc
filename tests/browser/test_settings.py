"""Settings and usage in a real browser: their looks, the card that follows what is typed, charts that can be read."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from deedbox.accounts import people
from deedbox.accounts.people import AccountChange
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.usage import store
from deedbox.usage.store import StoredUsage
from tests.api.conftest import opened, served
from tests.api.signing.conftest import Office
from tests.browser.screens import accepted
from tests.browser.test_frame import logo, signed_in
from tests.conftest import HandClock

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]


async def test_the_opening_card_follows_what_is_typed_and_signers_follow_what_is_saved(
    browser: Browser, office: Office
) -> None:
    page = await (await browser.new_context()).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await signed_in(office, page)
    await page.goto(f"{office.address}/app/settings/branding")
    card = page.locator(".preview")
    await page.get_by_label("Company name").fill("Harbour Ltd")
    await expect(card.locator(".brand-name")).to_have_text("Harbour Ltd")
    await page.get_by_label("Requested by").fill("Mara")
    await expect(card.get_by_text("Mara asks you to sign")).to_be_visible()
    await page.get_by_label("Colour", exact=True).fill("#e0a0d0")
    await expect(page.get_by_label("Use a custom colour")).to_be_checked()
    await expect(page.get_by_text("too light to read")).to_be_visible()
    button, ours = card.locator(".btn.main"), page.locator("#branding .btn.main")
    await expect(ours).to_have_css("background-color", "rgb(31, 92, 77)")
    told = await page.locator("#preview .note").inner_text()
    shown = re.findall("use #([0-9a-f]{6})", told)[0]
    colour = "rgb({}, {}, {})".format(*bytes.fromhex(shown))
    await expect(button).to_have_css("background-color", colour)
    await page.get_by_label("Sites that may embed signing").fill("http://shop.example.com")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("is no site")).to_be_visible()
    await accepted(page, "branding-wrong")
    await page.get_by_label("Sites that may embed signing").fill("https://shop.example.com")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved.")).to_be_visible()
    await page.locator("input[type=file]").set_input_files(
        {"name": "logo.png", "mimeType": "image/png", "buffer": logo()}
    )
    await page.get_by_role("button", name="Upload logo").click()
    await expect(page.get_by_text("Your new logo is in use.")).to_be_visible()
    await expect(card.locator("img.logo")).to_be_visible()
    await accepted(page, "branding")
    document = await office.create(send=True)
    signer = await (await browser.new_context()).new_page()
    await signer.goto(office.address + await office.link(document, "ann"))
    await expect(signer.get_by_role("button").last).to_have_css("background-color", colour)
    await expect(signer.locator("img.logo")).to_be_visible()
    assert [address for address in asked if not address.startswith(office.address)] == []


async def test_every_setting_may_be_shown_to_anyone(
    browser: Browser, database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    values: dict[str, Any] = {
        "smtp_url": Secret("smtps://sign:secret@127.0.0.1:9"),
        "mail_from": "Harbour <sign@example.com>",
        "service_ecosystem_key": Secret("a" * 64),
        "tsa_url": "https://tsa.example.com",
    }
    async with opened(database_url, tmp_path, clock, **values) as api, served(api) as port:
        await api.settle()
        office = Office(api)
        office.address = f"http://127.0.0.1:{port}"
        await api.deedbox.certificates.seal_identity(api.workspace)
        await api.deedbox.certificates.timestamper()
        await api.deedbox.certificates.renew("timestamp")
        page = await (await browser.new_context()).new_page()
        await has_address(office)
        await signed_in(office, page)
        for name, link in {"mail-server": "Mail server", "archive": "Archive", "limits": "Limits"}.items():
            await page.goto(f"{office.address}/app/settings/limits")
            await page.locator(".settings > nav").get_by_role("link", name=link).click()
            await accepted(page, f"settings-{name}")
        await page.goto(f"{office.address}/app/settings/mail")
        await page.get_by_role("button", name="Send a test email").click()
        await expect(page.get_by_text("The mail server did not accept the email")).to_be_visible()
        await page.goto(f"{office.address}/app/settings/certificates")
        await accepted(page, "settings-certificates")


async def test_charts_can_be_read_by_eye_and_as_tables(browser: Browser, office: Office) -> None:
    page = await (await browser.new_context()).new_page()
    await signed_in(office, page)
    await page.goto(f"{office.address}/app/usage")
    await expect(page.get_by_text("No documents were sent in this period.")).to_be_visible()
    await accepted(page, "usage-empty")
    documents = [(await office.create())["id"] for _ in range(12)]
    await office.api.deedbox.db.write(lambda tx: _busy_month(tx, office, documents))
    await page.reload()
    await expect(page.locator("svg.shapes")).to_have_count(5)
    await accepted(page, "usage")
    await page.locator(".behind > summary").first.click()
    await expect(page.get_by_role("cell", name="1", exact=True).first).to_be_visible()
    await page.get_by_role("link", name="12 months").click()
    await expect(page.get_by_role("link", name="12 months")).to_have_attribute("aria-current", "true")
    await accepted(page, "usage-months")


def _busy_month(tx: Tx, office: Office, documents: list[str]) -> None:
    """A month in which documents were sent and signed, questions asked and files stored."""
    api, now = office.api, office.api.clock.now()
    for number, document_id in enumerate(documents):
        sent = now - timedelta(days=(number * 7) % 30, hours=number)
        done = instant(sent + timedelta(hours=number * 5 % 13 + 1)) if number % 3 else None
        sql = "update documents set sent_at = :sent, completed_at = :done where id = :id"
        tx.run(sql, sent=instant(sent), done=done, id=document_id)
    for back in range(30):
        day = instant(now - timedelta(days=back))[:10]
        stored = StoredUsage((60 - back) * 1_400_000, (35 - back) * 900_000, instant(now))
        store.keep_storage(tx, api.workspace, day, stored)
        if back % 7 not in (1, 2):
            for bucket, queries in ((4, 40 + back * 3 % 17), (8 + back % 3, 6)):
                tx.run(
                    "insert into query_days (workspace_id, day, bucket, queries) values (:id, :day, :bucket, :queries)",
                    id=api.workspace,
                    day=day,
                    bucket=bucket,
                    queries=queries,
                )


async def has_address(office: Office) -> None:
    """Gives the owner an e-mail address."""
    api = office.api
    [(person_id,)] = await api.rows(
        f"select person_id from memberships where workspace_id = '{api.workspace}' and role = 'owner'"
    )
    change = AccountChange("Mara", "mara@example.com", None, None)
    await api.deedbox.db.write(lambda tx: people.settle(tx, person_id, change, keep=""))
