# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `templates`."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from deedbox.client.records.documents import Message, Reminders
from deedbox.client.records.templates import Role, TemplateField
from deedbox.client.requests.documents import NewField, NewFile


class NewTemplate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A new template in JSON; its files come with it, or as parts of a form. Send exactly one of `file`, `files`
    and `document_id`. Do not send `roles` or `fields` with `document_id`."""

    name: str
    """What it is called, and each document made from it that is given no title."""
    document_id: str | None = None
    """A document whose files, parties and fields it takes over; instead of files."""
    roles: list[Role] = []
    """Who signs, and in which order. Those that text tags or form fields name, unless given."""
    fields: list[NewField] = []
    """What is filled in, and where; `party` is the name of a role."""
    message: Message | None = None
    """What the invitation says, instead of the usual words."""
    reminders: Reminders | None = None
    """When people are reminded; never unless given."""
    expires_after_hours: int | None = None
    """How long a document can be signed, from sending; for ever unless given."""
    metadata: dict[str, str] = {}
    """Your own names and values, which each document gets: at most 50."""
    language: str | None = None
    """The language of the certificate, and of whoever has none of their own: that of the document, else `en`."""
    signed_input: Literal["flatten", "refuse"] = "refuse"
    """What to do with a PDF that is already signed: refuse it, or check and name its signatures and keep only how
    they look."""
    file: NewFile | None = None
    """The one file of the template."""
    files: list[NewFile] = []
    """The files of the template, if it has several; they are signed as one."""


class TemplateChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is given is another in the next version; the rest stays."""

    name: str | UnsetType = UNSET
    """What it is called."""
    roles: list[Role] | UnsetType = UNSET
    """Take the place of all roles."""
    fields: list[TemplateField] | UnsetType = UNSET
    """Take the place of all fields."""
    message: Message | UnsetType | None = UNSET
    """What the invitation says; null: the usual words."""
    reminders: Reminders | UnsetType | None = UNSET
    """When people are reminded; null: never."""
    expires_after_hours: int | UnsetType | None = UNSET
    """How long a document can be signed, from sending; null: for ever."""
    metadata: dict[str, str] | UnsetType = UNSET
    """Your own names and values, in place of all there were."""
    language: str | UnsetType = UNSET
    """The language of the certificate, and of whoever has none of their own."""
    signed_input: Literal["flatten", "refuse"] | UnsetType = UNSET
    """What to do with a PDF that is already signed."""
    files: list[NewFile] | UnsetType = UNSET
    """Take the place of all files, and with them the fields that those brought along."""
