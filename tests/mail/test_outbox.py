"""A mail is queued with its cause, sent until it is out, and forgotten: on both databases, to a real mail server."""

import email
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import jobs, limits
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.crypto import Secret, ValueCipher, create_key_file
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import BadRequest, Conflict, LostFile, NotFound
from deedbox.kernel.jobs import Runner
from deedbox.kernel.jobs.job import Slots
from deedbox.kernel.jobs.store import JOBS_DUE
from deedbox.kernel.mailbox import Mailbox
from deedbox.kernel.rotation import rotate
from deedbox.kernel.settings import Settings
from deedbox.mail import ENCRYPTED_MAIL, MAIL_JOB, Inbox, Mail, MailAttachment, Mailer, MailRecord, Relay, prune
from deedbox.mail import limits as mail_limits
from deedbox.mail.smtp import Patience
from tests.conftest import HandClock
from tests.kinds import kinds
from tests.mail.letters import CODE, LETTERS, LINK, READER, TOKEN, invitation
from tests.mail.mailserver import Mailroom, certificate, mailroom, saying, scripted

pytestmark = pytest.mark.anyio

US, THEM = "wsp_us", "wsp_them"


class Post:
    """An installation's mail: queue, deliver, and look at what became of it."""

    def __init__(
        self, db: Database, clock: HandClock, folder: Path, reply_seconds: float = 30, **settings: Any
    ) -> None:
        self.db = db
        self.clock = clock
        self.ring = folder / "master.key"
        create_key_file(self.ring)
        self.box = ValueCipher(self.ring)
        self.blobs = kinds.blobs(folder)
        made = Settings(data_dir=folder, **settings)
        self.woken = 0
        patience = Patience(60, reply_seconds)
        self.mailer = Mailer(db, self.box, clock, Relay(made, patience), self.blobs)
        db.listeners.add(JOBS_DUE, self._wake)
        self.inbox = Inbox(self.box)

    def _wake(self, kind: str) -> None:
        assert kind == MAIL_JOB
        self.woken += 1

    async def queue(self, mail: Mail, workspace: str = US) -> str:
        return await self.db.write(lambda tx: self.mailer.queue(tx, workspace, mail, now=self.clock.now()))

    async def work(self, worker: str = "one") -> int:
        runner = Runner(self.db, self.clock, {MAIL_JOB: self.mailer.deliver}, concurrency=4, worker=worker)
        return await runner.run_due()

    async def kept(self, mail_id: str) -> MailRecord:
        page = await self.db.read(lambda tx: self.inbox.page(tx, US))
        return next(kept for kept in page if kept.id == mail_id)

    async def row(self, mail_id: str) -> tuple[Any, ...]:
        sql = "select status, data, attachments from mails where id = :id"
        row = await self.db.read(lambda tx: tx.one(sql, id=mail_id))
        assert row is not None
        return row

    async def job_state(self) -> dict[str, int]:
        return await self.db.read(jobs.counts)

    async def file(self, content: bytes, owner: str = "document") -> str:
        async with self.blobs.receive(limits.BLOB_BYTES_MAX) as incoming:
            for start in range(0, len(content), limits.BLOB_CHUNK_BYTES):
                await incoming.write(content[start : start + limits.BLOB_CHUNK_BYTES])
            received = await incoming.finish()
            blob = await self.db.write(lambda tx: blobs_store.adopt(tx, received, owner, self.clock.now()))
        return blob.sha256

    async def stored(self, sha256: str) -> bool:
        return await self.db.read(lambda tx: blobs_store.find(tx, sha256)) is not None


@pytest.fixture
async def workspaces(db: Database) -> None:
    def make(tx: Tx) -> None:
        for name in (US, THEM):
            tx.run("insert into workspaces (id, name, created_at) values (:id, :id, '')", id=name)

    await db.write(make)


