"""The mail server of the settings, and this installation as it presents itself there."""

import asyncio
import functools
import ssl
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from deedbox import i18n
from deedbox.kernel import limits
from deedbox.kernel.errors import ServiceError, SetupError
from deedbox.kernel.ids import new_id
from deedbox.kernel.mailbox import Mailbox, named_mailbox
from deedbox.kernel.settings import Settings
from deedbox.kernel.smtp_url import MailServer, mail_server
from deedbox.mail.letter import Mail, Test

if TYPE_CHECKING:
    from deedbox.mail.message import SmtpEnvelope
    from deedbox.mail.smtp import Patience

Files: TypeAlias = Sequence[tuple[str, bytes]]
_NOBODY = Mailbox("deedbox@localhost", "Deedbox")


class MailFailed(ServiceError):
    """This attempt did not succeed; the next may."""


class Relay:
    """Takes mail for everyone; without a mail server in the settings there is none to take it."""

    def __init__(self, settings: Settings, patience: "Patience | None" = None) -> None:
        self._settings = settings
        self._patience = patience
        self.server = mail_server(settings.smtp_url) if settings.smtp_url else None
        given = named_mailbox(settings.mail_from) if settings.mail_from else _NOBODY
        self._sender = msgspec.structs.replace(given, name=given.name or _NOBODY.name)

    def message_id(self, mail_id: str) -> str:
        return f"<{mail_id}@{self._sender.domain}>"

    def demand_server(self) -> MailServer:
        """The mail server; SetupError if there is none."""
        if self.server is None:
            raise SetupError(
                "No mail server is set: mail stays in the inbox of the dashboard.",
                "Set DEEDBOX_SMTP_URL and DEEDBOX_MAIL_FROM.",
            )
        return self.server

    async def send(self, mail: Mail, message_id: str, at: datetime, files: Files = ()) -> str:
        """What the server said when it took the mail; `files` are the names and the contents of PDFs to attach."""
        return await self._hand_in(await asyncio.to_thread(self._composed, mail, message_id, at, files))

    async def send_test(self, to: Mailbox, *, now: datetime) -> tuple[str, str]:
        """Sends a test mail past the queue: its Message-ID, and what the server said when it took it."""
        mail = Mail(to=to, letter=Test(server=str(self.demand_server())))
        message_id = self.message_id(new_id("mail", now))
        return message_id, await self.send(mail, message_id, now)

    async def check(self) -> str:
        """What the server answers to a greeting and the login; nothing is sent."""
        from deedbox.mail.smtp import Patience

        return await self._hand_in(None, Patience(limits.SMTP_CHECK_SECONDS, limits.SMTP_CHECK_SECONDS))

    def _composed(self, mail: Mail, message_id: str, at: datetime, files: Files) -> "SmtpEnvelope":
        from deedbox.mail.message import MessageDraft, compose
        from deedbox.mail.templates import render

        return compose(
            MessageDraft(
                message_id=message_id,
                sender=self._sender,
                to=mail.to,
                reply_to=mail.reply_to,
                written_at=at,
                language=i18n.known(mail.language),
                rendered=render(mail, attached=bool(files)),
                files=files,
                logo=mail.look.logo,
            )
        )

    async def _hand_in(self, envelope: "SmtpEnvelope | None", patience: "Patience | None" = None) -> str:
        from deedbox.mail.smtp import hand_in

        tls = None if self._settings.smtp_plain else self._tls
        return await hand_in(
            self.demand_server(),
            envelope,
            tls=tls,
            hello=self._sender.domain,
            patience=patience or self._patience,
        )

    @functools.cached_property
    def _tls(self) -> ssl.SSLContext:
        file = self._settings.smtp_ca_file
        try:
            return ssl.create_default_context(cafile=file)
        except OSError as error:
            raise MailFailed(f"DEEDBOX_SMTP_CA_FILE ({file}) cannot be used: {error.strerror or error}") from error
