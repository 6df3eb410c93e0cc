"""Hands a mail to a mail server: one connection, one dialogue (RFC 5321), every step with a deadline."""

import asyncio
import base64
import re
import ssl
from typing import NamedTuple

from deedbox.kernel.egress import ANYWHERE, BadAnswer, EgressFailed, Resolve, Wire, dial, system_resolve
from deedbox.kernel.errors import ServiceError
from deedbox.kernel.log import redact
from deedbox.kernel.mailbox import one_line
from deedbox.kernel.smtp_url import MailServer
from deedbox.mail import limits
from deedbox.mail.message import SmtpEnvelope

_REPLY = re.compile(rb"(\d{3})([ -]?)(.*)", re.DOTALL)
_LINE_END = re.compile(rb"\r\n|\r|\n")


class SmtpRefused(ServiceError):
    """The mail server answered no. `permanent`: it will say so again for this mail."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


class TooLargeForServer(SmtpRefused):
    """The message is larger than this server takes."""


class Reply(NamedTuple):
    code: int
    lines: list[str]

    def __str__(self) -> str:
        # The server's words go into the log and before people's eyes.
        return redact(one_line(f"{self.code} {' '.join(self.lines)}"))[: limits.MAIL_ERROR_CHARS]


class Patience(NamedTuple):
    whole: float = limits.SMTP_SECONDS
    reply: float = limits.SMTP_REPLY_SECONDS


async def hand_in(
    server: MailServer,
    envelope: SmtpEnvelope | None,
    *,
    tls: ssl.SSLContext | None,
    hello: str,
    resolve: Resolve = system_resolve,
    patience: Patience | None = None,
) -> str:
    """What the server said when it took the mail. Without an envelope it is only greeted and logged in to.

    Without `tls` the connection stays plain. The server is the operator's choice, so it may be on any network."""
    waits = patience or Patience()
    dialling = dial(server.host, server.port, allow=ANYWHERE, resolve=resolve, seconds=waits.whole)
    async with dialling as wire:
        dialogue = _Dialogue(wire, waits.reply)
        await dialogue.open(server, tls, hello)
        answer = await dialogue.greet(hello) if envelope is None else await dialogue.transfer(envelope)
        await dialogue.leave()
        return str(answer)