@pytest.fixture
def inbox(db: Database, workspaces: None, clock: HandClock, tmp_path: Path) -> Post:
    """Mail without a mail server."""
    return Post(db, clock, tmp_path)


class Line:
    """Mail with a mail server behind it."""

    def __init__(self, post: Post, room: Mailroom) -> None:
        self.post = post
        self.room = room

    def read(self, number: int = 0) -> EmailMessage:
        content = self.room.taken[number].content
        assert isinstance(content, bytes)
        message = email.message_from_bytes(content, policy=default)
        assert isinstance(message, EmailMessage)
        return message


def post_to(db: Database, clock: HandClock, folder: Path, port: int, **more: Any) -> Post:
    url = Secret(f"smtp://127.0.0.1:{port}")
    return Post(db, clock, folder, smtp_url=url, mail_from="Harbour <sign@example.com>", smtp_plain=True, **more)


@asynccontextmanager
async def connected(db: Database, clock: HandClock, folder: Path, **room: Any) -> AsyncIterator[Line]:
    async with mailroom(**room) as opened:
        yield Line(post_to(db, clock, folder, opened.port), opened)


@pytest.fixture
async def line(db: Database, workspaces: None, clock: HandClock, tmp_path: Path) -> AsyncIterator[Line]:
    async with connected(db, clock, tmp_path) as made:
        yield made


async def test_a_queued_mail_is_sent_once_and_forgotten(line: Line) -> None:
    post = line.post
    mail_id = await post.queue(invitation(about="doc_1", reply_to=READER))
    assert (await post.kept(mail_id)).status == "queued"
    assert post.woken == 1
    assert await post.work() == 1
    message = line.read()
    assert message["Message-ID"] == f"<{mail_id}@example.com>"
    assert message["From"] == "Harbour <sign@example.com>"
    assert message["Reply-To"].addresses[0].addr_spec == "reader@example.com"
    plain = message.get_body(("plain",))
    assert plain is not None
    assert LINK in plain.get_content()
    kept = await post.kept(mail_id)
    assert (kept.status, kept.attempts, kept.subject, kept.last_error) == ("sent", 1, None, None)
    assert kept.sent_at == "2026-03-01T12:00:00Z"
    assert (await post.row(mail_id))[1] is None
    assert await post.work() == 0
    assert len(line.room.taken) == 1


async def test_a_cause_that_fails_sends_no_mail(line: Line) -> None:
    def fail(tx: Tx) -> None:
        line.post.mailer.queue(tx, US, invitation(), now=line.post.clock.now())
        raise OSError("the cause failed")

    with pytest.raises(OSError, match="the cause failed"):
        await line.post.db.write(fail)
    assert await line.post.work() == 0
    assert await line.post.db.read(lambda tx: line.post.inbox.page(tx, US)) == []
    assert (line.room.taken, line.post.woken) == ([], 0)


async def test_what_has_not_left_yet_can_be_taken_back(line: Line) -> None:
    post = line.post

    async def recalled(about: str, to: Mailbox) -> bool:
        return await post.db.write(lambda tx: post.mailer.recall(tx, US, about, to))

    other, housemate = Mailbox("other@example.com", "Other"), Mailbox(READER.address, "Housemate")
    await post.queue(invitation(about="doc_1"))
    await post.queue(Mail(to=housemate, letter=LETTERS["invitation"], about="doc_1"))
    await post.queue(Mail(to=READER, letter=LETTERS["reminder"], about="doc_1"))
    await post.queue(invitation(about="doc_2"))
    await post.queue(Mail(to=other, letter=LETTERS["invitation"], about="doc_1"))
    await post.queue(Mail(to=READER, letter=LETTERS["voided"], about="doc_1"))
    await post.queue(invitation(about="doc_1"), THEM)
    assert await recalled("doc_1", READER)
    assert not await recalled("doc_1", READER)
    await post.work()
    kept = await post.db.read(lambda tx: post.inbox.page(tx, US))
    assert sorted((one.kind, one.about, one.to) for one in kept) == [
        *sorted(("invitation", "doc_1", one.address) for one in (other, housemate)),
        ("invitation", "doc_2", READER.address),
        ("voided", "doc_1", READER.address),
    ]
    assert len(line.room.taken) == 5
    assert not await recalled("doc_2", READER)


