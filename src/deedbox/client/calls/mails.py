# Written by scripts/client.py from the OpenAPI document: change it there.
"""The log of mails to signers and senders, without what they say."""

from collections.abc import AsyncIterator, Iterator
from typing import Literal, TypedDict, Unpack

from deedbox.client.call import Call, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.records.mails import Mail, MailPage


class ListMailsQuery(TypedDict, total=False):
    """What `list_mails` can be asked for."""

    limit: int
    """How many to show at most."""
    status: Literal["failed", "inbox", "queued", "sent"] | list[Literal["failed", "inbox", "queued", "sent"]]
    """Mails of this status; of several, if repeated."""
    kind: Literal[
        "code",
        "completion",
        "declined",
        "delegated",
        "expired",
        "failed",
        "invitation",
        "member",
        "not_needed",
        "reminder",
        "reset",
        "test",
        "voided",
    ]
    """Only mails that are for this."""
    about: str
    """Only mails about this document or packet."""
    to: str
    """Only mails to addresses that contain this."""


class MailsCalls:
    """The log of mails to signers and senders, without what they say."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListMailsQuery]) -> Iterator[Mail]:
        """The mails to signers and senders, newest first, with what became of each.

        What a mail says, its link or code, is never shown. Mails about accounts, `member` and `reset`, are listed
        with `workspace:read` only."""
        return self._connection.pages(Call("GET", "/api/v1/mails", query=query), MailPage, lambda page: page.mails)

    def get(self, mail_id: str) -> Mail:
        """What became of one mail."""
        return self._connection.answer(Call("GET", f"/api/v1/mails/{part(mail_id)}"), Mail)

    def resend(self, mail_id: str, *, idempotency_key: str | None = None) -> Mail:
        """Send a mail that could not be sent once more.

        Only a mail whose status is `failed`; any other is 409."""
        return self._connection.answer(
            Call("POST", f"/api/v1/mails/{part(mail_id)}/resend", headers=once(idempotency_key)), Mail
        )


class AsyncMailsCalls:
    """The log of mails to signers and senders, without what they say."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def list(self, **query: Unpack[ListMailsQuery]) -> AsyncIterator[Mail]:
        """The mails to signers and senders, newest first, with what became of each.

        What a mail says, its link or code, is never shown. Mails about accounts, `member` and `reset`, are listed
        with `workspace:read` only."""
        return self._connection.pages(Call("GET", "/api/v1/mails", query=query), MailPage, lambda page: page.mails)

    async def get(self, mail_id: str) -> Mail:
        """What became of one mail."""
        return await self._connection.answer(Call("GET", f"/api/v1/mails/{part(mail_id)}"), Mail)

    async def resend(self, mail_id: str, *, idempotency_key: str | None = None) -> Mail:
        """Send a mail that could not be sent once more.

        Only a mail whose status is `failed`; any other is 409."""
        return await self._connection.answer(
            Call("POST", f"/api/v1/mails/{part(mail_id)}/resend", headers=once(idempotency_key)), Mail
        )
