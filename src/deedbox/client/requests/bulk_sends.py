# Written by scripts/client.py from the OpenAPI document: change it there.
"""Requests of `bulk sends`."""

from datetime import datetime

from msgspec import Struct

from deedbox.client.records.documents import (
    Message,
    Reminders,
)
from deedbox.client.requests.documents import (
    NewSigner,
)


class NewRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One document of a bulk send."""

    key: str | None = None
    """Your own name for the row: under one key no bulk send sends twice. Made of what the row says unless
    given."""
    roles: dict[str, list[NewSigner] | NewSigner] = {}
    """Who has each role of the template: a person, or a list of people."""
    values: dict[str, str] = {}
    """What stands in fields, by their labels."""
    metadata: dict[str, str] = {}
    """Your own names and values of the document."""
    external_id: str | None = None
    """Your own id of the document."""
    language: str | None = None
    """The language of the document, and of whoever has none of their own."""


class NewBulkSend(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Send `rows`, unless they come as a CSV file in a form. Do not send `columns` with `rows`: they belong to a
    CSV file."""

    title: str | None = None
    """What each document is called; the template's name unless given."""
    message: Message | None = None
    """What the invitations say, instead of the template's words."""
    language: str | None = None
    """The language of rows that name none; the template's unless given."""
    expires_at: datetime | str | None = None
    """When the documents can no longer be signed; it must lie ahead when each is sent."""
    reminders: Reminders | None = None
    """When people are reminded, instead of what the template says."""
    require_timestamp: bool = False
    """Complete the documents only with a time-stamp of the authority that the server's settings name."""
    name: str
    """What it is called. Rows sent before under this name, from the same template, are not sent again."""
    template_id: str
    """The template of which the documents are made."""
    rows_per_minute: int | None = None
    """How many rows are sent in a minute at most, for mail servers that throttle; as fast as it goes unless
    given."""
    dry_run: bool = False
    """Only check every row, and report what is wrong; nothing is sent or kept."""
    columns: dict[str, str | None] = {}
    """With a CSV file: what its headings mean, such as `{"E-mail": "Tenant.email"}`; null for a column to leave
    out."""
    rows: list[NewRow] = []
    """One document each; or they come as a CSV file in a form."""