class _Dialogue:
    def __init__(self, wire: Wire, patience: float) -> None:
        self._wire = wire
        self._patience = patience
        self._unread = b""
        self._offers: dict[str, str] = {}

    async def open(self, server: MailServer, tls: ssl.SSLContext | None, hello: str) -> None:
        """Greeted, encrypted unless there is no `tls`, and logged in when the server has a user."""
        if tls is not None and server.scheme == "smtps":
            await self._wire.secure(tls, self._patience)
        self._demand(await self._reply(), 220, "the connection")
        await self.greet(hello)
        if tls is not None and server.scheme == "smtp":
            await self._start_tls(tls)
            # What was offered before the encryption may have come from anybody.
            await self.greet(hello)
        if server.user is not None and server.password is not None:
            await self._log_in(server.user, server.password.reveal())

    async def greet(self, hello: str) -> Reply:
        reply = self._demand(await self._ask(f"EHLO {hello}"), 250, "the greeting")
        words = [line.strip().partition(" ") for line in reply.lines[1:]]
        self._offers = {name.upper(): rest for name, _, rest in words}
        return reply

    async def _start_tls(self, tls: ssl.SSLContext) -> None:
        if "STARTTLS" not in self._offers:
            raise SmtpRefused(
                f"The mail server {self._wire.host} offers no STARTTLS, so nothing was sent. Use smtps:// if it speaks"
                " TLS from the start, or DEEDBOX_SMTP_PLAIN=true on a network that you trust."
            )
        self._demand(await self._ask("STARTTLS"), 220, "STARTTLS")
        if self._unread:
            raise BadAnswer(f"The mail server {self._wire.host} sent more than its answer before the encryption")
        await self._wire.secure(tls, self._patience)

    async def _log_in(self, user: str, password: str) -> None:
        ways = self._offers.get("AUTH", "").upper().split()
        if "PLAIN" in ways:
            both = _base64("\0".join(("", user, password)))
            answer = await self._ask(f"AUTH PLAIN {both}")
        elif "LOGIN" in ways:
            self._demand(await self._ask("AUTH LOGIN"), 334, "the login")
            self._demand(await self._ask(_base64(user)), 334, "the user name")
            answer = await self._ask(_base64(password))
        else:
            raise SmtpRefused(f"The mail server {self._wire.host} offers no login by user name and password")
        if answer.code != 235:
            words = str(answer).replace(password, "…").replace(_base64(password), "…")
            raise SmtpRefused(f"The mail server {self._wire.host} refused the login of DEEDBOX_SMTP_URL: {words}")

    async def transfer(self, envelope: SmtpEnvelope) -> Reply:
        """The server's word that the mail is now in its care."""
        data = await asyncio.to_thread(_on_the_wire, envelope.message)
        self._check_size(len(data))
        if envelope.international and "SMTPUTF8" not in self._offers:
            raise SmtpRefused(
                f"The mail server {self._wire.host} takes no address with letters beyond ASCII before the @",
                permanent=True,
            )
        size = f" SIZE={len(data)}" if "SIZE" in self._offers else ""
        letters = " SMTPUTF8" if envelope.international else ""
        sender = await self._ask(f"MAIL FROM:<{envelope.sender}>{size}{letters}")
        if sender.code == 552:
            raise TooLargeForServer(f"The mail server {self._wire.host} refused the size: {sender}", permanent=True)
        self._demand(sender, 250, "the sender of DEEDBOX_MAIL_FROM")
        recipient = await self._ask(f"RCPT TO:<{envelope.recipient}>")
        self._demand(recipient, (250, 251, 252), "the recipient", permanent=recipient.code >= 500)
        self._demand(await self._ask("DATA"), 354, "the mail")
        await self._wire.write(data, self._patience)
        try:
            taken = await self._reply()
        except EgressFailed as error:
            unknown = "before it confirmed the mail: it is sent again under the same Message-ID"
            raise type(error)(f"{error.message}, {unknown}") from error
        return self._demand(taken, 250, "the mail", permanent=taken.code >= 500)

    def _check_size(self, size: int) -> None:
        most = self._offers.get("SIZE", "")
        if most.isascii() and most.isdigit() and 0 < int(most) < size:
            raise TooLargeForServer(
                f"The mail has {size} bytes, and the mail server {self._wire.host} takes {most}", permanent=True
            )

    async def leave(self) -> None:
        """Says goodbye; what becomes of it changes nothing."""
        try:
            await self._wire.write(b"QUIT\r\n", self._patience)
        except EgressFailed:
            return

    async def _ask(self, line: str) -> Reply:
        await self._wire.write(f"{line}\r\n".encode(), self._patience)
        return await self._reply()

    async def _reply(self) -> Reply:
        """The next reply, all its lines; for one that never ends there is a bound."""
        lines: list[str] = []
        size = 0
        while True:
            line = await self._line()
            size += len(line)
            found = _REPLY.fullmatch(line)
            if found is None or size > limits.SMTP_REPLY_BYTES:
                raise BadAnswer(f"The host {self._wire.host} does not answer as a mail server")
            lines.append(found[3].decode("utf-8", "replace"))
            if found[2] != b"-":
                return Reply(int(found[1]), lines)

    async def _line(self) -> bytes:
        while b"\n" not in self._unread:
            if len(self._unread) > limits.SMTP_REPLY_BYTES:
                raise BadAnswer(f"The host {self._wire.host} does not answer as a mail server")
            more = await self._wire.read(self._patience)
            if not more:
                raise BadAnswer(f"The mail server {self._wire.host} closed the connection")
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line.rstrip(b"\r")

    def _demand(self, reply: Reply, good: int | tuple[int, ...], subject: str, *, permanent: bool = False) -> Reply:
        if reply.code not in (good if isinstance(good, tuple) else (good,)):
            raise SmtpRefused(f"The mail server {self._wire.host} refused {subject}: {reply}", permanent=permanent)
        return reply


def _on_the_wire(message: bytes) -> bytes:
    """The message with every line end as CRLF and every leading dot doubled, and the dot that ends it.

    A lone CR or LF would let some servers see the end of the mail where others do not."""
    lines = _LINE_END.split(message.removesuffix(b"\r\n"))
    return b"\r\n".join(b"." + line if line.startswith(b".") else line for line in lines) + b"\r\n.\r\n"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