async def test_an_invitation_that_was_tried_may_have_arrived(line: Line) -> None:
    post = line.post
    line.room.answers["DATA"] = ["451 try again later"]
    await post.queue(invitation(about="doc_1"))
    await post.work()
    assert not await post.db.write(lambda tx: post.mailer.recall(tx, US, "doc_1", READER))
    assert await post.db.read(lambda tx: post.inbox.page(tx, US)) == []


async def test_what_a_mail_says_is_nowhere_in_clear(line: Line) -> None:
    post = line.post
    ids = [await post.queue(invitation()), await post.queue(Mail(to=READER, letter=LETTERS["code"]))]

    def everything(tx: Tx) -> bytes:
        return repr([tx.all(f"select * from {table}") for table in ("mails", "jobs", "events")]).encode()

    for _ in range(2):
        found = await post.db.read(everything)
        assert ids[0].encode() in found
        assert TOKEN.encode() not in found
        assert CODE.encode() not in found
        await post.work()
    assert len(line.room.taken) == 2


async def test_a_server_s_words_bring_no_secret_into_error_or_log(line: Line, caplog: pytest.LogCaptureFixture) -> None:
    line.room.answers["DATA"] = [f"451 I do not like {LINK}", f"554 nor the code {CODE}"]
    first = await line.post.queue(invitation())
    await line.post.work()
    second = await line.post.queue(Mail(to=READER, letter=LETTERS["code"]))
    await line.post.work()
    told = [(await line.post.kept(mail_id)).last_error or "" for mail_id in (first, second)]
    parked = await line.post.db.read(lambda tx: jobs.list_parked(tx, 10))
    everything = "".join([*told, *(str(job.error) for job in parked), *(str(vars(one)) for one in caplog.records)])
    assert "I do not like" in everything
    assert "nor the code" in everything
    assert TOKEN not in everything
    assert CODE not in everything


@pytest.mark.parametrize("answer", ["RCPT 450 greylisted", "DATA 451 later", "MAIL 550 relaying denied"])
async def test_a_passing_refusal_is_tried_again_as_the_same_mail(line: Line, answer: str) -> None:
    command, _, words = answer.partition(" ")
    line.room.answers[command] = [words]
    mail_id = await line.post.queue(invitation())
    await line.post.work()
    kept = await line.post.kept(mail_id)
    assert (kept.status, kept.attempts) == ("queued", 1)
    assert words in (kept.last_error or "")
    assert await line.post.work() == 0, "it waits before the next attempt"
    line.post.clock.forward(10)
    await line.post.work()
    kept = await line.post.kept(mail_id)
    assert (kept.status, kept.attempts, kept.last_error) == ("sent", 2, None)
    assert line.read()["Message-ID"] == f"<{mail_id}@example.com>"


async def test_a_lasting_refusal_fails_at_once_and_can_be_retried_by_a_person(line: Line) -> None:
    post = line.post
    line.room.answers["RCPT"] = ["550 no such mailbox"]
    mail_id = await post.queue(invitation())
    await post.work()
    kept = await post.kept(mail_id)
    assert (kept.status, kept.attempts) == ("failed", 1)
    assert "refused the recipient: 550 no such mailbox" in (kept.last_error or "")
    (parked,) = await post.db.read(lambda tx: jobs.list_parked(tx, 10))
    await post.db.write(lambda tx: jobs.retry(tx, parked.id, post.clock.now()))
    await post.work()
    assert (await post.kept(mail_id)).status == "sent"


