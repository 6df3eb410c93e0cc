"""The kinds of mail to people: one struct for each."""

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from deedbox.kernel.clock import Instant
from deedbox.kernel.mailbox import Mailbox
from deedbox.kernel.redacted import Redacted


class FromSender(msgspec.Struct, frozen=True, kw_only=True):
    """What every letter about a document says: who asks, for which company, and what it is about."""

    sender: str
    title: str
    company: str = ""
    """Empty, or the sender's own name, where no person is named."""


class Invitation(FromSender, frozen=True, kw_only=True, tag="invitation"):
    """Asks a signer to sign, or an approver to approve. `subject` and `body` are the sender's own words."""

    link: str
    sender_email: str | None = None
    subject: str | None = None
    body: str | None = None
    expires_at: Instant | None = None
    documents: list[str] = []
    """The titles of those in a packet; none where there is one document alone."""
    approve: bool = False
    passed_on_by: str | None = None
    """Who was asked before, and has passed it on."""

    @property
    def wording(self) -> str:
        return f"{self.__struct_config__.tag}{'_approve' if self.approve else ''}"


class Reminder(Invitation, frozen=True, kw_only=True, tag="reminder"):
    """The same once more."""


class CodeMail(Redacted, frozen=True, kw_only=True, tag="code"):
    """The six digits that show that a signer reads this mailbox."""

    code: str
    minutes: int
    title: str


class Enough(msgspec.Struct, frozen=True):
    """A party that is complete without the signatures of all its people."""

    party: str
    signed: int
    total: int


class RefusalNote(msgspec.Struct, frozen=True):
    """Someone who declined, while the document went on."""

    signer: str
    reason: str | None


class VerificationNote(msgspec.Struct, frozen=True):
    """By what a sealed document is known to be genuine."""

    title: str
    code: str
    link: str


class CompletionMail(FromSender, frozen=True, kw_only=True, tag="completion"):
    """Everything is sealed; the sealed files and their certificates are attached unless they are too large."""

    verifications: list[VerificationNote]
    """Of the document, or of each in a packet."""
    document_id: str = ""
    """Of the document, or of the packet."""
    link: str | None = None
    """Where whoever gets this mail can see the sealed file."""
    enough: list[Enough] = []
    """None of them where everyone has signed."""
    refusals: list[RefusalNote] = []
    """Told to the sender alone."""
    to_sender: bool = False

    @property
    def wording(self) -> str:
        if len(self.verifications) > 1:
            return "completion_packet"
        return "completion_enough" if self.enough else "completion"


class NotNeeded(FromSender, frozen=True, kw_only=True, tag="not_needed"):
    """Others of the party have signed."""

    party: str


class DeclinedMail(FromSender, frozen=True, kw_only=True, tag="declined"):
    """Someone declined, which ended the document unless it `goes_on`."""

    signer: str
    reason: str | None = None
    own: bool = False
    """Whether the reader is who declined."""
    goes_on: bool = False
    to_sender: bool = False

    @property
    def wording(self) -> str:
        if self.own:
            return "declined_own"
        return "declined_goes_on" if self.goes_on else "declined"


class Delegated(FromSender, frozen=True, kw_only=True, tag="delegated"):
    """A signer has passed it on to someone else."""

    signer: str
    other: str
    email: str
    reason: str | None = None
    own: bool = False
    """Whether the reader is who passed it on."""
    to_sender: bool = False

    @property
    def wording(self) -> str:
        return "delegated_own" if self.own else "delegated"


class VoidedMail(FromSender, frozen=True, kw_only=True, tag="voided"):
    reason: str | None = None


class Expired(FromSender, frozen=True, kw_only=True, tag="expired"):
    expired_at: Instant
    missing: list[str] = []
    """Who had not signed; told to the sender alone."""
    to_sender: bool = False


class FailedMail(FromSender, frozen=True, kw_only=True, tag="failed"):
    """Nobody was asked to sign, because the files could not be converted; to the sender alone."""

    reason: str
    to_sender: bool = True


class Test(msgspec.Struct, frozen=True, kw_only=True, tag="test"):
    """Shows that mail of this installation arrives."""

    __test__ = False

    server: str


class MemberMail(msgspec.Struct, frozen=True, kw_only=True, tag="member"):
    """Invites someone to a workspace."""

    inviter: str
    workspace: str
    link: str
    expires_at: Instant


class Reset(msgspec.Struct, frozen=True, kw_only=True, tag="reset"):
    """Lets a person choose a new password."""

    link: str
    minutes: int


Letter: TypeAlias = (
    Invitation
    | Reminder
    | CodeMail
    | CompletionMail
    | NotNeeded
    | DeclinedMail
    | Delegated
    | VoidedMail
    | Expired
    | FailedMail
    | Test
    | MemberMail
    | Reset
)
Kind: TypeAlias = Literal[
    "invitation",
    "reminder",
    "code",
    "completion",
    "not_needed",
    "declined",
    "delegated",
    "voided",
    "expired",
    "failed",
    "test",
    "member",
    "reset",
]
"""The tags of the letters."""
ACCOUNT = ("member", "reset")
"""Kinds about people's accounts, and no document."""
PERSONAL = ("code", *ACCOUNT)
"""Kinds that open an account or show who signs: they never stay here, where others of the workspace would read them."""


class MailAttachment(msgspec.Struct, frozen=True):
    """A stored file, under the name that the reader sees."""

    sha256: str
    name: str


class MailShade(msgspec.Struct, frozen=True):
    """A colour, and what is written on it."""

    accent: str
    on_accent: str


class MailLook(msgspec.Struct, frozen=True, kw_only=True):
    """In whose name a mail comes, with which logo, and in which colour on light and on dark paper."""

    name: str = "Deedbox"
    light: MailShade = MailShade("#1f5c4d", "#ffffff")
    dark: MailShade = MailShade("#5fc2a8", "#06211a")
    logo_sha256: str | None = None
    logo: bytes = b""
    """A PNG, which goes with the mail: to open one fetches nothing."""


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """One mail to one person."""

    to: Mailbox
    letter: Letter
    language: str = "en"
    time_zone: str | None = None
    """The IANA name of the reader's zone."""
    reply_to: Mailbox | None = None
    attachments: list[MailAttachment] = []
    """All of them go with the mail, or none when together they are too large for one."""
    about: str | None = None
    """The id of the document or packet that it is about."""
    bulk: bool = False
    """One of many of its kind: it leaves after all others."""
    not_after: datetime | None = None
    """When it has lost its meaning: a code that has run out is not sent any more."""
    look: MailLook = MailLook()
    """Put on when it leaves: until then the workspace may change it."""

    @property
    def kind(self) -> str:
        return str(self.letter.__struct_config__.tag)

    @property
    def wording(self) -> str:
        """The stem of the names of its subject and its first sentence."""
        return str(getattr(self.letter, "wording", self.kind))

    @property
    def secrets(self) -> list[str]:
        """What must not appear in a log or an error."""
        found = [getattr(self.letter, name, None) for name in ("link", "code")]
        return [secret for secret in found if secret]
