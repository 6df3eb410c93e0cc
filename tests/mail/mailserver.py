"""Real mail servers on loopback: one that works, and ones that do not."""

import asyncio
import datetime as dt
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "deedbox", "p@ss/wörd"


# ruff: noqa: ARG002 (aiosmtpd names the arguments)
class Mailroom:
    """What a mail server took, and how it answers; `answers` gives a reply per command, in place of yes."""

    def __init__(self) -> None:
        self.taken: list[Envelope] = []
        self.answers: dict[str, list[str]] = {}
        self.logins: list[tuple[str, str]] = []
        self.encrypted: list[bool] = []
        self.port = 0

    def _answer(self, command: str, good: str) -> str:
        waiting = self.answers.get(command)
        return waiting.pop(0) if waiting else good

    async def handle_MAIL(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return self._answer("MAIL", "250 OK")

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        answer = self._answer("RCPT", "250 OK")
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        self.encrypted.append(session.ssl is not None or server.transport.get_extra_info("sslcontext") is not None)
        answer = self._answer("DATA", "250 taken as 4711")
        if answer.startswith("250"):
            self.taken.append(envelope)
        return answer

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: LoginPassword) -> AuthResult:
        login, password = data.login.decode(), data.password.decode()
        self.logins.append((mechanism, login))
        return AuthResult(success=(login, password) == (USER, PASSWORD), handled=False)


@asynccontextmanager
async def mailroom(
    *,
    starttls: ssl.SSLContext | None = None,
    implicit: ssl.SSLContext | None = None,
    login: bool = False,
    without: Sequence[str] = (),
    size: int = 33554432,
    utf8: bool = True,
) -> AsyncIterator[Mailroom]:
    room = Mailroom()

    def protocol() -> SMTP:
        return SMTP(
            room,
            data_size_limit=size,
            enable_SMTPUTF8=utf8,
            tls_context=starttls,
            require_starttls=starttls is not None,
            authenticator=room.authenticate if login else None,
            auth_required=login,
            auth_require_tls=starttls is not None,
            auth_exclude_mechanism=list(without),
            hostname="mail.test",
            loop=asyncio.get_running_loop(),
        )

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, ssl=implicit)
    room.port = server.sockets[0].getsockname()[1]
    try:
        yield room
    finally:
        server.close()


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def scripted(serve: Serve) -> AsyncIterator[int]:
    """The port of a server that does just this with each connection."""

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(once, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def saying(*replies: bytes, then: str = "close") -> Serve:
    """Sends the first reply at once, and one more for each line it gets; then closes, or falls silent."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number, reply in enumerate(replies):
            if number:
                await reader.readline()
            writer.write(reply)
            await writer.drain()
        if then == "stall":
            # Reads on, so that it is the answer that is missing and not the room for the question.
            while await reader.read(65536):
                pass

    return serve


def certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's context with a throw-away certificate for loopback, and the file that trusts just this one."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail.test")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36500))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "mail-server.pem").write_bytes(pem + secret)
    (folder / "mail-ca.pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "mail-server.pem")
    return context, folder / "mail-ca.pem"