async def test_a_server_that_stays_away_is_tried_for_two_days_and_then_the_mail_has_failed(
    db: Database, workspaces: None, clock: HandClock, tmp_path: Path
) -> None:
    async with mailroom() as room:
        port = room.port
    post = post_to(db, clock, tmp_path, port)
    began = clock.now()
    mail_id = await post.queue(invitation())
    while (await post.kept(mail_id)).status == "queued":
        await post.work()
        clock.forward(limits.JOB_RETRY_MAX_SECONDS * 1.3)
    kept = await post.kept(mail_id)
    assert (kept.status, kept.attempts) == ("failed", mail_limits.MAIL_ATTEMPTS)
    assert "cannot be reached" in (kept.last_error or "")
    assert clock.now() - began > timedelta(days=2)
    assert await post.job_state() == {"parked": 1}


async def test_a_mail_whose_fate_is_unknown_is_sent_again_as_the_same_bytes(
    db: Database, workspaces: None, clock: HandClock, tmp_path: Path
) -> None:
    seen: list[bytes] = []
    replies = (b"220 x\r\n", b"250 x\r\n", b"250 a\r\n", b"250 b\r\n", b"354 go\r\n")

    async def swallow(reader: Any, writer: Any) -> None:
        for reply in replies:
            writer.write(reply)
            if reply != replies[-1]:
                await reader.readline()
        seen.append(await reader.readuntil(b"\r\n.\r\n"))

    async with scripted(swallow) as port:
        post = post_to(db, clock, tmp_path, port)
        sha256 = await post.file(b"%PDF" * 100)
        mail_id = await post.queue(invitation(attachments=[MailAttachment(sha256, "lease.pdf")]))
        for _ in range(2):
            await post.work()
            clock.forward(60)
    assert seen[0] == seen[1]
    kept = await post.kept(mail_id)
    assert (kept.status, kept.attempts) == ("queued", 2)
    assert "same Message-ID" in (kept.last_error or "")


async def test_a_server_that_stalls_is_given_up_and_tried_again_later(
    db: Database, workspaces: None, clock: HandClock, tmp_path: Path
) -> None:
    async with scripted(saying(b"220 x\r\n", then="stall")) as port:
        post = post_to(db, clock, tmp_path, port, reply_seconds=0.5)
        mail_id = await post.queue(invitation())
        await post.work()
        assert "did not answer within 0.5 seconds" in ((await post.kept(mail_id)).last_error or "")


async def test_the_sealed_file_is_attached_byte_for_byte_and_held_until_the_mail_is_out(line: Line) -> None:
    post, content = line.post, os.urandom(limits.MB)
    sha256 = await post.file(content)
    letter = LETTERS["completion"]
    mail_id = await post.queue(
        Mail(to=READER, letter=letter, attachments=[MailAttachment(sha256, "Mietvertrag ü.pdf")])
    )
    await post.db.write(lambda tx: blobs_store.release(tx, sha256, "document", post.clock.now()))
    assert await post.stored(sha256)
    await post.work()
    (attached,) = line.read().iter_attachments()
    assert attached.get_content() == content
    assert attached.get_filename() == "Mietvertrag ü.pdf"
    assert (await post.row(mail_id))[2] == "[]"
    assert not await post.stored(sha256)


async def test_a_file_too_large_for_a_mail_is_left_out_and_said_to_be(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail_limits, "MAIL_ATTACHMENT_BYTES", 1000)
    sha256 = await line.post.file(b"x" * 1001)
    letter = LETTERS["completion"]
    await line.post.queue(Mail(to=READER, letter=letter, attachments=[MailAttachment(sha256, "lease.pdf")]))
    await line.post.work()
    message = line.read()
    assert list(message.iter_attachments()) == []
    plain = message.get_body(("plain",))
    assert plain is not None
    assert "too large to attach" in plain.get_content()
    assert await line.post.stored(sha256)


