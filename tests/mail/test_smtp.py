"""The dialogue with a mail server: encrypted or not at all, and over within its time whatever the server does."""

import asyncio
import email
import os
import ssl
from pathlib import Path

import pytest

from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.egress import BadAnswer, CannotConnect, EgressFailed, TookTooLong
from deedbox.kernel.smtp_url import MailServer
from deedbox.mail.message import SmtpEnvelope
from deedbox.mail.smtp import Patience, SmtpRefused, TooLargeForServer, hand_in
from tests.mail.mailserver import PASSWORD, USER, certificate, mailroom, saying, scripted

pytestmark = pytest.mark.anyio

MESSAGE = b"Subject: hello\r\n\r\n.leading dot\r\n..two\r\n"
LETTER = SmtpEnvelope("sign@example.com", "reader@example.com", MESSAGE, False)
EHLO = b"250-mail.test\r\n250 SIZE 1000000\r\n"


def server(port: int, scheme: str = "smtp", *, login: bool = False, password: str = PASSWORD) -> MailServer:
    return MailServer(scheme, "127.0.0.1", port, *((USER, Secret(password)) if login else ()))


async def hand(
    to: MailServer,
    envelope: SmtpEnvelope | None = LETTER,
    tls: ssl.SSLContext | None = None,
    *,
    whole: float = 20,
    reply: float = 10,
) -> str:
    return await hand_in(to, envelope, tls=tls, hello="example.com", patience=Patience(whole, reply))


