"""The mails of real documents say what happened: to signers, to those who are not needed, and to the sender."""

import asyncio
import base64
import email
import email.policy
import io
import re
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from PIL import Image

from deedbox.accounts import workspace_profile, workspaces
from deedbox.accounts.workspace_profile import WorkspaceChange
from deedbox.kernel.clock import instant
from deedbox.mail import InboxMail
from tests.api.signing.conftest import LINK, Mailing, Office, signer
from tests.api.signing.packets import three
from tests.pdf.papers import shown
from tests.pdf.test_convert import docx

pytestmark = pytest.mark.anyio

SENDER = "mara@harbour.example"
DESK = {"name": "Desk", "rule": "any", "signers": [signer("dan"), signer("eve")]}


async def named(office: Office, **more: Any) -> None:
    """The workspace has a name, and so has its sender."""
    change = WorkspaceChange(**{"name": "Harbour Ltd", "sender_name": "Mara Lind", "sender_email": SENDER, **more})
    await office.api.deedbox.db.write(
        lambda tx: workspace_profile.change(
            tx, workspaces.operator(office.api.workspace), change, now=office.api.clock.now()
        )
    )


async def mails(office: Office, kind: str = "") -> list[InboxMail]:
    """Those of this kind, the oldest first."""
    deedbox, place = office.api.deedbox, office.api.workspace
    page = await deedbox.db.read(lambda tx: deedbox.inbox.page(tx, place, limit=100))
    wanted = [mail.id for mail in reversed(page) if kind in ("", mail.kind)]
    return [await deedbox.db.read(lambda tx, one=one: deedbox.inbox.show(tx, place, one)) for one in wanted]  # type: ignore[misc]


async def told(office: Office) -> list[tuple[str, str]]:
    """Who got which kind of mail beside the invitations."""
    return sorted(
        (mail.listed.to.partition("@")[0], mail.listed.kind)
        for mail in await mails(office)
        if mail.listed.kind != "invitation"
    )


async def decline(office: Office, document: Any, name: str, reason: str) -> None:
    async with office.session(document, name) as browser:
        assert (await browser.post("/decline", json={"reason": reason})).status_code == 200


def board(*names: str, quorum: int = 2) -> dict[str, Any]:
    return {
        "name": "Board",
        "rule": "quorum",
        "quorum": quorum,
        "on_decline": "continue_while_possible",
        "signers": [signer(name) for name in names],
    }


async def test_two_of_three_with_a_decline_are_told_the_truth(office: Office) -> None:
    await named(office)
    document = await office.create(signers=[], parties=[board("ann", "ben", "cas")], send=True)
    await decline(office, document, "cas", "I was away")
    assert await told(office) == [("cas", "declined"), ("mara", "declined")]
    await office.sign(document, "ann")
    await office.sign(document, "ben")
    await office.completed(document)
    assert await told(office) == [
        ("ann", "completion"),
        ("ben", "completion"),
        ("cas", "declined"),
        ("mara", "completion"),
        ("mara", "declined"),
    ]
    everything = "".join(f"{mail.listed.subject}{mail.text}{mail.html}" for mail in await mails(office))
    assert "veryone" not in everything
    ann, ben, mara = sorted(await mails(office, "completion"), key=lambda mail: mail.listed.to)
    for mail in (ann, ben, mara):
        assert mail.listed.subject == "Signed: Lease"
        assert "Board: signed by 2 of 3 people, which is enough." in mail.text
        assert len(mail.attachments) == 2
    assert "Cas declined to sign.\n\n> I was away" in mara.text
    assert "Cas" not in ann.text + ben.text
    own, sender = sorted(await mails(office, "declined"), key=lambda mail: mail.listed.to)
    assert own.listed.subject == "You have declined to sign: Lease"
    assert "If this was not you, tell Mara Lind (Harbour Ltd) immediately." in own.text
    assert sender.listed.subject == "One person has declined: Lease"
    assert "Cas has declined to sign this document. The others can still complete it." in sender.text


async def test_who_is_no_longer_needed_hears_so(office: Office) -> None:
    await named(office)
    later = {"name": "Late", "order": 2, "signers": [signer("fay")]}
    document = await office.create(signers=[], parties=[DESK, later], send=True)
    await office.sign(document, "dan")
    [mail] = await mails(office, "not_needed")
    assert mail.listed.to == "eve@example.com"
    assert mail.listed.subject == "Your signature is no longer needed: Lease"
    assert "Enough people from Desk have signed this document" in mail.text
    await office.sign(document, "fay")
    await office.completed(document)
    assert await told(office) == [
        ("dan", "completion"),
        ("eve", "not_needed"),
        ("fay", "completion"),
        ("mara", "completion"),
    ]
    [first, *_] = await mails(office, "completion")
    assert "Desk: signed by 1 of 2 people, which is enough." in first.text
    assert "Late" not in first.text