async def test_several_files_go_together_or_not_at_all(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail_limits, "MAIL_ATTACHMENT_BYTES", 1000)
    post, letter = line.post, LETTERS["completion"]
    contents = [b"x" * 600, b"y" * 400, b"z" * 401]
    files = [MailAttachment(await post.file(content), f"{number}.pdf") for number, content in enumerate(contents)]
    await post.queue(Mail(to=READER, letter=letter, attachments=files[:2]))
    await post.work()
    await post.queue(Mail(to=READER, letter=letter, attachments=[files[0], files[2]]))
    await post.work()
    both, none = [[part.get_content() for part in line.read(number).iter_attachments()] for number in (0, 1)]
    assert (both, none) == (contents[:2], [])
    for file in files:
        await post.db.write(lambda tx, file=file: blobs_store.release(tx, file.sha256, "document", post.clock.now()))  # type: ignore[misc]
        assert not await post.stored(file.sha256), "nothing is held for a mail that is out"


async def test_a_file_too_large_for_this_server_is_left_out(
    db: Database, workspaces: None, clock: HandClock, tmp_path: Path
) -> None:
    async with connected(db, clock, tmp_path, size=100_000) as line:
        sha256 = await line.post.file(os.urandom(200_000))
        letter = LETTERS["completion"]
        mail_id = await line.post.queue(
            Mail(to=READER, letter=letter, attachments=[MailAttachment(sha256, "lease.pdf")])
        )
        await line.post.work()
        assert (await line.post.kept(mail_id)).status == "sent"
        assert list(line.read().iter_attachments()) == []


async def test_an_attachment_that_is_not_stored_is_refused_when_the_mail_is_queued(line: Line) -> None:
    with pytest.raises(LostFile):
        await line.post.queue(invitation(attachments=[MailAttachment("0" * 64, "lease.pdf")]))


async def test_a_code_that_has_run_out_is_not_sent_any_more(line: Line) -> None:
    late = Mail(to=READER, letter=LETTERS["code"], not_after=line.post.clock.now() + timedelta(minutes=10))
    mail_id = await line.post.queue(late)
    line.post.clock.forward(601)
    await line.post.work()
    kept = await line.post.kept(mail_id)
    assert (kept.status, line.room.taken) == ("failed", [])
    assert "before it lost its meaning" in (kept.last_error or "")


async def test_a_code_overtakes_what_waits(line: Line) -> None:
    for _ in range(limits.JOB_CLAIM):
        await line.post.queue(invitation())
    code = await line.post.queue(Mail(to=READER, letter=LETTERS["code"]))
    await line.post.work()
    assert (await line.post.kept(code)).status == "sent"
    assert len(line.room.taken) == limits.JOB_CLAIM


async def test_a_process_that_lost_its_lease_changes_nothing(line: Line) -> None:
    post = line.post
    mail_id = await post.queue(invitation())
    slow = await post.db.write(lambda tx: jobs.store.claim(tx, "slow", Slots(1), post.clock.now()))
    post.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    await post.work("fast")
    assert (await post.kept(mail_id)).status == "sent"
    work = jobs.Work(slow[0], post.db, post.clock, "slow")
    await post.mailer.deliver(work)
    assert len(line.room.taken) == 1
    assert (await post.kept(mail_id)).attempts == 1


async def test_certificates_are_checked_against_the_file_of_the_setting(
    db: Database, workspaces: None, clock: HandClock, tmp_path: Path
) -> None:
    context, ca = certificate(tmp_path)
    async with mailroom(starttls=context) as room:
        shared: dict[str, Any] = {"smtp_url": Secret(f"smtp://127.0.0.1:{room.port}"), "mail_from": "sign@example.com"}
        strict = Post(db, clock, tmp_path, **shared)
        mail_id = await strict.queue(invitation())
        await strict.work()
        assert "TLS handshake" in ((await strict.kept(mail_id)).last_error or "")
        clock.forward(60)
        missing = Post(db, clock, tmp_path, smtp_ca_file=tmp_path / "nowhere.pem", **shared)
        await missing.work()
        assert "DEEDBOX_SMTP_CA_FILE" in ((await strict.kept(mail_id)).last_error or "")
        clock.forward(60)
        await Post(db, clock, tmp_path, smtp_ca_file=ca, **shared).work()
    assert (await strict.kept(mail_id)).status == "sent"
    assert room.encrypted == [True]


