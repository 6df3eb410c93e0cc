"""A person who is signed in reads the mails that stayed here: those of the own workspace, as text."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any, get_args

import httpx
import msgspec
import pytest

from deedbox.accounts import workspaces
from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.mailbox import Mailbox
from deedbox.mail import Invitation, Mail
from deedbox.mail.letter import Kind, Letter, MemberMail, Reset
from tests.api.conftest import Api
from tests.api.signing.conftest import Mailing, with_mail
from tests.conftest import HandClock
from tests.mail.letters import CODE, LETTERS, LINK, READER, TOKEN

pytestmark = pytest.mark.anyio

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
async def mailing(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Mailing]:
    """An office with a mail server."""
    async with with_mail(database_url, tmp_path, clock) as made:
        yield made


async def queued(api: Api, mail: Mail, workspace: str = "") -> str:
    now = api.clock.now()
    place = workspace or api.workspace
    return await api.deedbox.db.write(lambda tx: api.deedbox.mailer.queue(tx, place, mail, now=now))


@asynccontextmanager
async def owner(api: Api) -> AsyncIterator[httpx.AsyncClient]:
    now = api.clock.now()
    token = await api.deedbox.db.write(lambda tx: workspaces.owner_link(tx, api.workspace, now=now))
    async with api.client() as client:
        assert (await client.post(f"/login/{token.reveal()}")).status_code == 303
        yield client


def strict(page: Any) -> bool:
    policy = page.headers["Content-Security-Policy"]
    return "default-src 'none'" in policy and "unsafe-inline" not in policy and "style=" not in page.text


async def test_mails_are_listed_and_opened_as_text_with_their_link(api: Api) -> None:
    mail_id = await queued(api, Mail(to=READER, letter=LETTERS["invitation"], language="ar"))
    async with owner(api) as client:
        listed = await client.get("/app/mail")
        assert f'href="/app/mail/{mail_id}"' in listed.text
        assert READER.address in listed.text
        shown = await client.get(f"/app/mail/{mail_id}")
    assert (listed.status_code, shown.status_code) == (200, 200)
    assert f'href="{LINK}"' in shown.text
    assert "مرحبًا Zoë Đặng،" in unescape(shown.text)
    assert strict(listed)
    assert strict(shown)
    assert (shown.headers["Referrer-Policy"], shown.headers["Cache-Control"]) == ("same-origin", "no-store")


async def test_what_people_typed_is_shown_and_never_obeyed(api: Api) -> None:
    letter = Invitation(sender=HOSTILE, title=HOSTILE, link=LINK, body=HOSTILE)
    mail_id = await queued(api, Mail(to=Mailbox("a@b.example", HOSTILE), letter=letter))
    async with owner(api) as client:
        for path in ("/app/mail", f"/app/mail/{mail_id}"):
            page = await client.get(path)
            assert HOSTILE not in page.text
            assert HOSTILE in unescape(page.text)


async def test_another_workspace_s_mail_is_not_there(api: Api) -> None:
    theirs = await queued(api, Mail(to=READER, letter=LETTERS["code"]), api.other_workspace)
    async with owner(api) as client:
        assert theirs not in (await client.get("/app/mail")).text
        missing = await client.get(f"/app/mail/{theirs}")
    assert missing.status_code == 404
    assert "The mail is not in the inbox" in missing.text
    assert "482913" not in missing.text


async def test_who_is_not_signed_in_is_sent_to_the_login(api: Api) -> None:
    mail_id = await queued(api, Mail(to=READER, letter=LETTERS["invitation"]))
    for path in ("/app/mail", f"/app/mail/{mail_id}"):
        answer = await api.get(path, key=None)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/login")


async def test_a_long_list_comes_in_parts(api: Api) -> None:
    ids = [await queued(api, Mail(to=READER, letter=LETTERS["expired"])) for _ in range(limits.PAGE_DEFAULT + 1)]
    async with owner(api) as client:
        first = await client.get("/app/mail")
        older = await client.get(f"/app/mail?cursor={sorted(ids)[1]}")
        wrong = await client.get("/app/mail?cursor=nonsense")
    assert sum(mail_id in first.text for mail_id in ids) == limits.PAGE_DEFAULT
    assert f"cursor={sorted(ids)[1]}" in first.text
    assert sorted(ids)[0] in older.text
    assert "Older mails" not in older.text
    assert wrong.status_code == 400


async def test_mails_are_found_by_their_state_and_a_part_of_the_address(api: Api) -> None:
    for address in ("ann_b@example.com", "annxb@example.com", "ben@Example.com"):
        await queued(api, Mail(to=Mailbox(address, "Someone"), letter=LETTERS["expired"]))
    async with owner(api) as client:

        async def shown(query: str) -> int:
            return (await client.get(f"/app/mail?{query}")).text.count("<li>")

        assert await shown("") == 3
        assert await shown("to=ANN_b") == 1
        assert await shown("to=%25") == 0
        assert await shown("to=example.com&status=inbox") == 3
        assert await shown("status=failed") == 0
        assert (await client.get("/app/mail?status=eaten")).status_code == 400
        assert (await client.get(f"/app/mail?to={'x' * 300}")).status_code == 400


async def test_a_mail_that_could_not_be_sent_shows_why_and_is_sent_again_by_a_press(mailing: Mailing) -> None:
    api, room = mailing.api, mailing.room
    room.answers = {"RCPT": ["550 no such mailbox"]}
    mail_id = await queued(api, Mail(to=READER, letter=LETTERS["expired"]))
    async with owner(api) as client:
        path, form = f"/app/mail/{mail_id}/resend", {"once": "first"}

        async def until(word: str) -> str:
            async with asyncio.timeout(60):
                while f">{word}</span>" not in re.sub(
                    r"<svg.*?</svg>", "", (page := await client.get("/app/mail")).text
                ):
                    await asyncio.sleep(0.02)
            return page.text

        failed = await until("Not sent")
        assert "550 no such mailbox" in failed
        assert f'action="{path}"' in failed
        assert f'href="/app/mail/{mail_id}"' not in failed, "what is to be sent is its reader's alone"
        room.answers = {}
        for _ in range(2):
            assert (await client.post(path, data=form)).headers["Location"] == "/app/mail?done=resent"
        sent = await until("Sent")
        assert f'action="{path}"' not in sent
        assert (await client.post(path, data={"once": "second"})).status_code == 409
        theirs = await queued(api, Mail(to=READER, letter=LETTERS["code"]), api.other_workspace)
        assert (await client.post(f"/app/mail/{theirs}/resend", data={"once": "third"})).status_code == 404
    assert [mail.rcpt_tos for mail in room.taken if mail.rcpt_tos == [READER.address]][:1] == [[READER.address]]


async def test_a_mail_that_opens_an_account_is_never_read_by_others(api: Api) -> None:
    letters: dict[str, Letter] = {
        "member": MemberMail(inviter="Mara", workspace="Main", link=LINK, expires_at=instant(api.clock.now())),
        "reset": Reset(link=LINK, minutes=60),
    }
    for kind, letter in letters.items():
        mail_id = await queued(api, Mail(to=READER, letter=letter))
        async with owner(api) as client:
            listed, shown = await client.get("/app/mail"), await client.get(f"/app/mail/{mail_id}")
        assert f"/app/mail/{mail_id}" not in listed.text, kind
        assert shown.status_code == 404, kind
        assert LINK not in listed.text + shown.text, kind


async def test_the_log_of_mails_is_read_by_programs_and_never_tells_what_they_say(api: Api) -> None:
    letters = [Mail(to=READER, letter=letter) for letter in LETTERS.values()]
    for mail in letters:
        await queued(api, msgspec.structs.replace(mail, about="doc_1" if mail.kind == "code" else None))
        api.clock.forward(1)
    listed = await api.get("/api/v1/mails", params={"limit": limits.PAGE_MAX})
    kinds = [one["kind"] for one in listed.json()["mails"]]
    assert kinds == [mail.kind for mail in letters][::-1]
    assert set(kinds) == set(get_args(Kind))
    code = next(one for one in listed.json()["mails"] if one["kind"] == "code")
    shown = await api.get(f"/api/v1/mails/{code['id']}")
    assert shown.json() == code
    assert (code["to"], code["status"], code["about"]) == (READER.address, "inbox", "doc_1")
    assert code["subject"].startswith("Your code to sign")
    for secret in (LINK, TOKEN, CODE):
        assert secret not in listed.text + shown.text

    async def found(**query: Any) -> list[str]:
        return [one["kind"] for one in (await api.get("/api/v1/mails", params=query)).json()["mails"]]

    assert set(await found(kind="reminder")) == {"reminder"}
    assert await found(about="doc_1") == ["code"]
    assert await found(status=["sent", "failed"]) == []
    assert await found(status=["sent", "inbox"], to="READER@", kind="voided") == ["voided"]
    assert await found(to="%") == []


async def test_mails_about_accounts_are_there_for_keys_that_may_read_of_members(api: Api) -> None:
    reset = await queued(api, Mail(to=READER, letter=LETTERS["reset"]))
    about = await queued(api, Mail(to=READER, letter=LETTERS["voided"]))
    documents = await api.make_key("documents:read", "documents:send")
    both = await api.make_key("documents:read", "workspace:read")
    listed = {
        key: {one["id"] for one in (await api.get("/api/v1/mails", key=key)).json()["mails"]}
        for key in (documents, both)
    }
    assert listed == {documents: {about}, both: {about, reset}}
    assert (await api.get(f"/api/v1/mails/{reset}", key=documents)).status_code == 404
    assert (await api.call("POST", f"/api/v1/mails/{reset}/resend", key=documents)).status_code == 404
    assert (await api.get(f"/api/v1/mails/{reset}", key=both)).status_code == 200
    theirs = await queued(api, Mail(to=READER, letter=LETTERS["voided"]), api.other_workspace)
    assert (await api.get(f"/api/v1/mails/{theirs}")).status_code == 404


async def test_a_program_sends_a_mail_again_that_could_not_be_sent(mailing: Mailing) -> None:
    api, room = mailing.api, mailing.room
    room.answers = {"RCPT": ["550 no such mailbox"]}
    path = f"/api/v1/mails/{await queued(api, Mail(to=READER, letter=LETTERS['expired']))}"

    async def until(status: str) -> Any:
        async with asyncio.timeout(60):
            while (one := (await api.get(path)).json())["status"] != status:
                await asyncio.sleep(0.02)
        return one

    assert "550 no such mailbox" in (await until("failed"))["last_error"]
    room.answers = {}
    again = await api.call("POST", f"{path}/resend")
    assert (again.status_code, again.json()["status"]) == (202, "queued")
    sent = await until("sent")
    assert (sent["last_error"], sent["subject"]) == (None, None)
    assert sent["sent_at"] is not None
    refused = await api.call("POST", f"{path}/resend")
    assert (refused.status_code, refused.json()["error"]) == (409, "What the mail said is no longer kept")
