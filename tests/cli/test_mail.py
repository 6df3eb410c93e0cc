"""`deedbox mail test` and the mail check of `deedbox doctor`, to a real mail server."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests import server
from tests.mail.mailserver import PASSWORD, USER, certificate, mailroom

pytestmark = pytest.mark.anyio

QUOTED = "p%40ss%2Fw%C3%B6rd"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of an installation that was started once."""
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
