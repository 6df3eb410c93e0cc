# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `packets`."""

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from deedbox.client.records.documents import (
    Message,
    Reminders,
)
from deedbox.client.requests.documents import (
    KnownParty,
    ListedSigner,
    LoneSigner,
    NewField,
    NewFile,
    NewParty,
    UnlockedFile,
)


class NewPacketDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Send exactly one of `file`, `files` and `template_id`. Send at least one of `title` and `template_id`. Do
    not send `fields` with `template_id`."""

    title: str | None = None
    """What the document is called, in mails and on the certificates; that of the template unless given."""
    template_id: str | None = None
    """The template that it is made from, instead of files: its roles are the parties of the packet with their
    names."""
    fields: list[NewField] | None = None
    """What is filled in, where and by whom; whoever has no field in it reads it, and with `[]` that is everyone.
    Without `fields`, everyone signs on its last page who has no signature field by a text tag."""
    values: dict[str, str] = {}
    """What stands in fields and text tags until their signers fill them, by the labels of these."""
    metadata: dict[str, str] = {}
    """Your own names and values for the document: at most 50."""
    external_id: str | None = None
    """Your own id for the document, by which it can be found."""
    file: NewFile | None = None
    """The one file of the document."""
    files: list[NewFile] = []
    """The files of the document, if it has several; they are signed as one."""


class NewPacket(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A new packet in JSON; its files come with it, or as parts of a form. Send `parties` or `signers`, not
    both."""

    title: str
    """What the packet is called, in mails and on its certificate."""
    documents: list[NewPacketDocument]
    """What is signed together, in the order in which it is shown."""
    parties: list[NewParty] = []
    """Who signs all of it, and in which order."""
    signers: list[LoneSigner] = []
    """Each a party of its own; instead of parties."""
    message: Message | None = None
    """What the invitation says, instead of the usual words."""
    metadata: dict[str, str] = {}
    """Your own names and values: at most 50."""
    external_id: str | None = None
    """Your own id for it, by which it can be found."""
    expires_at: datetime | str | None = None
    """When it can no longer be signed; it must lie ahead."""
    reminders: Reminders | None = None
    """When people are reminded; never unless given."""
    language: str = "en"
    """The language of the certificates, and of whoever has none of their own."""
    require_timestamp: bool = False
    """Complete it only with time-stamps of the authority that the server's settings name."""
    signed_input: Literal["flatten", "refuse"] = "refuse"
    """What to do with a PDF that is already signed: refuse it, or check and name its signatures and keep only how
    they look."""
    send: bool = False
    """Send it at once, or as soon as its files are converted."""


class PacketChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is given is changed; the rest stays. After sending, only expiry, reminders, metadata and addresses
    are."""

    title: str | UnsetType = UNSET
    """What it is called, in mails and on its certificate."""
    message: Message | UnsetType | None = UNSET
    """What the invitation says; null: the usual words."""
    metadata: dict[str, str] | UnsetType = UNSET
    """Your own names and values, in place of all there were."""
    expires_at: datetime | str | UnsetType | None = UNSET
    """When it can no longer be signed, in place of any expires_after_hours; null: never."""
    expires_after_hours: int | UnsetType | None = UNSET
    """How long a draft can be signed, from sending, in place of any expires_at; null: for ever."""
    reminders: Reminders | UnsetType | None = UNSET
    """When people are reminded; null: never."""
    parties: list[KnownParty] | UnsetType = UNSET
    """Take the place of all parties of a draft; of a packet that was sent, only e-mail addresses may differ."""
    signers: list[ListedSigner] = []
    """Without ids: who signs, each a party of its own, in place of all parties of a draft, as POST takes them.
    With ids: corrected e-mail addresses of signers who are known; after sending, this needs documents:send."""
    files: list[UnlockedFile] = []
    """The passwords of locked files, which other parties of a draft make necessary again."""