async def test_a_mail_that_the_box_cannot_open_fails_by_name(line: Line) -> None:
    mail_id = await line.post.queue(invitation())
    await line.post.db.write(lambda tx: tx.run("update mails set data = :x", x=b"\x01junkjunkjunkjunkjunk"))
    await line.post.work()
    assert (await line.post.row(mail_id))[0] == "failed"
    (parked,) = await line.post.db.read(lambda tx: jobs.list_parked(tx, 10))
    assert "cannot be opened" in str(parked.error)
    assert (await line.post.kept(mail_id)).subject is None


async def test_a_rotation_of_the_master_key_goes_through_the_mails(line: Line) -> None:
    await line.post.queue(invitation())
    await line.post.queue(invitation())
    done = await rotate(line.post.db, line.post.ring, [ENCRYPTED_MAIL], lambda _done, _total: None)
    assert (done.reencrypted, done.unreadable) == (2, 0)
    await line.post.work()
    assert len(line.room.taken) == 2


async def test_what_is_no_address_is_refused_when_the_mail_is_queued(line: Line) -> None:
    for address in ("reader@example.com>\r\nRCPT TO:<thief@example.com", "nobody", ""):
        with pytest.raises(BadRequest, match="e-mail address"):
            await line.post.queue(Mail(to=Mailbox(address, "Reader"), letter=LETTERS["code"]))
    await line.post.queue(Mail(to=Mailbox("reader@bücher.example"), letter=LETTERS["code"]))
    await line.post.work()
    assert [taken.rcpt_tos for taken in line.room.taken] == [["reader@xn--bcher-kva.example"]]


async def test_a_mail_beyond_its_bound_is_refused(line: Line) -> None:
    with pytest.raises(ValueError, match="more than"):
        await line.post.queue(invitation(about="x" * mail_limits.MAIL_DATA_BYTES))


async def test_without_a_mail_server_mail_stays_in_the_inbox(inbox: Post) -> None:
    first = await inbox.queue(invitation(about="doc_1"))
    inbox.clock.forward(1)
    sha256 = await inbox.file(b"%PDF")
    mail = Mail(
        to=READER, letter=LETTERS["completion"], attachments=[MailAttachment(sha256, "lease.pdf")], language="de"
    )
    second = await inbox.queue(mail)
    await inbox.queue(invitation(), THEM)
    assert await inbox.work() == 0
    found = await inbox.db.read(lambda tx: inbox.inbox.page(tx, US, status="inbox"))
    assert [(kept.id, kept.status, kept.kind) for kept in found] == [
        (second, "inbox", "completion"),
        (first, "inbox", "invitation"),
    ]
    assert [kept.subject for kept in found] == [
        "Von allen unterschrieben: Lease & <annex>",
        "Harbour Ltd asks you to sign: Lease & <annex>",
    ]
    shown = await inbox.db.read(lambda tx: inbox.inbox.show(tx, US, first))
    assert shown.mail == invitation(about="doc_1")
    assert LINK in shown.text
    assert LINK in shown.html
    other = await inbox.db.read(lambda tx: inbox.inbox.show(tx, US, second))
    assert [attachment.sha256 for attachment in other.attachments] == [sha256]
    assert "sind dieser E-Mail beigefügt" in other.text