@pytest.fixture
def trusted(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's context and a client's that trusts it."""
    context, ca = certificate(tmp_path)
    return context, ssl.create_default_context(cafile=ca)


async def test_a_mail_is_handed_in_byte_for_byte() -> None:
    async with mailroom() as room:
        answer = await hand(server(room.port))
    assert answer == "250 taken as 4711"
    (taken,) = room.taken
    assert (taken.mail_from, taken.rcpt_tos) == ("sign@example.com", ["reader@example.com"])
    assert taken.content == MESSAGE
    assert f"SIZE={len(MESSAGE) + 5}" in taken.mail_options


async def test_a_megabyte_of_anything_arrives_byte_for_byte() -> None:
    lines = os.urandom(1_000_000).replace(b"\r", b".").replace(b"\n", b"\r\n.").split(b"\r\n")
    message = b"\r\n".join(line[i : i + 900] for line in lines for i in range(0, max(len(line), 1), 900)) + b"\r\n"
    async with mailroom() as room:
        await hand(server(room.port), SmtpEnvelope("a@b.example", "c@d.example", message, False))
    assert room.taken[0].content == message


async def test_a_lone_line_feed_cannot_end_the_mail() -> None:
    smuggled = b"Subject: x\r\n\r\none\n.\nMAIL FROM:<thief@example.com>\r.\rtwo\r\n"
    async with mailroom() as room:
        await hand(server(room.port), SmtpEnvelope("a@b.example", "c@d.example", smuggled, False))
    (taken,) = room.taken
    assert isinstance(taken.content, bytes)
    assert taken.content.split(b"\r\n")[2:] == [b"one", b".", b"MAIL FROM:<thief@example.com>", b".", b"two", b""]


async def test_starttls_encrypts_and_checks_the_certificate(trusted: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    context, trusting = trusted
    async with mailroom(starttls=context) as room:
        await hand(server(room.port), tls=trusting)
        with pytest.raises(CannotConnect, match="TLS handshake"):
            await hand(server(room.port), tls=ssl.create_default_context())
    assert room.encrypted == [True]


async def test_implicit_tls_encrypts_and_checks_the_certificate(trusted: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    context, trusting = trusted
    async with mailroom(implicit=context) as room:
        await hand(server(room.port, "smtps"), tls=trusting)
        with pytest.raises(CannotConnect, match="TLS handshake"):
            await hand(server(room.port, "smtps"), tls=ssl.create_default_context())
    assert room.encrypted == [True]


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
async def test_a_server_without_starttls_gets_neither_password_nor_mail() -> None:
    async with mailroom(login=True) as room:
        with pytest.raises(SmtpRefused, match="offers no STARTTLS") as refused:
            await hand(server(room.port, login=True), tls=ssl.create_default_context())
    assert not refused.value.permanent
    assert (room.logins, room.taken) == ([], [])


async def test_words_smuggled_in_before_the_encryption_are_noticed() -> None:
    early = saying(b"220 x\r\n", b"250-x\r\n250 STARTTLS\r\n", b"220 go\r\n250 AUTH PLAIN\r\n", then="stall")
    async with scripted(early) as port:
        with pytest.raises(BadAnswer, match="before the encryption"):
            await hand(server(port), tls=ssl.create_default_context())


@pytest.mark.parametrize(("without", "way"), [((), "PLAIN"), (("PLAIN",), "LOGIN")])
async def test_a_login_by_either_way(
    trusted: tuple[ssl.SSLContext, ssl.SSLContext], without: tuple[str, ...], way: str
) -> None:
    context, trusting = trusted
    async with mailroom(starttls=context, login=True, without=without) as room:
        await hand(server(room.port, login=True), tls=trusting)
    assert room.logins == [(way, USER)]
    assert len(room.taken) == 1


async def test_a_refused_login_is_named_without_the_password(trusted: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    context, trusting = trusted
    async with mailroom(starttls=context, login=True) as room:
        with pytest.raises(SmtpRefused, match="refused the login of DEEDBOX_SMTP_URL: 535") as refused:
            await hand(server(room.port, login=True, password="wrong-one"), tls=trusting)
    assert not refused.value.permanent
    assert room.taken == []


async def test_a_server_that_echoes_the_password_does_not_bring_it_into_the_error() -> None:
    echo = saying(b"220 x\r\n", b"250-x\r\n250 AUTH PLAIN\r\n", b"535 no such password: s3cret-word\r\n")
    async with scripted(echo) as port:
        with pytest.raises(SmtpRefused, match="535") as refused:
            await hand(server(port, login=True, password="s3cret-word"))
    assert "s3cret-word" not in refused.value.message


async def test_a_server_with_no_known_way_to_log_in() -> None:
    async with scripted(saying(b"220 x\r\n", b"250-x\r\n250 AUTH CRAM-MD5\r\n")) as port:
        with pytest.raises(SmtpRefused, match="no login by user name"):
            await hand(server(port, login=True))


@pytest.mark.parametrize(
    ("command", "answer", "permanent"),
    [
        ("MAIL", "451 later", False),
        ("MAIL", "550 not this sender", False),
        ("RCPT", "450 greylisted", False),
        ("RCPT", "550 no such mailbox", True),
        ("DATA", "452 full", False),
        ("DATA", "554 looks like spam", True),
    ],
)
async def test_a_refusal_says_what_was_refused_and_whether_it_will_last(
    command: str, answer: str, permanent: bool
) -> None:
    async with mailroom() as room:
        room.answers[command] = [answer]
        with pytest.raises(SmtpRefused, match=answer) as refused:
            await hand(server(room.port))
        assert refused.value.permanent == permanent
        assert room.taken == []
        await hand(server(room.port))
    assert len(room.taken) == 1


async def test_a_mail_larger_than_the_server_takes_is_not_begun() -> None:
    async with mailroom(size=1000) as room:
        with pytest.raises(TooLargeForServer, match="takes 1000"):
            await hand(server(room.port), SmtpEnvelope("a@b.example", "c@d.example", b"x: y\r\n" * 500, False))
    async with mailroom() as room:
        room.answers["MAIL"] = ["552 too big"]
        with pytest.raises(TooLargeForServer):
            await hand(server(room.port))


async def test_an_address_beyond_ascii_needs_a_server_that_takes_it() -> None:
    letter = SmtpEnvelope("sign@example.com", "zoë@example.com", MESSAGE, True)
    async with mailroom(utf8=False) as room:
        with pytest.raises(SmtpRefused, match="beyond ASCII") as refused:
            await hand(server(room.port), letter)
        assert refused.value.permanent
    async with mailroom() as room:
        await hand(server(room.port), letter)
    assert room.taken[0].rcpt_tos == ["zoë@example.com"]
    assert "SMTPUTF8" in room.taken[0].mail_options


@pytest.mark.parametrize(
    "spoken",
    [
        (),
        (b"220 x\r\n",),
        (b"220 x\r\n", EHLO),
        (b"220 x\r\n", EHLO, b"250 a\r\n", b"250 b\r\n"),
        (b"220 x\r\n", EHLO, b"250 a\r\n", b"250 b\r\n", b"354 go\r\n"),
        (b"220-half of a gree",),
    ],
)
async def test_a_server_that_stalls_or_closes_is_given_up_wherever_it_does(spoken: tuple[bytes, ...]) -> None:
    for end, kind in (("stall", TookTooLong), ("close", EgressFailed)):
        async with scripted(saying(*spoken, then=end)) as port:
            with pytest.raises(kind):
                await hand(server(port), reply=0.3)


async def test_a_mail_whose_fate_is_unknown_is_said_to_be_so() -> None:
    spoken = (b"220 x\r\n", EHLO, b"250 a\r\n", b"250 b\r\n", b"354 go\r\n")
    async with scripted(saying(*spoken, then="stall")) as port:
        with pytest.raises(TookTooLong, match="before it confirmed the mail"):
            await hand(server(port), reply=0.3)


async def test_a_server_that_trickles_is_given_up_when_all_the_time_is_over() -> None:
    async def trickle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"220-still there\r\n")
            await writer.drain()
            await asyncio.sleep(0.05)

    async with scripted(trickle) as port:
        with pytest.raises(TookTooLong, match=r"within 0\.4 seconds"):
            await hand(server(port), whole=0.4)


@pytest.mark.parametrize("flood", [b"220-more\r\n", b"x", b"SSH-2.0-OpenSSH\r\n", b"2\xb2\xb2 x\r\n"])
async def test_what_is_no_mail_server_is_left_before_it_fills_the_memory(flood: bytes) -> None:
    sent = 0

    async def pour(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while True:
            writer.write(flood * 1000)
            sent += len(flood) * 1000
            await writer.drain()

    async with scripted(pour) as port:
        with pytest.raises(BadAnswer, match="does not answer as a mail server"):
            await hand(server(port))
    assert sent < 20 * limits.MB


async def test_a_closed_port_is_named() -> None:
    async with mailroom() as room:
        port = room.port
    with pytest.raises(CannotConnect, match=f"cannot be reached on port {port}"):
        await hand(server(port))


async def test_a_check_greets_and_logs_in_and_sends_nothing(trusted: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    context, trusting = trusted
    async with mailroom(starttls=context, login=True) as room:
        assert (await hand(server(room.port, login=True), None, trusting)).startswith("250 ")
    assert room.logins == [("PLAIN", USER)]
    assert room.taken == []


async def test_a_server_that_closes_right_after_its_yes_has_taken_the_mail() -> None:
    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for reply in (b"220 x\r\n", EHLO, b"250 a\r\n", b"250 b\r\n", b"354 go\r\n"):
            writer.write(reply)
            await reader.readline()
        await reader.readuntil(b"\r\n.\r\n")
        writer.write(b"250 mine\r\n")
        await writer.drain()
        writer.transport.abort()

    message = email.message_from_string("Subject: x\n\nhello\n").as_bytes()
    async with scripted(take) as port:
        assert await hand(server(port), SmtpEnvelope("a@b.example", "c@d.example", message, False)) == "250 mine"
