"""Mail on its way out: a row in the transaction that causes it, and a job that hands it in until it is taken."""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from deedbox.kernel import jobs
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blobs
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.clock import Clock, instant, moment
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.db import Database, Tx
from deedbox.kernel.errors import Conflict, NotFound, ServiceError
from deedbox.kernel.ids import new_id
from deedbox.kernel.jobs import GiveUp, Work
from deedbox.kernel.mailbox import Mailbox, mailbox
from deedbox.mail import content, limits, store
from deedbox.mail.letter import PERSONAL, CodeMail, Mail, MailLook
from deedbox.mail.relay import Files, MailFailed, Relay
from deedbox.mail.store import MailEntry, Status

MAIL_JOB = "mail"
_READERS_ALONE = "There is no mail server any more, and this mail is its reader's alone."


class Mailer:
    """Writes mail for later and sends it; without a mail server in the settings, it stays in the inbox."""

    def __init__(
        self,
        db: Database,
        box: ValueCipher,
        clock: Clock,
        relay: Relay,
        blobs: Blobs,
        look: Callable[[Tx, str], MailLook] = lambda *_: MailLook(),
    ) -> None:
        self._db = db
        self._box = box
        self._clock = clock
        self._relay = relay
        self._blobs = blobs
        self._look = look
        """How the mails of a workspace look."""

    @property
    def delivers(self) -> bool:
        """Whether there is a mail server to take what is queued."""
        return self._relay.server is not None

    def queue(self, tx: Tx, workspace_id: str, mail: Mail, *, now: datetime) -> str:
        """The id of the mail, which is sent if, and only if, the caller's transaction is committed."""
        mail_id = new_id("mail", now)
        mail = _addressed(mail)
        entry = MailEntry(
            id=mail_id,
            workspace_id=workspace_id,
            kind=mail.kind,
            about=mail.about,
            to_address=mail.to.address,
            to_name=mail.to.name,
            message_id=self._relay.message_id(mail_id),
            status="queued" if self._relay.server else "inbox",
            data=content.encrypt(self._box, mail_id, mail),
            attachments=_hold_attachments(tx, mail_id, mail, now),
            attempts=0,
            last_error=None,
            created_at=instant(now),
            tried_at=None,
            sent_at=None,
        )
        store.insert(tx, entry)
        if self._relay.server:
            self._plan(tx, entry, mail, now)
        return mail_id

    def recall(self, tx: Tx, workspace_id: str, about: str, to: Mailbox) -> bool:
        """Takes back what still waits to ask them for something; whether they were never invited by mail at all."""
        person = mailbox(to.address, to.name)
        store.recall(tx, workspace_id, about, person, "reminder")
        tried = store.recall(tx, workspace_id, about, person, "invitation")
        # One that was tried may have arrived: it may be on the wire at this moment, or its answer was lost.
        return bool(tried) and not any(tried)

    def resend(self, tx: Tx, workspace_id: str, mail_id: str, *, now: datetime) -> None:
        """Tries once more to send a mail that was given up; without a mail server by now, it stays in the inbox."""
        entry = store.find(tx, workspace_id, mail_id)
        if entry is None:
            raise NotFound("There is no such mail")
        try:
            mail = content.decrypt(self._box, entry)
        except content.UnreadableMail as error:
            raise Conflict(error.message) from error
        if not store.wait_again(tx, entry):
            raise Conflict("Only a mail that could not be sent can be sent again.")
        if self._relay.server is not None:
            self._plan(tx, entry, mail, now)
        elif entry.kind in PERSONAL:
            raise Conflict(_READERS_ALONE)
        else:
            store.put_into_inbox(tx, entry)

    def _plan(self, tx: Tx, entry: MailEntry, mail: Mail, now: datetime) -> None:
        jobs.put(
            tx,
            jobs.NewJob(
                MAIL_JOB,
                {"mail": entry.id},
                priority=_priority(mail),
                workspace_id=entry.workspace_id,
                max_attempts=limits.MAIL_ATTEMPTS,
            ),
            now=now,
        )

    async def deliver(self, work: Work) -> None:
        """The handler of MAIL_JOB: one attempt to send one mail."""
        begun = self._clock.now()
        entry = await self._db.write(
            lambda tx: store.begin(tx, work.job.payload["mail"], begun),
            isolation="read committed",
        )
        if entry is None:
            return
        if self._relay.server is None and entry.kind not in PERSONAL:
            await work.finish(
                lambda tx: store.put_into_inbox(tx, entry),
                isolation="read committed",
            )
            return
        try:
            await self._attempt(entry)
        except (GiveUp, ServiceError) as error:
            final = isinstance(error, GiveUp) or work.job.attempts >= work.job.max_attempts
            reason = str(error)
            await self._db.write(
                lambda tx: store.note_failure(tx, entry, reason, final=final),
                isolation="read committed",
            )
            raise
        await work.finish(
            lambda tx: _settle(tx, entry, self._clock.now()),
            isolation="read committed",
        )

    async def _attempt(self, entry: MailEntry) -> None:
        from deedbox.mail.smtp import SmtpRefused, TooLargeForServer

        if self._relay.server is None:
            raise GiveUp(_READERS_ALONE)
        try:
            mail = await self._opened(entry)
        except content.UnreadableMail as error:
            raise GiveUp(error.message) from error
        if mail.not_after and self._clock.now() > mail.not_after:
            raise GiveUp(f"The mail could not be sent before it lost its meaning. {entry.last_error or ''}".strip())
        written_at = moment(entry.created_at)
        try:
            try:
                await self._relay.send(mail, entry.message_id, written_at, await self._files(entry, mail))
            except TooLargeForServer:
                if not entry.attachments:
                    raise
                await self._relay.send(mail, entry.message_id, written_at)
        except SmtpRefused as refused:
            reason = _without(refused.message, mail.secrets)
            raise GiveUp(reason) if refused.permanent else MailFailed(reason) from None

    async def _opened(self, entry: MailEntry) -> Mail:
        mail = content.decrypt(self._box, entry)
        look = await self._db.read(lambda tx: self._look(tx, entry.workspace_id))
        if look.logo_sha256 is not None:
            look = msgspec.structs.replace(look, logo=await self._content(look.logo_sha256))
        return msgspec.structs.replace(mail, look=look)

    async def _files(self, entry: MailEntry, mail: Mail) -> Files:
        """Name and content of each file that is attached."""
        names = {attachment.sha256: attachment.name for attachment in mail.attachments}
        return [(names.get(sha256, ""), await self._content(sha256)) for sha256 in entry.attachments]

    async def _content(self, sha256: str) -> bytes:
        blob = await self._db.read(lambda tx: blobs_store.demand(tx, sha256))
        return await self._blobs.read(blob.location, limits.MAIL_ATTACHMENT_BYTES)


