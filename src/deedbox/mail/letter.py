"""The kinds of mail to people: one struct for each."""

from datetime import datetime
from typing import TypeAlias

import msgspec

from deedbox.kernel.clock import Instant
from deedbox.kernel.mailbox import Mailbox


class Invitation(msgspec.Struct, frozen=True, kw_only=True, tag="invitation"):
    """Asks a signer to sign. `subject` and `body` are the sender's own words."""

    sender: str
    title: str
    link: str
    subject: str | None = None
    body: str | None = None
    expires_at: Instant | None = None


class Reminder(Invitation, frozen=True, kw_only=True, tag="reminder"):
    """The same once more."""


class Code(msgspec.Struct, frozen=True, kw_only=True, tag="code"):
    """The six digits that show that a signer reads this mailbox."""

    code: str
    minutes: int
    title: str


class Completion(msgspec.Struct, frozen=True, kw_only=True, tag="completion"):
    """Everyone has signed; the sealed file is attached unless it is too large."""

    sender: str
    title: str
    verification_link: str
    verification_code: str
    link: str | None = None
    """Where the sealed file can be downloaded by whoever gets this mail."""


class Declined(msgspec.Struct, frozen=True, kw_only=True, tag="declined"):
    signer: str
    title: str
    reason: str | None = None


class Voided(msgspec.Struct, frozen=True, kw_only=True, tag="voided"):
    sender: str
    title: str
    reason: str | None = None


class Expired(msgspec.Struct, frozen=True, kw_only=True, tag="expired"):
    title: str
    expired_at: Instant


class Test(msgspec.Struct, frozen=True, kw_only=True, tag="test"):
    """Shows that mail of this installation arrives."""

    __test__ = False

    server: str


Letter: TypeAlias = Invitation | Reminder | Code | Completion | Declined | Voided | Expired | Test


class Attachment(msgspec.Struct, frozen=True):
    """A stored file, under the name that the reader sees."""

    sha256: str
    name: str


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """One mail to one person."""

    to: Mailbox
    letter: Letter
    language: str = "en"
    reply_to: Mailbox | None = None
    attachment: Attachment | None = None
    about: str | None = None
    """The id of the document or packet that it is about."""
    not_after: datetime | None = None
    """When it has lost its meaning: a code that has run out is not sent any more."""

    @property
    def kind(self) -> str:
        return str(self.letter.__struct_config__.tag)

    @property
    def secrets(self) -> list[str]:
        """What must not appear in a log or an error."""
        found = [getattr(self.letter, name, None) for name in ("link", "code")]
        return [secret for secret in found if secret]
