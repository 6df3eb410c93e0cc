"""The settings of a workspace and of the server, as a person who is signed in sees and changes them."""

import asyncio
import email
import email.policy
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pypdfium2 as pdfium
import pytest

from deedbox.accounts import people
from deedbox.accounts.people import AccountChange
from deedbox.kernel.crypto import Secret
from deedbox.kernel.settings import Settings, variable
from deedbox.kernel.settings.fields import SECRETS
from deedbox.web import limits
from tests.api.conftest import Api, opened
from tests.api.signing.conftest import LINK, Office, with_mail
from tests.api.test_mail_page import owner, strict
from tests.api.test_workspace import picture
from tests.conftest import HandClock
from tests.mail.mailserver import mailroom

pytestmark = pytest.mark.anyio

BRANDING = "/app/settings/branding"
PAGES = [f"/app/settings/{name}" for name in ("branding", "mail", "archive", "certificates", "limits")]
FORM = {"name": "Harbour Ltd", "sender_name": "Mara", "sender_email": "mara@example.com", "notices": "on"}
PLACEHOLDER = "tell-nobody-"


@asynccontextmanager
async def working(database_url: str, folder: Path, clock: HandClock, **settings: Any) -> AsyncIterator[Api]:
    """An installation with these settings, whose jobs are at work."""
    async with opened(database_url, folder, clock, **settings) as made:
        await made.settle()
        await made.deedbox.start()
        try:
            yield made
        finally:
            await made.deedbox.stop()


async def has_address(api: Api, address: str) -> None:
    """Gives the owner an e-mail address."""
    [(person_id,)] = await api.rows(
        f"select person_id from memberships where workspace_id = '{api.workspace}' and role = 'owner'"
    )
    change = AccountChange("Mara", address, None, None)
    await api.deedbox.db.write(lambda tx: people.settle(tx, person_id, change, keep=""))


