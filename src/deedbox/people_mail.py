"""Mail to those who run a workspace: here accounts meet mail, and neither knows the other."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from deedbox.accounts import people, workspaces
from deedbox.accounts.caller import Caller
from deedbox.accounts.members import invitations
from deedbox.accounts.members import store as members_store
from deedbox.accounts.members.invitations import NewInvitation
from deedbox.accounts.members.members import MemberRecord
from deedbox.kernel import limits
from deedbox.kernel.clock import Instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import is_id
from deedbox.kernel.mailbox import mailbox

if TYPE_CHECKING:
    from deedbox.mail import Letter, Mailer


class Sent(NamedTuple):
    """An invitation as it was made."""

    record: MemberRecord
    link: Secret
    mailed: bool


class PeopleMail:
    """Writes each mail in the transaction of the change that it tells of, where there is a server to take it."""

    def __init__(self, mailer: Callable[[], "Mailer"], address: Callable[[], str]) -> None:
        self._mailer = mailer
        self._address = address

    @property
    def delivers(self) -> bool:
        return self._mailer().delivers

    def invite(self, tx: Tx, caller: Caller, new: NewInvitation, *, now: datetime) -> Sent:
        """Makes an invitation, and mails its link where an address is given."""
        from deedbox.mail import MemberMail

        record, token = invitations.make(tx, caller, new, now=now)
        link = f"{self._address()}/join/{token.reveal()}"
        if not record.email or not self.delivers:
            return Sent(record, Secret(link), mailed=False)
        workspace = workspaces.find(tx, caller.workspace_id).name
        inviter = caller.name if is_id(caller.id, "per") and caller.name != people.UNNAMED else workspace
        expires = Instant(record.expires_at or "")
        letter = MemberMail(inviter=inviter, workspace=workspace, link=link, expires_at=expires)
        self._send(tx, caller.workspace_id, record.email, letter, now)
        return Sent(record, Secret(link), mailed=True)

    def reset(self, tx: Tx, email: str, language: str, *, now: datetime) -> None:
        """Mails a link for a new password to who has this address, if anybody does."""
        from deedbox.mail import Reset

        found = members_store.person(tx, email)
        workspace = members_store.workspace_of(tx, found[0]) if found else None
        if found is None or workspace is None:
            return
        token = people.reset_link(tx, found[0], now=now)
        link = f"{self._address()}/login/reset/{token.reveal()}"
        letter = Reset(link=link, minutes=limits.RESET_MINUTES)
        self._send(tx, workspace, email, letter, now, language)

    def _send(
        self, tx: Tx, workspace_id: str, email: str, letter: "Letter", now: datetime, language: str = "en"
    ) -> None:
        from deedbox.mail import Mail

        late = now + timedelta(minutes=limits.RESET_MINUTES) if letter.__struct_config__.tag == "reset" else None
        mail = Mail(to=mailbox(email), letter=letter, language=language, not_after=late)
        self._mailer().queue(tx, workspace_id, mail, now=now)
