"""Mail is a row in the transaction that causes it; a job hands it in, again and again until it is out."""

import asyncio
import functools
import ssl
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from deedbox.kernel import jobs, limits
from deedbox.kernel.blobs import Blobs
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import Clock, instant, moment
from deedbox.kernel.crypto import Box
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import DeedboxError, NotFound, SetupError
from deedbox.kernel.ids import new_id
from deedbox.kernel.jobs import GiveUp, Work
from deedbox.kernel.mailbox import Mailbox, mailbox, named_mailbox
from deedbox.kernel.rotation import EncryptedColumn
from deedbox.kernel.settings import Settings
from deedbox.kernel.smtp_url import MailServer, mail_server
from deedbox.mail import store, wording
from deedbox.mail.inbox import InboxMail, Kept
from deedbox.mail.letter import Code, Mail, Test
from deedbox.mail.store import Entry, Status

if TYPE_CHECKING:
    from deedbox.mail.message import Envelope
    from deedbox.mail.smtp import Patience
    from deedbox.mail.templates import Rendered

MAIL_JOB = "mail"
ENCRYPTED_MAIL = EncryptedColumn(table="mails", key_columns=("id",), column="data", place="mails.data:{id}")
_NOBODY = Mailbox("deedbox@localhost", "Deedbox")


class MailFailed(DeedboxError):
    """This attempt did not succeed; the next may."""


class Unreadable(DeedboxError):
    """What the mail says cannot be opened any more."""