def prune(tx: Tx, now: datetime) -> int:
    """Forgets mails past their time, some at each call: sent ones, and what stayed unsent or in the inbox."""
    ages: dict[Status, int] = {
        "sent": limits.MAIL_KEEP_DAYS,
        "inbox": shared_limits.MAIL_INBOX_DAYS,
        "failed": shared_limits.MAIL_INBOX_DAYS,
        "queued": shared_limits.MAIL_INBOX_DAYS,
    }
    old = [
        entry for status, days in ages.items() for entry in store.list_outdated(tx, status, now - timedelta(days=days))
    ]
    for entry in old:
        _let_go(tx, entry, now)
        store.delete(tx, entry)
    return len(old)


def _priority(mail: Mail) -> int:
    if isinstance(mail.letter, CodeMail):  # someone sits in front of the page and waits for it
        return jobs.URGENT
    return jobs.BULK if mail.bulk else jobs.NORMAL


def _addressed(mail: Mail) -> Mail:
    """The mail with its addresses checked, whoever has checked them before: they are spoken to the mail server."""
    reply_to = mail.reply_to and mailbox(mail.reply_to.address, mail.reply_to.name)
    return msgspec.structs.replace(mail, to=mailbox(mail.to.address, mail.to.name), reply_to=reply_to)


def _hold_attachments(tx: Tx, mail_id: str, mail: Mail, now: datetime) -> list[str]:
    """The hashes of the files, kept for this mail; none of them when together they are too large for one."""
    owner = f"mail:{mail_id}"
    held = [blobs_store.refer(tx, attachment.sha256, owner) for attachment in mail.attachments]
    if sum(blob.size_bytes for blob in held) <= limits.MAIL_ATTACHMENT_BYTES:
        return [blob.sha256 for blob in held]
    for blob in held:
        blobs_store.release(tx, blob.sha256, owner, now)
    return []


def _settle(tx: Tx, entry: MailEntry, now: datetime) -> None:
    store.note_sent(tx, entry, now)
    _let_go(tx, entry, now)


def _let_go(tx: Tx, entry: MailEntry, now: datetime) -> None:
    for sha256 in entry.attachments:
        blobs_store.release(tx, sha256, f"mail:{entry.id}", now)


def _without(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "…")
    return text