def said(page: httpx.Response) -> str:
    """The text of a page."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", page.text)))


@pytest.mark.one_database
async def test_every_page_of_the_settings_is_strict_and_for_owners_only(api: Api) -> None:
    async with owner(api) as client:
        for path in PAGES:
            page = await client.get(path)
            assert (page.status_code, strict(page)) == (200, True), path
        await api.deedbox.db.write(lambda tx: tx.run("update memberships set role = 'sender'"))
        for path in PAGES:
            assert (await client.get(path)).status_code == 403, path
        assert (await client.post(BRANDING, data=FORM)).status_code == 403


# branding


async def test_what_is_saved_on_the_page_is_what_the_api_tells(api: Api) -> None:
    sites = "https://app.example.com/\n\nhttp://localhost:3000\n"
    async with owner(api) as client:
        saved = await client.post(
            BRANDING, data={**FORM, "own_accent": "on", "accent": "#E0A0D0", "embed_sites": sites}
        )
        assert (saved.status_code, saved.headers["location"]) == (303, f"{BRANDING}?done=saved")
        page = await client.get(saved.headers["location"])
        told = (await api.get("/api/v1/workspace")).json()
        assert "Saved." in page.text
        shown = told["accent_shown"]["light"]
        assert f"Pages and emails use {shown} instead of #e0a0d0" in said(page)
        left = await client.post(BRANDING, data={"name": "Harbour Ltd", "accent": "#1f5c4d"})
        assert left.status_code == 303
    assert (told["name"], told["sender_name"], told["sender_email"]) == ("Harbour Ltd", "Mara", "mara@example.com")
    assert (told["accent"], told["embed_sites"]) == ("#e0a0d0", ["https://app.example.com", "http://localhost:3000"])
    after = (await api.get("/api/v1/workspace")).json()
    assert (after["sender_name"], after["sender_email"], after["notices"]) == (None, None, False)
    assert (after["accent"], after["embed_sites"]) == (None, [])


async def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_changed_or_lost(api: Api) -> None:
    before = (await api.get("/api/v1/workspace")).json()
    wrong = {
        "name": ("", "Must not be empty."),
        "sender_email": ("nobody", "is not an e-mail address"),
        "embed_sites": ("https://*.example.com", "is no site"),
        "accent": ("red", "Must be a colour such as #1f5c4d"),
    }
    async with owner(api) as client:
        for name, (value, told) in wrong.items():
            typed = {**FORM, "sender_name": "Kept", "own_accent": "on", "accent": "#1f5c4d", name: value}
            page = await client.post(BRANDING, data=typed)
            assert page.status_code == 400, name
            field = page.text[page.text.index(f'name="{name}"') :]
            alert = unescape(re.sub(r"<[^>]*>", "", field[field.index('role="alert"') :].split("</p>")[0]))
            assert told in alert, (name, alert)
            assert f"{name}:" not in alert
            assert 'value="Kept"' in page.text
            assert 'aria-invalid="true"' in page.text
    assert (await api.get("/api/v1/workspace")).json() == before


@pytest.mark.one_database
async def test_the_opening_card_follows_what_is_typed_before_it_is_saved(api: Api) -> None:
    before = await api.rows("select * from workspaces")
    typed = {**FORM, "name": "Quay & Sons", "own_accent": "on", "accent": "#e0a0d0"}
    async with owner(api) as client:
        part = await client.post(f"{BRANDING}/preview", data=typed, headers={"X-Part": "preview"})
        whole = await client.post(f"{BRANDING}/preview", data=typed)
        [sheet] = re.findall(r'href="(/brand/[^"]+)"', part.text)
        rules = await client.get(sheet)
        odd = await client.post(f"{BRANDING}/preview", data={"name": "", "own_accent": "on", "accent": "red;}"})
    assert "<html" not in part.text
    assert "Quay &amp; Sons" in part.text
    assert "Mara" in part.text
    assert "inert" in part.text
    assert rules.text.startswith(".preview{--accent:")
    assert ":root" not in rules.text
    assert part.text in whole.text
    assert "Saved" not in whole.text
    assert (odd.status_code, "/brand/" in odd.text) == (200, False)
    assert await api.rows("select * from workspaces") == before


async def test_a_logo_is_put_drawn_anew_and_removed_by_the_page(api: Api) -> None:
    async with owner(api) as client:
        put = await client.post(f"{BRANDING}/logo", files={"file": ("logo.png", picture("PNG", (1200, 400)))})
        assert (put.status_code, put.headers["location"]) == (303, f"{BRANDING}?done=logo")
        logo = (await api.get("/api/v1/workspace")).json()["logo"]
        page = await client.get(BRANDING)
        assert page.text.count(f'src="{logo}"') == 2, "beside its form, and on the opening card"
        bad = await client.post(f"{BRANDING}/logo", files={"file": ("logo.png", b"no picture")})
        assert bad.status_code == 400
        assert 'id="file-error"' in bad.text
        assert (await api.get("/api/v1/workspace")).json()["logo"] == logo
        for _ in range(2):
            gone = await client.post(f"{BRANDING}/logo/remove")
            assert gone.headers["location"] == f"{BRANDING}?done=removed"
    assert (await api.get("/api/v1/workspace")).json()["logo"] is None


async def test_signer_mail_and_certificate_follow_the_branding(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with with_mail(database_url, tmp_path, clock) as office, owner(office.api) as client:
        api = office.api
        await client.post(BRANDING, data={**FORM, "own_accent": "on", "accent": "#7a1f5c"})
        await client.post(f"{BRANDING}/logo", files={"file": ("logo.png", picture("PNG", (300, 100)))})
        document = await office.create(send=True)
        page = await api.get(await office.read(LINK, "ann", "Lease"), key=None, headers={"Accept": "text/html"})
        [envelope] = office.room.taken
        assert (await office.sign(document, "ann")).status_code == 200
        await office.completed(document)
        certificate = await api.get(f"/api/v1/documents/{document['id']}/certificate")
    logo = re.findall(r'src="(/brand/[0-9a-f]{64}\.png)"', page.text)
    assert len(logo) == 1
    assert "/7a1f5c.css" in page.text
    assert "Mara asks you to sign" in said(page)
    assert "Harbour Ltd" in page.text
    assert isinstance(envelope.content, bytes)
    mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
    body = mail.get_body(("html",))
    html = body.get_content() if body else ""
    assert "#7a1f5c" in html
    assert "Harbour Ltd" in html
    assert "Mara" in str(mail["subject"])
    assert "image/png" in {part.get_content_type() for part in mail.walk()}
    printed = pdfium.PdfDocument(certificate.content)
    assert "Harbour Ltd" in "".join(page.get_textpage().get_text_bounded() for page in printed)
    shown = printed[0].render(scale=2).to_pil().convert("RGB")
    assert (0x7A, 0x1F, 0x5C) in {colour for _, colour in shown.getcolors(shown.width * shown.height)}


# mail


@pytest.mark.one_database
async def test_without_a_mail_server_the_page_says_where_mail_stays(api: Api) -> None:
    async with owner(api) as client:
        page = await client.get("/app/settings/mail")
        tried = await client.post("/app/settings/mail/test")
    assert "Emails stay on this server; read them under Mail" in said(page)
    assert "/app/settings/mail/test" not in page.text
    assert "DEEDBOX_SMTP_URL" in page.text
    assert tried.status_code == 409


async def test_a_test_mail_goes_to_whoever_asks_and_its_outcome_is_told(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    async with mailroom() as room:
        url = Secret(f"smtp://127.0.0.1:{room.port}")
        mail = {"smtp_url": url, "smtp_plain": True, "mail_from": "sign@example.com"}
        async with opened(database_url, tmp_path, clock, **mail) as api:
            await api.settle()
            async with owner(api) as client:
                nobody = await client.post("/app/settings/mail/test")
                await has_address(api, "mara@example.com")
            async with owner(api) as client:
                page = await client.get("/app/settings/mail")
                sent = await client.post("/app/settings/mail/test")
                told = await client.get(sent.headers["location"])
                for _ in range(limits.MAIL_TESTS_PER_MINUTE):
                    last = await client.post("/app/settings/mail/test")
    assert (nobody.status_code, "Add an email address" in nobody.text) == (409, True)
    assert "To mara@example.com, bypassing the queue" in page.text
    assert "not use TLS" in page.text
    assert (sent.status_code, sent.headers["location"]) == (303, "/app/settings/mail?done=tested")
    assert "The mail server accepted the email to mara@example.com" in told.text
    assert [mail.rcpt_tos for mail in room.taken] == [["mara@example.com"]] * limits.MAIL_TESTS_PER_MINUTE
    assert last.status_code == 429


@pytest.mark.one_database
async def test_a_mail_server_that_is_away_is_told_of_without_its_password(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    mail = {"smtp_url": Secret(f"smtps://user:{PLACEHOLDER}x@127.0.0.1:9"), "mail_from": "sign@example.com"}
    async with opened(database_url, tmp_path, clock, **mail) as api:
        await api.settle()
        await has_address(api, "mara@example.com")
        async with owner(api) as client:
            tried = await client.post("/app/settings/mail/test")
    assert (tried.status_code, "The mail server did not accept the email" in tried.text) == (409, True)
    assert PLACEHOLDER not in tried.text
    assert "Yes, as user" in tried.text


# archive


async def test_the_archive_page_shows_receipts_and_what_waits_and_checks_a_package(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    place = tmp_path / "safe"
    kept = {"service_ecosystem_key": Secret(PLACEHOLDER * 4), "archive_url": str(place)}
    async with working(database_url, tmp_path / "data", clock, **kept) as api, owner(api) as client:
        office, path = Office(api), "/app/settings/archive"
        empty = await client.get(path)
        assert "No documents are in the archive yet" in empty.text
        nothing = await client.post(f"{path}/check")
        assert nothing.status_code == 409
        document = await office.sealed()
        async with asyncio.timeout(60):
            while (found := await office.document(document["id"]))["archive"]["status"] != "archived":
                await asyncio.sleep(0.05)
        page = await client.get(path)
        assert found["archive"]["receipt"]["sha256"] in page.text
        assert str(place) in page.text
        assert PLACEHOLDER not in page.text
        checked = await client.post(f"{path}/check")
        assert checked.headers["location"] == f"{path}?done=whole", said(checked)
        [package] = place.rglob("*.zip")
        package.chmod(0o600)
        package.write_bytes(package.read_bytes()[:-1])
        broken = await client.post(f"{path}/check")
        assert broken.status_code == 409
        assert "differs from what was archived" in broken.text
        await api.deedbox.db.write(
            lambda tx: tx.run("update archives set status = 'failed', error = 'The disk is full'")
        )
        assert "The disk is full" in (await client.get(path)).text
        assert (await client.post(f"{path}/retry")).headers["location"] == f"{path}?done=retried"
        jobs = await api.rows("select count(*) from jobs where kind = 'archive'")
    assert jobs


async def test_another_workspace_s_documents_are_not_on_the_page_of_the_archive(api: Api) -> None:
    office = Office(api)
    document = await office.create()
    await api.deedbox.db.write(
        lambda tx: tx.run(
            "insert into archives (document_id, workspace_id, status, bag, attempts, created_at)"
            " values (:id, :workspace, 'failed', :bag, 3, '2026-01-01T00:00:00Z')",
            id=document["id"],
            workspace=api.other_workspace,
            bag=msgspec.json.encode(
                {
                    "document_id": document["id"],
                    "workspace_id": api.other_workspace,
                    "workspace_name": "Other",
                    "title": "Theirs",
                    "completed_at": "2026-01-01T00:00:00Z",
                    "pieces": [],
                }
            ).decode(),
        )
    )
    async with owner(api) as client:
        page = await client.get("/app/settings/archive")
    assert "No archive is set up" in page.text
    assert document["id"] not in page.text
    assert "Theirs" not in page.text


# certificates


async def test_certificates_show_until_when_they_last_and_warn_before(api: Api, clock: HandClock) -> None:
    async with owner(api) as client:
        before = await client.get("/app/settings/certificates")
        assert await api.rows("select id from certificates") == [], "to look at the page makes nothing"
        await api.deedbox.certificates.seal_identity(api.workspace)
        await api.deedbox.certificates.seal_identity(api.other_workspace)
        [seal] = [
            one for one in await api.deedbox.certificates.of_workspace(api.workspace) if one.use.startswith("seal")
        ]
        every = await api.deedbox.certificates.listed()
        page = await client.get("/app/settings/certificates")
    others = {one.fingerprint for one in every if one.use == f"seal:{api.other_workspace}"}
    assert said(before).count("It is created with the first seal") == 4
    assert seal.fingerprint in page.text
    assert len(others) == 1
    assert not any(one in page.text for one in others)
    assert 'href="/ca.pem"' in page.text
    assert 'href="/crl/root.crl"' in page.text
    assert "Expires soon" not in page.text
    await api.deedbox.db.write(
        lambda tx: tx.run(
            "update certificates set not_after = :soon where id = :id",
            soon=(clock.now() + timedelta(days=limits.CERTIFICATE_NEAR_DAYS - 1)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            id=seal.id,
        )
    )
    async with owner(api) as client:
        assert "Expires soon" in (await client.get("/app/settings/certificates")).text


# limits


@pytest.mark.one_database
async def test_every_setting_of_the_reference_is_shown_and_no_secret(
    database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    values: dict[str, Any] = {name: Secret(f"{PLACEHOLDER}{name}") for name in SECRETS if name != "database_url"}
    values["smtp_url"] = Secret(f"smtps://user:{PLACEHOLDER}smtp@mail.example.com")
    values["mail_from"] = "sign@example.com"
    values["model_hub"] = f"https://user:{PLACEHOLDER}hub@hub.example.com"
    async with opened(database_url, tmp_path, clock, **values) as api:
        await api.settle()
        async with owner(api) as client:
            pages = [await client.get(path) for path in PAGES]
    everything, reference = "".join(page.text for page in pages), pages[-1].text
    rows = dict(re.findall(r'<tr id="(\w+)">(.*?)</tr>', reference, re.DOTALL))
    assert set(rows) == set(Settings.__struct_fields__)
    for name, row in rows.items():
        assert f"<code>{variable(name)}</code>" in row, name
        assert len(unescape(re.sub(r"<[^>]*>", "", row.split("</td>")[1]))) > 10, f"{name} says what it does"
    documented = (Path(__file__).parents[2] / "docs/reference/settings.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", documented, re.MULTILINE)) == {variable(name) for name in rows}
    assert all("</svg>Set</span>" in rows[name] for name in values if name in SECRETS)
    assert PLACEHOLDER not in everything
    assert "127.0.0.1" in rows["host"]
    for tier in ("60", "5,000", "300", "50,000", "1,000,000"):
        assert f"<td>{tier}</td>" in reference