class Mailer:
    """Writes mail for later and sends it; without a mail server in the settings, it stays in the inbox."""

    def __init__(
        self,
        db: Database,
        box: Box,
        clock: Clock,
        settings: Settings,
        blobs: Blobs,
        *,
        wake: Callable[[], None] | None = None,
    ) -> None:
        self._db = db
        self._box = box
        self._clock = clock
        self._settings = settings
        self._blobs = blobs
        self._wake = wake
        self.patience: Patience | None = None
        """How long the mail server may take, if that is not the usual."""
        self._server = mail_server(settings.smtp_url) if settings.smtp_url else None
        given = named_mailbox(settings.mail_from) if settings.mail_from else _NOBODY
        self._sender = msgspec.structs.replace(given, name=given.name or _NOBODY.name)

    def queue(self, tx: Tx, workspace_id: str, mail: Mail, *, now: datetime) -> str:
        """The id of the mail, which is sent if, and only if, the caller's transaction is committed."""
        mail_id = new_id("mail", now)
        mail = _addressed(mail)
        plain = msgspec.json.encode(mail)
        if len(plain) > limits.MAIL_DATA_BYTES:
            raise ValueError(f"a {mail.kind} mail has more than {limits.MAIL_DATA_BYTES} bytes")
        entry = Entry(
            id=mail_id,
            workspace_id=workspace_id,
            kind=mail.kind,
            about=mail.about,
            to_address=mail.to.address,
            message_id=f"<{mail_id}@{self._sender.domain}>",
            status="queued" if self._server else "inbox",
            data=self._box.encrypt(plain, ENCRYPTED_MAIL.place.format(id=mail_id)),
            attachment_sha256=_hold_attachment(tx, mail_id, mail, now),
            attempts=0,
            last_error=None,
            created_at=instant(now),
            tried_at=None,
            sent_at=None,
        )
        store.insert(tx, entry)
        if self._server:
            self._plan(tx, entry, mail, now)
        return mail_id

    def recall(self, tx: Tx, workspace_id: str, about: str, to: Mailbox) -> bool:
        """Takes back what still waits to ask them for something; whether they were never invited by mail at all."""
        address = mailbox(to.address, to.name).address
        store.recall(tx, workspace_id, about, address, "reminder")
        tried = store.recall(tx, workspace_id, about, address, "invitation")
        # One that was tried may have arrived: it may be on the wire at this moment, or its answer was lost.
        return bool(tried) and not any(tried)

    def _plan(self, tx: Tx, entry: Entry, mail: Mail, now: datetime) -> None:
        jobs.enqueue(
            tx,
            jobs.NewJob(
                MAIL_JOB,
                {"mail": entry.id},
                # Someone sits in front of the page and waits for the code.
                priority=jobs.URGENT if isinstance(mail.letter, Code) else jobs.NORMAL,
                workspace_id=entry.workspace_id,
                max_attempts=limits.MAIL_ATTEMPTS,
            ),
            now=now,
        )
        if self._wake:
            tx.on_commit(self._wake)

    async def deliver(self, work: Work) -> None:
        """The handler of MAIL_JOB: one attempt to send one mail."""
        begun = self._clock.now()
        entry = await self._db.write(lambda tx: store.begin(tx, work.job.payload["mail"], begun))
        if entry is None:
            return
        if self._server is None:
            await work.finish(lambda tx: store.put_into_inbox(tx, entry))
            return
        try:
            await self._attempt(entry, self._server)
        except (GiveUp, DeedboxError) as error:
            final = isinstance(error, GiveUp) or work.job.attempts >= work.job.max_attempts
            reason = str(error)
            await self._db.write(lambda tx: store.note_failure(tx, entry, reason, final=final))
            raise
        await work.finish(lambda tx: _settle(tx, entry, self._clock.now()))

    async def _attempt(self, entry: Entry, server: MailServer) -> None:
        from deedbox.mail.smtp import SmtpRefused, TooLargeForServer

        try:
            mail = self._opened(entry)
        except Unreadable as error:
            raise GiveUp(error.message) from error
        if mail.not_after and self._clock.now() > mail.not_after:
            raise GiveUp(f"The mail could not be sent before it lost its meaning. {entry.last_error or ''}".strip())
        try:
            try:
                await self._hand_in(server, await self._envelope(entry, mail, attach=True))
            except TooLargeForServer:
                if entry.attachment_sha256 is None:
                    raise
                await self._hand_in(server, await self._envelope(entry, mail, attach=False))
        except SmtpRefused as refused:
            reason = _without(refused.message, mail.secrets)
            raise GiveUp(reason) if refused.permanent else MailFailed(reason) from None

    async def send_test(self, to: Mailbox) -> tuple[str, str]:
        """Sends a test mail past the queue: its Message-ID, and what the server said when it took it."""
        from deedbox.mail.templates import render

        server = self.demand_server()
        now = self._clock.now()
        mail = Mail(to=to, letter=Test(server=str(server)))
        message_id = f"<{new_id('mail', now)}@{self._sender.domain}>"
        rendered = render(mail, attached=False)
        return message_id, await self._hand_in(server, self._composed(mail, message_id, now, rendered, None))

    async def check(self) -> str:
        """What the server answers to a greeting and the login; nothing is sent."""
        from deedbox.mail.smtp import Patience

        hurried = Patience(limits.SMTP_CHECK_SECONDS, limits.SMTP_CHECK_SECONDS)
        return await self._hand_in(self.demand_server(), None, patience=hurried)

    def demand_server(self) -> MailServer:
        if self._server is None:
            raise SetupError(
                "No mail server is set: mail stays in the inbox of the dashboard.",
                "Set DEEDBOX_SMTP_URL and DEEDBOX_MAIL_FROM.",
            )
        return self._server

    def page(
        self,
        tx: Tx,
        workspace_id: str,
        *,
        status: Status | None = None,
        about: str | None = None,
        limit: int = limits.PAGE_DEFAULT,
        before: str | None = None,
    ) -> list[Kept]:
        """The workspace's mails, newest first, with what became of each."""
        found = store.page(tx, workspace_id, status=status, about=about, limit=limit, before=before)
        return [self._kept(entry) for entry in found]

    def inbox(
        self,
        tx: Tx,
        workspace_id: str,
        *,
        about: str | None = None,
        limit: int = limits.PAGE_DEFAULT,
        before: str | None = None,
    ) -> list[Kept]:
        """The mails that stayed here because there is no mail server, newest first."""
        return self.page(tx, workspace_id, status="inbox", about=about, limit=limit, before=before)

    def show(self, tx: Tx, workspace_id: str, mail_id: str) -> InboxMail:
        """A mail of the inbox as its reader would see it. What is to be sent is its reader's alone: NotFound."""
        entry = store.find(tx, workspace_id, mail_id)
        if entry is None or entry.status != "inbox":
            raise NotFound("The mail is not in the inbox")
        mail = self._opened(entry)
        rendered = _rendered(entry, mail)
        return InboxMail(
            kept=self._kept(entry),
            mail=mail,
            text=rendered.text,
            html=rendered.html,
            attachment_sha256=entry.attachment_sha256,
        )

    def _kept(self, entry: Entry) -> Kept:
        try:
            subject = _rendered(entry, self._opened(entry)).subject
        except Unreadable:
            subject = None
        shared = {name: getattr(entry, name) for name in Kept.__struct_fields__ if name not in ("to", "subject")}
        return Kept(to=entry.to_address, subject=subject, **shared)

    def _opened(self, entry: Entry) -> Mail:
        if entry.data is None:
            raise Unreadable("What the mail said is no longer kept")
        try:
            plain = self._box.decrypt(entry.data, ENCRYPTED_MAIL.place.format(id=entry.id))
        except ValueError as error:
            raise Unreadable(f"The mail cannot be opened: {error}") from error
        return msgspec.json.decode(plain, type=Mail)

    async def _envelope(self, entry: Entry, mail: Mail, *, attach: bool) -> "Envelope":
        from deedbox.mail.templates import render

        content = await self._content(entry) if attach and entry.attachment_sha256 else None
        name = mail.attachment.name if mail.attachment else ""
        file = (name, content) if content is not None else None
        rendered = render(mail, attached=file is not None)
        written_at = moment(entry.created_at)
        return await asyncio.to_thread(self._composed, mail, entry.message_id, written_at, rendered, file)

    def _composed(
        self, mail: Mail, message_id: str, at: datetime, rendered: "Rendered", file: tuple[str, bytes] | None
    ) -> "Envelope":
        from deedbox.mail.message import Draft, compose

        return compose(
            Draft(
                message_id=message_id,
                sender=self._sender,
                to=mail.to,
                reply_to=mail.reply_to,
                written_at=at,
                language=wording.known(mail.language),
                rendered=rendered,
                file=file,
            )
        )

    async def _content(self, entry: Entry) -> bytes:
        blob = await self._db.read(lambda tx: blobs_store.find(tx, entry.attachment_sha256 or ""))
        if blob is None:
            raise NotFound("The attachment is no longer stored")
        return await self._blobs.read(blob.location, limits.MAIL_ATTACHMENT_BYTES)

    async def _hand_in(
        self, server: MailServer, envelope: "Envelope | None", *, patience: "Patience | None" = None
    ) -> str:
        from deedbox.mail.smtp import hand_in

        tls = None if self._settings.smtp_plain else self._tls
        patience = patience or self.patience
        return await hand_in(server, envelope, tls=tls, hello=self._sender.domain, patience=patience)

    @functools.cached_property
    def _tls(self) -> ssl.SSLContext:
        file = self._settings.smtp_ca_file
        try:
            return ssl.create_default_context(cafile=file)
        except OSError as error:
            raise MailFailed(f"DEEDBOX_SMTP_CA_FILE ({file}) cannot be used: {error.strerror or error}") from error


