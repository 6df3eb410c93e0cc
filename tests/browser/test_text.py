"""Read as text, in a real browser: every page's text in reading order, the signer's fields as links at their place."""

import base64
import io
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import Browser

from tests.api.signing.conftest import Office, signer
from tests.api.signing.test_entry import trail
from tests.browser.screens import accepted
from tests.browser.test_states import PHONE, link, opened
from tests.pdf.papers import lines, paper

pytestmark = pytest.mark.anyio
LONG = "The tenant pays the rent of 1,250 euros on the first working day of every month"
LEASE = paper(
    lines(LONG, "and keeps the flat in good order.", y=760)
    + b" " + lines("City:", y=600) + b" " + lines("Signed by the tenant below.", y=500)
)  # fmt: skip
FIELDS = [
    {"type": "signature", "page": 1, "x": 0.1, "y": 0.6, "w": 0.4, "h": 0.06, "signer": "ann@example.com"},
    {"type": "text", "label": "City", "page": 1, "x": 0.2, "y": 0.27, "w": 0.3, "h": 0.02, "signer": "ann@example.com"},
]


def a_file(content: bytes, name: str = "lease.pdf") -> dict[str, str]:
    return {"name": name, "content_base64": base64.b64encode(content).decode()}


def scan() -> bytes:
    made = io.BytesIO()
    Image.effect_noise((300, 400), 50).save(made, "PDF")
    return made.getvalue()


async def test_every_page_s_text_is_in_reading_order_with_fields_as_links_at_their_place(
    browser: Browser, office: Office
) -> None:
    document = await office.create(file=a_file(LEASE), fields=FIELDS, send=True)
    page = await (await browser.new_context(viewport=PHONE)).new_page()
    await opened(page, await link(office, document))
    await page.goto(page.url.partition("#")[0] + "/text")
    told = [" ".join((await one.inner_text()).split()) for one in await page.locator("article section p").all()]
    assert told == [
        f"{LONG} and keeps the flat in good order.", "City: City", "Signed by the tenant below.", "Your signature",
    ]  # fmt: skip
    ids = {one["type"]: one["id"] for one in document["fields"]}
    links = [await one.get_attribute("href") for one in await page.locator("a.to-fill").all()]
    assert [str(one).partition("#")[2] for one in links] == [ids["text"], ids["signature"]]
    await accepted(page, "text")
    await page.reload()
    [row] = await trail(office, document, "signer.text_viewed")
    assert len(row["detail"]["text_sha256"]) == 64
    address = page.url
    await page.get_by_role("link", name="City").click()
    await page.locator(f"#{ids['text']}:focus").wait_for()
    await page.goto(address)
    await page.get_by_role("link", name="Your signature").click()
    await page.locator("fieldset[data-kind=signature]:not([hidden])").wait_for()


async def test_scans_say_that_there_is_no_text_and_a_packet_has_a_heading_for_each_document(
    browser: Browser, office: Office
) -> None:
    documents: list[Any] = [
        {"title": "Lease", "file": a_file(LEASE), "fields": FIELDS},
        {"title": "Plan", "file": a_file(scan(), "plan.pdf"), "fields": []},
    ]
    body = {"title": "Flat 7", "documents": documents, "signers": [signer("ann", language="ar")], "send": True}
    answer = await office.api.post("/api/v1/packets", body)
    assert answer.status_code == 201, answer.text
    page = await (await browser.new_context(viewport=PHONE)).new_page()
    await opened(page, await link(office, answer.json()["documents"][0]))
    await page.goto(page.url.partition("#")[0] + "/text")
    heads = [await one.inner_text() for one in await page.locator("h2").all()]
    assert heads == ["1. Lease", "2. Plan"]
    assert await page.locator("html").get_attribute("dir") == "rtl"
    assert await page.get_by_text("لا تحتوي هذه الصفحة على نص: إنها صورة.").count() == 1
    await accepted(page, "text-packet")