async def test_when_everyone_has_signed_it_is_said(office: Office) -> None:
    document = await office.sealed()
    [mail] = await mails(office, "completion")
    assert mail.listed.subject == f"Signed by everyone: {document['title']}"
    assert "Everyone has signed." in mail.text


async def test_a_final_decline_is_confirmed_to_who_declined_and_told_to_the_others(office: Office) -> None:
    await named(office)
    document = await office.create(signers=[signer("ann"), signer("ben")], send=True)
    await decline(office, document, "ben", "The price")
    found = {mail.listed.to: mail for mail in await mails(office, "declined")}
    assert set(found) == {"ann@example.com", "ben@example.com", SENDER}
    assert "You have declined to sign this document" in found["ben@example.com"].text
    for reader in ("ann@example.com", SENDER):
        assert "Ben has declined to sign this document. It can no longer be signed." in found[reader].text
        assert "> The price" in found[reader].text
    assert "sent from the workspace Harbour Ltd" in found[SENDER].text


async def test_the_sender_hears_of_an_expiry_and_of_who_had_not_signed(office: Office) -> None:
    await named(office)
    end = instant(office.api.clock.now() + timedelta(hours=2))
    document = await office.create(
        signers=[],
        parties=[DESK, board("ann", "ben", "cas")],
        expires_at=end,
        send=True,
    )
    await office.sign(document, "dan")
    await office.sign(document, "ann")
    office.api.clock.forward(2 * 3600)
    assert (await office.document(document["id"]))["status"] == "expired"
    found = {mail.listed.to: mail for mail in await mails(office, "expired")}
    assert set(found) == {f"{name}@example.com" for name in ("ann", "ben", "cas", "dan")} | {SENDER}
    assert "Not signed by: Ben, Cas" in found[SENDER].text
    assert "Not signed by" not in found["ann@example.com"].text


async def test_a_withdrawal_is_not_told_to_the_sender_who_made_it(office: Office) -> None:
    await named(office)
    document = await office.create(send=True)
    await office.api.post(f"/api/v1/documents/{document['id']}/void", {"reason": "A new version follows"})
    assert await told(office) == [("ann", "voided")]


async def test_a_sender_who_wants_no_notices_gets_none(office: Office) -> None:
    await named(office, notices=False)
    await office.sealed()
    assert await told(office) == [("ann", "completion")]


async def test_a_sender_who_signs_too_gets_one_mail(office: Office) -> None:
    await named(office, sender_email="ann@example.com")
    await office.sealed()
    assert await told(office) == [("ann", "completion")]


async def test_the_invitation_says_who_asks_for_whom_and_how_to_tell_that_it_is_genuine(office: Office) -> None:
    await named(office)
    await office.create(send=True)
    [mail] = await mails(office, "invitation")
    assert mail.listed.subject == "Mara Lind (Harbour Ltd) asks you to sign: Lease"
    assert "From: Mara Lind (Harbour Ltd)" in mail.text
    assert f"contact Mara Lind before you open the link: {SENDER}" in mail.text
    host = urlsplit(office.api.deedbox.address).netloc
    assert f"The link leads to {host}. You will never be asked for a password or a payment to sign." in mail.text
    assert mail.mail.reply_to is not None
    assert (mail.mail.reply_to.address, mail.mail.reply_to.name) == (SENDER, "Mara Lind")


async def test_failed_conversion_is_mailed_to_the_sender_and_emitted(office: Office, word_processor: Path) -> None:
    await named(office)
    word = {"name": "lease.docx", "content_base64": base64.b64encode(docx("Lease")).decode()}
    alone = await office.create(file=word, send=True, metadata={"case": "7"})
    mixed = {**three(send=True), "documents": [{"title": "Annex", "file": word}, three()["documents"][0]]}
    packet = (await office.api.post("/api/v1/packets", mixed)).json()
    word_processor.write_bytes(b"no pdf at all")
    async with asyncio.timeout(60):
        while len(found := await mails(office, "failed")) < 2:
            await asyncio.sleep(0.05)
    assert {(mail.listed.to, mail.listed.subject) for mail in found} == {
        (SENDER, "Not sent: Lease"),
        (SENDER, "Not sent: Annex"),
    }
    assert all("nobody was asked to sign" in mail.text and "lease.docx" in mail.text for mail in found)
    events = (await office.api.get("/api/v1/events?limit=100")).json()["events"]
    failed = {one["data"]["document_id"]: one["data"] for one in events if one["type"] == "document.failed"}
    assert failed.keys() == {alone["id"], *(one["id"] for one in packet["documents"])}
    assert (failed[alone["id"]]["status"], failed[alone["id"]]["metadata"]) == ("failed", {"case": "7"})
    assert "lease.docx" in failed[alone["id"]]["reason"]
    assert {data["packet_id"] for data in failed.values()} == {None, packet["id"]}


