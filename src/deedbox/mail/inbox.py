"""The mails of a workspace, as people look at them."""

from typing import TYPE_CHECKING

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import Instant
from deedbox.kernel.crypto import ValueCipher
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.mail import content, store
from deedbox.mail.letter import ACCOUNT, PERSONAL, Kind, Mail, MailAttachment
from deedbox.mail.store import MailEntry, MailPart, Status

if TYPE_CHECKING:
    from deedbox.mail.templates import Rendered


class MailRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A mail as lists show it: never what it says, which its reader alone may know."""

    id: str
    """The mail's id."""
    kind: Kind
    """What it is for."""
    about: str | None
    """The document or packet that it is about; null where it is about none."""
    to: str
    """The address that it goes to."""
    subject: str | None
    """Its subject; null once it is sent, when what it said is forgotten."""
    status: Status
    """What became of it; `inbox`: it stays here, because the server has no mail server."""
    attempts: int
    """How often it was tried to send it."""
    last_error: str | None
    """Why the last attempt failed; null if it did not."""
    created_at: Instant
    """When it was written."""
    tried_at: Instant | None
    """When it was last tried; null until then."""
    sent_at: Instant | None
    """When the mail server took it; null until then."""

    @property
    def can_be_opened(self) -> bool:
        """Whether those who run the workspace may read what it says."""
        return self.status == "inbox" and self.kind not in PERSONAL


class InboxMail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail that stayed here, opened: what its reader would see."""

    listed: MailRecord
    mail: Mail
    text: str
    html: str
    attachments: list[MailAttachment]


class Inbox:
    """Lists mails with what became of them, and opens those that stayed here because there is no mail server."""

    def __init__(self, box: ValueCipher) -> None:
        self._box = box

    def page(
        self,
        tx: Tx,
        workspace_id: str,
        *,
        status: Status | None = None,
        about: str | None = None,
        limit: int = limits.PAGE_DEFAULT,
        before: str | None = None,
    ) -> list[MailRecord]:
        """The workspace's mails, newest first; those that stayed here have the status `inbox`."""
        return self.part(
            tx, workspace_id, MailPart(limit=limit, before=before, statuses=(status,) if status else (), about=about)
        )

    def part(self, tx: Tx, workspace_id: str, wanted: MailPart) -> list[MailRecord]:
        """The workspace's mails that are wanted, newest first."""
        return [self._listed(entry) for entry in store.part(tx, workspace_id, wanted)]

    def find(self, tx: Tx, workspace_id: str, mail_id: str, *, accounts: bool = True) -> MailRecord:
        """One mail as lists show it; NotFound also for one about an account where those are not to be seen."""
        entry = store.find(tx, workspace_id, mail_id)
        if entry is None or (entry.kind in ACCOUNT and not accounts):
            raise NotFound("There is no such mail")
        return self._listed(entry)

    def show(self, tx: Tx, workspace_id: str, mail_id: str) -> InboxMail:
        """A mail that stayed here, as its reader would see it. What is to be sent is its reader's alone: NotFound."""
        entry = store.find(tx, workspace_id, mail_id)
        if entry is None or entry.status != "inbox" or entry.kind in PERSONAL:
            raise NotFound("The mail is not in the inbox")
        mail = content.decrypt(self._box, entry)
        rendered = _rendered(entry, mail)
        return InboxMail(
            listed=self._listed(entry),
            mail=mail,
            text=rendered.text,
            html=rendered.html,
            attachments=mail.attachments if entry.attachments else [],
        )

    def _listed(self, entry: MailEntry) -> MailRecord:
        try:
            subject = _rendered(entry, content.decrypt(self._box, entry)).subject
        except content.UnreadableMail:
            subject = None
        shared = {name: getattr(entry, name) for name in MailRecord.__struct_fields__ if name not in ("to", "subject")}
        return MailRecord(to=entry.to_address, subject=subject, **shared)


def _rendered(entry: MailEntry, mail: Mail) -> "Rendered":
    from deedbox.mail.templates import render

    return render(mail, attached=bool(entry.attachments))
