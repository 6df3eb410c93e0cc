"""`deedbox mail` and the mail check of `deedbox doctor`, to a real mail server and without one."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deedbox import wiring
from deedbox.accounts import workspaces
from deedbox.cli.mail import show
from deedbox.kernel.settings import load
from deedbox.mail import Mail
from tests import nursery, server
from tests.docs.commands import ROOT, commands
from tests.mail.letters import LETTERS, LINK, READER
from tests.mail.mailserver import PASSWORD, USER, certificate, mailroom

pytestmark = pytest.mark.anyio

QUOTED = "p%40ss%2Fw%C3%B6rd"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of an installation that was started once."""
    server.prepare(tmp_path / "data")
    made = server.run("keys", "create", "--name", "first", data=tmp_path / "data")
    assert made.returncode == 0, made.stderr
    return tmp_path / "data"


def settings(port: int, ca: Path, password: str = QUOTED) -> dict[str, str]:
    return {
        "DEEDBOX_SMTP_URL": f"smtp://{USER}:{password}@127.0.0.1:{port}",
        "DEEDBOX_SMTP_CA_FILE": str(ca),
        "DEEDBOX_MAIL_FROM": "Harbour <sign@example.com>",
        "DEEDBOX_BASE_URL": "https://sign.example.com",
    }


async def run(*words: str, data: Path, env: dict[str, str] | None = None) -> Any:
    return await asyncio.to_thread(lambda: server.run(*words, data=data, env=env))


async def test_a_test_mail_is_sent_and_the_server_s_answer_told(data: Path, tmp_path: Path) -> None:
    context, ca = certificate(tmp_path)
    async with mailroom(starttls=context, login=True) as room:
        env = settings(room.port, ca)
        said = await run("mail", "test", "me@example.com", data=data, env=env)
        told = await run("mail", "test", "me@example.com", "--json", data=data, env=env)
    assert said.returncode == 0, said.stderr
    assert "took the mail to me@example.com: 250 taken as 4711" in said.stdout
    answer = json.loads(told.stdout)
    assert (answer["to"], answer["answer"]) == ("me@example.com", "250 taken as 4711")
    assert answer["server"] == f"smtp://127.0.0.1:{room.port}"
    assert [taken.rcpt_tos for taken in room.taken] == [["me@example.com"]] * 2
    content = room.taken[1].content
    assert isinstance(content, bytes)
    assert answer["message_id"].encode() in content
    assert PASSWORD not in said.stdout + said.stderr + told.stdout + told.stderr


async def test_what_goes_wrong_is_a_sentence(data: Path, tmp_path: Path) -> None:
    context, ca = certificate(tmp_path)
    async with mailroom(starttls=context, login=True) as room:
        refused = await run("mail", "test", "me@example.com", data=data, env=settings(room.port, ca, "wrong"))
    away = await run("mail", "test", "me@example.com", data=data, env=settings(room.port, ca))
    without = await run("mail", "test", "me@example.com", data=data)
    typo = await run("mail", "test", "me.example.com", data=data)
    for done, words in (
        (refused, "refused the login of DEEDBOX_SMTP_URL: 535"),
        (away, f"cannot be reached on port {room.port}"),
        (without, "Set DEEDBOX_SMTP_URL and DEEDBOX_MAIL_FROM"),
        (typo, "is not an e-mail address"),
    ):
        assert done.returncode == 1
        assert words in done.stderr
        assert "Traceback" not in done.stderr


async def findings(data: Path, env: dict[str, str] | None = None) -> list[dict[str, str]]:
    done = await run("doctor", "--json", data=data, env=env)
    return [found for found in json.loads(done.stdout)["findings"] if found["subject"] == "mail"]