async def test_without_a_named_sender_the_workspace_asks(office: Office) -> None:
    await named(office, sender_name=None, sender_email=None)
    await office.create(send=True)
    [mail] = await mails(office, "invitation")
    assert mail.listed.subject == "Harbour Ltd asks you to sign: Lease"
    assert "Use contact details that you already have" in mail.text
    assert mail.mail.reply_to is None


async def test_a_draft_is_sent_in_the_name_of_who_sends_it_and_not_of_who_made_it(office: Office) -> None:
    document = await office.create()
    await named(office)
    await office.api.call("POST", f"/api/v1/documents/{document['id']}/send")
    [mail] = await mails(office, "invitation")
    assert mail.listed.subject == "Mara Lind (Harbour Ltd) asks you to sign: Lease"
    await named(office, name="Another Ltd", sender_name="Noa")
    await office.api.call("POST", f"/api/v1/documents/{document['id']}/remind")
    [again] = await mails(office, "reminder")
    assert "From: Mara Lind (Harbour Ltd)" in again.text


async def test_message_without_subject_keeps_the_usual_one_in_each_language(office: Office) -> None:
    await named(office)
    people = [signer("ann", language="de"), signer("ben"), signer("cas", role="approver")]
    document = await office.create(signers=people, message={"body": "See you soon"}, send=True)
    assert document["message"] == {"subject": "", "body": "See you soon"}
    office.api.clock.forward(1)
    await office.api.call("POST", f"/api/v1/documents/{document['id']}/remind")
    usual = {
        "ann": "Mara Lind (Harbour Ltd) bittet um Ihre Unterschrift: Lease",
        "ben": "Mara Lind (Harbour Ltd) asks you to sign: Lease",
        "cas": "Mara Lind (Harbour Ltd) asks you to approve: Lease",
    }
    for kind, before in (
        ("invitation", {}),
        ("reminder", {"ann": "Erinnerung: ", "ben": "Reminder: ", "cas": "Reminder: "}),
    ):
        found = {mail.listed.to.partition("@")[0]: mail for mail in await mails(office, kind)}
        for name, subject in usual.items():
            assert found[name].listed.subject == before.get(name, "") + subject
            assert unescape(re.sub(r"</?bdi>", "", found[name].html)).count(f';">{subject}</h1>') == 1, "the heading"
            assert "See you soon" in found[name].text


async def test_a_reminder_keeps_its_own_subject(office: Office) -> None:
    document = await office.create(message={"subject": "Your new lease", "body": "Please sign."}, send=True)
    office.api.clock.forward(1)
    await office.api.call("POST", f"/api/v1/documents/{document['id']}/remind")
    subjects = [mail.listed.subject for mail in await mails(office)]
    assert subjects == ["Your new lease", "Reminder: Your new lease"]


async def test_times_are_told_on_the_reader_s_own_clock(office: Office) -> None:
    people = [
        signer("ann", time_zone="Europe/Berlin", language="de"),
        signer("ben", time_zone="Asia/Tokyo", language="ja"),
        signer("cas"),
    ]
    document = await office.create(signers=people, expires_at="2026-07-01T14:05:00Z", send=True)
    assert [party["signers"][0]["time_zone"] for party in document["parties"]] == [
        "Europe/Berlin",
        "Asia/Tokyo",
        None,
    ]
    found = {mail.listed.to: mail.text for mail in await mails(office, "invitation")}
    assert "Frist: 1. Juli 2026, 16:05 MESZ (14:05 UTC)" in found["ann@example.com"]
    assert "署名期限: 2026年7月1日 23:05 JST（14:05 UTC）" in found["ben@example.com"]
    assert "Sign by: 1 July 2026, 14:05 UTC" in found["cas@example.com"]