async def test_the_inbox_comes_in_pages_and_by_what_it_is_about(inbox: Post) -> None:
    made = []
    for number in range(5):
        made.append(await inbox.queue(invitation(about=f"doc_{number % 2}")))
        inbox.clock.forward(1)

    def ids(**more: Any) -> Any:
        return inbox.db.read(lambda tx: [kept.id for kept in inbox.inbox.page(tx, US, status="inbox", **more)])

    assert await ids(limit=2) == made[:2:-1]
    assert await ids(limit=2, before=made[3]) == [made[2], made[1]]
    assert await ids(about="doc_1") == [made[3], made[1]]


async def test_another_workspace_s_mail_does_not_exist(inbox: Post) -> None:
    mail_id = await inbox.queue(invitation(), THEM)
    with pytest.raises(NotFound):
        await inbox.db.read(lambda tx: inbox.inbox.show(tx, US, mail_id))


async def test_what_is_to_be_sent_cannot_be_looked_into(line: Line) -> None:
    mail_id = await line.post.queue(invitation())
    with pytest.raises(NotFound):
        await line.post.db.read(lambda tx: line.post.inbox.show(tx, US, mail_id))


async def test_mail_queued_before_the_server_was_taken_out_of_the_settings_goes_to_the_inbox(
    line: Line, clock: HandClock, tmp_path: Path
) -> None:
    mail_id = await line.post.queue(invitation())
    without = Post(line.post.db, clock, tmp_path)
    await without.work()
    shown = await without.db.read(lambda tx: without.inbox.show(tx, US, mail_id))
    assert LINK in shown.text
    assert line.room.taken == []


@pytest.mark.parametrize("kind", ["code", "reset"])
async def test_what_is_its_reader_s_alone_never_comes_into_the_inbox(
    line: Line, clock: HandClock, tmp_path: Path, kind: str
) -> None:
    """Neither when the server is taken away, nor when it is sent again without one, nor from an earlier version."""
    mail_id = await line.post.queue(Mail(to=READER, letter=LETTERS[kind]))
    without = Post(line.post.db, clock, tmp_path)
    await without.work()
    assert (await without.kept(mail_id)).status == "failed"
    with pytest.raises(Conflict, match="reader's alone"):
        await without.db.write(lambda tx: without.mailer.resend(tx, US, mail_id, now=clock.now()))
    assert (await without.kept(mail_id)).status == "failed"
    await without.db.write(lambda tx: tx.run("update mails set status = 'inbox'"))
    assert not (await without.kept(mail_id)).can_be_opened
    with pytest.raises(NotFound):
        await without.db.read(lambda tx: without.inbox.show(tx, US, mail_id))


async def test_old_mail_is_forgotten_with_its_attachment(line: Line) -> None:
    post = line.post
    inbox = Post(post.db, post.clock, post.ring.parent)
    sha256 = await post.file(b"%PDF")
    await inbox.queue(invitation(attachments=[MailAttachment(sha256, "a.pdf")]))
    await post.db.write(lambda tx: blobs_store.release(tx, sha256, "document", post.clock.now()))
    sent = await post.queue(invitation())
    await post.work()

    async def pruned() -> int:
        return await post.db.write(lambda tx: prune(tx, post.clock.now()))

    assert await pruned() == 0
    post.clock.forward((limits.MAIL_INBOX_DAYS + 1) * 86400)
    assert await post.stored(sha256)
    assert await pruned() == 1
    assert not await post.stored(sha256)
    assert (await post.kept(sent)).status == "sent"
    post.clock.forward((mail_limits.MAIL_KEEP_DAYS - limits.MAIL_INBOX_DAYS) * 86400)
    assert await pruned() == 1
    assert await post.db.read(lambda tx: post.inbox.page(tx, US)) == []


async def test_a_job_whose_mail_was_pruned_ends_without_a_word(line: Line) -> None:
    await line.post.queue(invitation())
    await line.post.db.write(lambda tx: tx.run("delete from mails"))
    await line.post.work()
    assert await line.post.job_state() == {}
    assert line.room.taken == []
