# Written by scripts/client.py from the OpenAPI document: change it there.
"""Records of `mails`."""

from msgspec import Struct


class Mail(Struct, frozen=True, kw_only=True):
    """A mail as lists show it: never what it says, which its reader alone may know."""

    id: str
    """The mail's id."""
    kind: str
    """What it is for."""
    about: str | None
    """The document or packet that it is about; null where it is about none."""
    to: str
    """The address that it goes to."""
    subject: str | None
    """Its subject; null once it is sent, when what it said is forgotten."""
    status: str
    """What became of it; `inbox`: it stays here, because the server has no mail server."""
    attempts: int
    """How often it was tried to send it."""
    last_error: str | None
    """Why the last attempt failed; null if it did not."""
    created_at: str
    """When it was written."""
    tried_at: str | None
    """When it was last tried; null until then."""
    sent_at: str | None
    """When the mail server took it; null until then."""


class MailPage(Struct, frozen=True, kw_only=True):
    mails: list[Mail]
    """The mails of this page."""
    count: int
    """How many are in this answer."""
    has_more: bool
    """Whether there are more."""
    next_cursor: str | None
    """Give it as `cursor` to get the next page; null on the last one."""
