"""The mails of a workspace, as people look at them."""

from typing import TYPE_CHECKING

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import Instant
from deedbox.kernel.crypto import Box
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.mail import content, store
from deedbox.mail.letter import PERSONAL, Attachment, Mail
from deedbox.mail.store import Entry, MailPart, Status

if TYPE_CHECKING:
    from deedbox.mail.templates import Rendered


class ListedMail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail as a list shows it. The subject is known until the mail is sent."""

    id: str
    kind: str
    about: str | None
    to: str
    subject: str | None
    status: Status
    attempts: int
    last_error: str | None
    created_at: Instant
    tried_at: Instant | None
    sent_at: Instant | None

    @property
    def can_be_opened(self) -> bool:
        """Whether those who run the workspace may read what it says."""
        return self.status == "inbox" and self.kind not in PERSONAL


class InboxMail(msgspec.Struct, frozen=True, kw_only=True):
    """A mail that stayed here, opened: what its reader would see."""

    listed: ListedMail
    mail: Mail
    text: str
    html: str
    attachments: list[Attachment]


class Inbox:
    """Lists mails with what became of them, and opens those that stayed here because there is no mail server."""

    def __init__(self, box: Box) -> None:
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
    ) -> list[ListedMail]:
        """The workspace's mails, newest first; those that stayed here have the status `inbox`."""
        return self.part(tx, workspace_id, MailPart(limit=limit, before=before, status=status, about=about))

    def part(self, tx: Tx, workspace_id: str, wanted: MailPart) -> list[ListedMail]:
        """The workspace's mails that are wanted, newest first."""
        return [self._listed(entry) for entry in store.part(tx, workspace_id, wanted)]

    def show(self, tx: Tx, workspace_id: str, mail_id: str) -> InboxMail:
        """A mail that stayed here, as its reader would see it. What is to be sent is its reader's alone: NotFound."""
        entry = store.find(tx, workspace_id, mail_id)
        if entry is None or entry.status != "inbox" or entry.kind in PERSONAL:
            raise NotFound("The mail is not in the inbox")
        mail = content.opened(self._box, entry)
        rendered = _rendered(entry, mail)
        return InboxMail(
            listed=self._listed(entry),
            mail=mail,
            text=rendered.text,
            html=rendered.html,
            attachments=mail.attachments if entry.attachments else [],
        )

    def _listed(self, entry: Entry) -> ListedMail:
        try:
            subject = _rendered(entry, content.opened(self._box, entry)).subject
        except content.Unreadable:
            subject = None
        shared = {name: getattr(entry, name) for name in ListedMail.__struct_fields__ if name not in ("to", "subject")}
        return ListedMail(to=entry.to_address, subject=subject, **shared)


def _rendered(entry: Entry, mail: Mail) -> "Rendered":
    from deedbox.mail.templates import render

    return render(mail, attached=bool(entry.attachments))