@pytest.mark.parametrize("zone", ["Mars/Base", "Europe", "CET+1 ", "x" * 65, ""])
@pytest.mark.one_database
async def test_what_is_no_time_zone_is_refused_by_name(office: Office, zone: str) -> None:
    answer = await office.api.post("/api/v1/documents", office.body(signers=[signer("ann", time_zone=zone)]))
    assert answer.status_code == 400
    assert "zone" in answer.json()["error"]


async def test_a_sealed_file_too_large_for_a_mail_is_shown_by_the_signer_s_own_link(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deedbox.mail import limits

    await named(office)
    monkeypatch.setattr(limits, "MAIL_ATTACHMENT_BYTES", 1000)
    document = await office.sealed()
    ann, mara = sorted(await mails(office, "completion"), key=lambda mail: mail.listed.to)
    assert ann.attachments == mara.attachments == []
    assert "too large to attach" in ann.text
    assert f"It is stored on the server as {document['id']}." in mara.text
    assert "/s/deed_sign_" not in mara.text
    link = str(ann.mail.letter.link)  # type: ignore[union-attr]
    assert f"Open the document:\n{link}" in ann.text
    async with office.api.client() as browser:
        assert (await browser.get(link.removeprefix(office.api.deedbox.address))).status_code == 303


@pytest.mark.parametrize("name", ["شركة الميناء", "港湾株式会社", "Häfen & Söhne"])
async def test_a_workspace_whose_name_is_not_ascii_seals_too(office: Office, name: str) -> None:
    await named(office, name=name, sender_name=None)
    document = await office.sealed()
    sealed = (await office.api.get(f"/api/v1/documents/{document['id']}/signed")).content
    report = await office.api.call("POST", "/api/v1/verify", files={"file": ("sealed.pdf", sealed)})
    assert report.json()["verdict"] == "authentic"
    [mail] = await mails(office, "invitation")
    assert f"{name} asks you to sign" in (mail.listed.subject or "")


async def test_an_expiry_noticed_late_tells_the_end_that_was_set(office: Office) -> None:
    document = await office.create(expires_at="2026-03-02T10:00:00Z", send=True)
    office.api.clock.forward(90 * 86400)
    assert (await office.document(document["id"]))["status"] == "expired"
    [mail] = await mails(office, "expired")
    assert "was 2 March 2026, 10:00 UTC" in mail.text


async def test_without_a_sender_s_address_the_owner_hears(office: Office) -> None:
    now = office.api.clock.now()
    token = await office.api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, office.api.workspace, now=now))
    async with office.api.client() as browser:
        await browser.post(f"/login/{token.reveal()}")
        form = {"name": "Olga", "email": "olga@harbour.example", "password": "correct horse battery"}
        assert (await browser.post("/account", data=form)).status_code == 303
    await office.sealed()
    assert await told(office) == [("ann", "completion"), ("olga", "completion")]


async def test_mail_and_certificate_are_in_the_workspace_s_own_name_logo_and_colour(mailing: Mailing) -> None:
    await named(mailing, accent="#7a1f5c")
    picture = io.BytesIO()
    Image.new("RGB", (900, 300), "#ff00ff").save(picture, "WEBP", lossless=True)
    answer = await mailing.api.call("PUT", "/api/v1/workspace/logo", files={"file": ("logo", picture.getvalue())})
    assert answer.status_code == 200
    document = await mailing.create(send=True, title="Lease")
    await mailing.read(LINK, "ann", "Lease")
    [sent] = mailing.room.taken
    assert isinstance(sent.content, bytes)
    message = email.message_from_bytes(sent.content, policy=email.policy.default)
    html = message.get_body(("html",))
    [logo] = [one for one in message.walk() if one.get_content_type() == "image/png"]
    assert logo.get_payload(decode=True) == (await mailing.api.get(answer.json()["logo"], key=None)).content
    assert html is not None
    assert 'src="cid:logo"' in html.get_content()
    assert (await mailing.sign(document, "ann")).status_code == 200
    await mailing.completed(document)
    certificate = (await mailing.api.get(f"/api/v1/documents/{document['id']}/certificate")).content
    page = shown(certificate).convert("RGB")
    colours = {colour: count for count, colour in page.getcolors(1 << 20) or []}
    assert (colours[0x7A, 0x1F, 0x5C] > 10_000, colours[0xFF, 0, 0xFF] > 1000) == (True, True)
    assert "<bdi>Harbour Ltd</bdi>" in html.get_content()
    assert "background-color:#7a1f5c" in html.get_content()