def prune(tx: Tx, now: datetime) -> int:
    """Forgets mails past their time, some at each call: sent ones, and what stayed unsent or in the inbox."""
    ages: dict[Status, int] = {
        "sent": limits.MAIL_KEEP_DAYS,
        "inbox": limits.MAIL_INBOX_DAYS,
        "failed": limits.MAIL_INBOX_DAYS,
        "queued": limits.MAIL_INBOX_DAYS,
    }
    old = [entry for status, days in ages.items() for entry in store.outdated(tx, status, now - timedelta(days=days))]
    for entry in old:
        _let_go(tx, entry, now)
        store.delete(tx, entry)
    return len(old)


def _addressed(mail: Mail) -> Mail:
    """The mail with its addresses checked, whoever has checked them before: they are spoken to the mail server."""
    reply_to = mail.reply_to and mailbox(mail.reply_to.address, mail.reply_to.name)
    return msgspec.structs.replace(mail, to=mailbox(mail.to.address, mail.to.name), reply_to=reply_to)


def _rendered(entry: Entry, mail: Mail) -> "Rendered":
    from deedbox.mail.templates import render

    return render(mail, attached=entry.attachment_sha256 is not None)


def _hold_attachment(tx: Tx, mail_id: str, mail: Mail, now: datetime) -> str | None:
    """The file's hash, kept for this mail; None when there is none or it is too large for a mail."""
    if mail.attachment is None:
        return None
    owner = f"mail:{mail_id}"
    blob = blobs_store.refer(tx, mail.attachment.sha256, owner)
    if blob.size_bytes > limits.MAIL_ATTACHMENT_BYTES:
        blobs_store.release(tx, blob.sha256, owner, now)
        return None
    return blob.sha256


def _settle(tx: Tx, entry: Entry, now: datetime) -> None:
    store.note_sent(tx, entry, now)
    _let_go(tx, entry, now)


def _let_go(tx: Tx, entry: Entry, now: datetime) -> None:
    if entry.attachment_sha256:
        blobs_store.release(tx, entry.attachment_sha256, f"mail:{entry.id}", now)


def _without(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "…")
    return text