async def test_the_doctor_greets_the_mail_server_and_sends_nothing(data: Path, tmp_path: Path) -> None:
    context, ca = certificate(tmp_path)
    async with mailroom(starttls=context, login=True) as room:
        (good,) = await findings(data, settings(room.port, ca))
        bad, links = await findings(data, {**settings(room.port, ca, "wrong"), "DEEDBOX_BASE_URL": ""})
    (away,) = await findings(data, settings(room.port, ca))
    (none,) = await findings(data)
    assert good["verdict"] == "good"
    assert "Harbour <sign@example.com>" in good["text"]
    assert (bad["verdict"], links["verdict"], away["verdict"], none["verdict"]) == ("bad", "bad", "bad", "note")
    assert "login" in bad["text"]
    assert "DEEDBOX_BASE_URL" in links["next_step"]
    assert "cannot be reached" in away["text"]
    assert "inbox" in none["text"]
    assert room.taken == []


async def kept(data: Path, *kinds: str) -> list[str]:
    """Mails that wait in the inbox of this installation."""
    ids = []
    async with wiring.open_installation(load(server.environment(data), {"data_dir": data})) as deedbox:
        for kind in kinds:
            now = deedbox.clock.now()
            mail = Mail(to=READER, letter=LETTERS[kind], about="doc_1")
            ids.append(
                await deedbox.db.write(
                    lambda tx, mail=mail, now=now: deedbox.mailer.queue(  # type: ignore[misc]
                        tx, workspaces.ensure(tx, now=now).id, mail, now=now
                    )
                )
            )
    return ids


async def test_mails_that_stayed_here_are_listed_and_shown_with_their_link(data: Path) -> None:
    invitation, expired = await kept(data, "invitation", "expired")
    listed = await run("mail", "list", data=data)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == sorted([invitation, expired], reverse=True)
    assert "inbox   invitation   reader@example.com  doc_1" in listed.stdout
    assert LINK not in listed.stdout
    shown = await run("mail", "show", invitation, data=data)
    assert shown.returncode == 0, shown.stderr
    assert "To: Zoë Đặng <reader@example.com>\nSubject: Harbour Ltd asks you to sign" in shown.stdout
    assert LINK in shown.stdout
    told = json.loads((await run("mail", "show", expired, "--json", data=data)).stdout)
    assert (told["mail"]["kind"], bool(told["text"]), bool(told["html"])) == ("expired", True, True)


async def test_a_list_of_mails_is_bounded_and_goes_on(data: Path) -> None:
    ids = sorted(await kept(data, *["expired"] * 3), reverse=True)
    first = await run("mail", "list", "--limit", "2", data=data)
    assert f"There are more: deedbox mail list --before {ids[1]}" in first.stderr
    assert [line.split()[0] for line in first.stdout.splitlines()] == ids[:2]
    rest = json.loads((await run("mail", "list", "--before", ids[1], "--json", data=data)).stdout)
    assert ([mail["id"] for mail in rest["mails"]], rest["has_more"]) == ([ids[2]], False)
    other = json.loads((await run("mail", "list", "--about", "doc_2", "--json", data=data)).stdout)
    assert other["mails"] == []
    assert (await run("mail", "list", "--limit", "101", data=data)).returncode == 2


async def test_the_documented_example_shows_the_newest_of_two_mails(data: Path) -> None:
    ids = await kept(data, "expired", "invitation")
    (example,) = (one for one in commands(ROOT / "docs" / "how-to" / "mail.md") if one.startswith("deedbox mail show"))
    assert example in " ".join((show.help or "").split())
    with nursery.on_path() as folder:
        env = server.environment(data, DEEDBOX_DATA_DIR=str(data), PATH=f"{folder}:{os.environ['PATH']}")
        shown = await asyncio.to_thread(
            lambda: subprocess.run(["sh", "-c", example], env=env, capture_output=True, text=True, check=False)
        )
    assert shown.returncode == 0, shown.stderr
    assert (LINK in shown.stdout) == (max(ids) == ids[1])


async def test_a_mail_that_is_not_here_is_a_sentence(data: Path) -> None:
    missing = await run("mail", "show", "mail_none", data=data)
    assert (missing.returncode, missing.stderr) == (1, "deedbox: The mail is not in the inbox\n")
