"""What the tests of the signing routes share: an application with its jobs at work, and people who sign."""

import asyncio
import base64
import email
import email.policy
import os
import re
import sys
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from aiosmtpd.smtp import Envelope

from deedbox.kernel.crypto import Secret
from deedbox.pdf.intake import libreoffice
from tests.api.conftest import Api, opened
from tests.api.search.files import pdf
from tests.conftest import HandClock
from tests.mail.mailserver import Mailroom, mailroom

LEASE = pdf("The tenant pays the rent.", "Signed by both.", size=(595, 842))


def signer(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name.title(), "email": f"{name}@example.com", **more}


class Office:
    """Sends documents through the API, and signs them as their signers would."""

    address = ""
    """Where a browser reaches it, where one can."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def body(self, **more: Any) -> dict[str, Any]:
        file = {"name": "lease.pdf", "content_base64": base64.b64encode(LEASE).decode()}
        return {"title": "Lease", "file": file, "signers": [signer("ann")], **more}

    async def create(self, **more: Any) -> Any:
        answer = await self.api.post("/api/v1/documents", self.body(**more))
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def document(self, document_id: str) -> Any:
        return (await self.api.get(f"/api/v1/documents/{document_id}")).json()

    async def link(self, document: Any, name: str) -> str:
        """A fresh signing link, as the sender's page would embed it; the name is that of the address, or the id."""
        found = await self.document(document["id"])
        people = [one for party in found["parties"] for one in party["signers"]]
        [signer_id] = [one["id"] for one in people if name == one["id"] or one["email"].startswith(f"{name}@")]
        answer = await self.api.call("POST", f"/api/v1/documents/{document['id']}/signers/{signer_id}/link")
        assert answer.status_code == 201, answer.text
        return str(urlsplit(answer.json()["url"]).path)

    @asynccontextmanager
    async def session(self, document: Any, name: str) -> AsyncIterator[httpx.AsyncClient]:
        """A browser that has followed the signer's link; its addresses begin with that of the signer's session."""
        path = await self.link(document, name)
        async with self.api.client() as browser:
            arrived = await browser.get(path)
            assert arrived.status_code == 303, arrived.text
            assert arrived.headers["location"].startswith("/sign/sgn_")
            browser.base_url = browser.base_url.join(arrived.headers["location"])
            yield browser

    async def sign(self, document: Any, name: str, **more: Any) -> httpx.Response:
        async with self.session(document, name) as browser:
            assert (await browser.get("/session")).status_code == 200
            signature = {"kind": "typed", "text": name.title()}
            return await browser.post("/complete", json={"consent": True, "signature": signature, **more})

    async def completed(self, document: Any) -> Any:
        """The document, once it is sealed."""
        async with asyncio.timeout(60):
            while (found := await self.document(document["id"]))["status"] != "completed":
                assert found["status"] == "finalizing", found["status"]
                await asyncio.sleep(0.05)
        return found

    async def sealed(self, **more: Any) -> Any:
        """A document that one signer has signed."""
        document = await self.create(send=True, **more)
        assert (await self.sign(document, "ann")).status_code == 200
        return await self.completed(document)

    async def events(self, document: Any) -> list[str]:
        rows = await self.api.rows(f"select kind from events where subject_id = '{document['id']}' order by sequence")
        return [row[0] for row in rows]


class Mailing(Office):
    """An office with a mail server, whose mails are read there."""

    def __init__(self, api: Api, room: Mailroom) -> None:
        super().__init__(api)
        self.room = room

    async def read(self, pattern: str, name: str, title: str) -> str:
        """What the pattern finds in the mails to someone about a document, as soon as there is one."""
        async with asyncio.timeout(60):
            while True:
                texts = [_text(mail) for mail in self.room.taken if mail.rcpt_tos == [f"{name}@example.com"]]
                found = [one for text in texts if title in text for one in re.findall(pattern, text)]
                if found:
                    return str(found[0])
                await asyncio.sleep(0.02)


LINK = r"(/s/deed_sign_[\w-]+)"
CODE = r"(?<![\w-])(\d{6})(?![\w-])"
"""What is looked for in a mail."""


def _text(mail: Envelope) -> str:
    content = mail.content if isinstance(mail.content, bytes) else str(mail.content).encode()
    part = email.message_from_bytes(content, policy=email.policy.default).get_body(("plain",))
    return part.get_content() if part is not None else ""


@asynccontextmanager
async def with_mail(database_url: str, folder: Path, clock: HandClock) -> AsyncIterator[Mailing]:
    """An office whose jobs are at work and whose mail leaves."""
    async with mailroom() as room:
        url = Secret(f"smtp://127.0.0.1:{room.port}")
        sender = {"smtp_url": url, "smtp_plain": True, "mail_from": "sign@example.com"}
        async with opened(database_url, folder, clock, **sender) as made:
            await made.settle()
            await made.deedbox.start()
            try:
                yield Mailing(made, room)
            finally:
                await made.deedbox.stop()


@pytest.fixture
async def mailing(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Mailing]:
    async with with_mail(database_url, tmp_path, clock) as made:
        yield made


@pytest.fixture
async def office(database_url: str, tmp_path: Path, clock: HandClock) -> AsyncIterator[Office]:
    async with opened(database_url, tmp_path, clock) as made:
        await made.settle()
        await made.deedbox.start()
        try:
            yield Office(made)
        finally:
            await made.deedbox.stop()


PYTHON = os.path.realpath(sys.executable)
WORD_PROCESSOR = """#!{python} -IS
import os, time
while not os.path.exists("{result}"):
    time.sleep(0.05)
with open("{result}", "rb") as made, open("document.pdf", "wb") as file:
    file.write(made.read())
"""


@pytest.fixture
def word_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in LibreOffice's place that makes a known PDF of everything, once it is told to."""
    result, program = tmp_path / "result.pdf", tmp_path / "bin" / "soffice.bin"
    program.parent.mkdir()
    program.write_text(WORD_PROCESSOR.format(python=PYTHON, result=result), "utf-8")
    program.chmod(0o755)
    program.with_suffix("").symlink_to(program)
    monkeypatch.setattr(libreoffice, "_LOADERS", (*libreoffice._LOADERS, PYTHON, sysconfig.get_paths()["stdlib"]))
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    return result
