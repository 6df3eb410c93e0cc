"""The bytes of a mail: no header that someone smuggles in, every name as it was typed, the same at every attempt."""

import email
from collections.abc import Sequence
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import default
from email.utils import getaddresses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deedbox.kernel.mailbox import Mailbox, mailbox, one_line
from deedbox.mail.message import MessageDraft, SmtpEnvelope, compose
from deedbox.mail.templates import Rendered

AT = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def composed(
    *,
    name: str = "Reader",
    address: str = "reader@example.com",
    subject: str = "Please sign",
    text: str = "Hello\n",
    files: Sequence[tuple[str, bytes]] = (),
    reply_to: Mailbox | None = None,
    logo: bytes = b"",
) -> SmtpEnvelope:
    return compose(
        MessageDraft(
            message_id="<mail_01@example.com>",
            sender=Mailbox("sign@example.com", "Harbour, Ltd"),
            to=Mailbox(address, name),
            reply_to=reply_to,
            written_at=AT,
            language="en",
            rendered=Rendered(subject, text, "<p>Hello</p>"),
            files=files,
            logo=logo,
        )
    )


def read(envelope: SmtpEnvelope) -> EmailMessage:
    message = email.message_from_bytes(envelope.message, policy=default)
    assert isinstance(message, EmailMessage)
    assert message.defects == []
    return message


HEADERS = [
    "From", "To", "Subject", "Date", "Message-ID", "Content-Language", "Auto-Submitted", "MIME-Version", "Content-Type",
]  # fmt: skip


def test_a_message_has_its_headers_and_both_bodies() -> None:
    message = read(composed(text="Grüße\n"))
    assert sorted(message.keys()) == sorted(HEADERS)
    assert message["From"] == '"Harbour, Ltd" <sign@example.com>'
    assert message["Date"] == "Sun, 01 Mar 2026 12:00:00 +0000"
    assert message["Message-ID"] == "<mail_01@example.com>"
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert plain.get_content().splitlines() == ["Grüße"]
    assert html.get_content().strip() == "<p>Hello</p>"


def test_every_line_is_ascii_short_and_ends_in_crlf() -> None:
    long = "ü" * 5000
    raw = composed(name=long[:90], subject=long[:190], text=long, files=[("ü.pdf", b"\n.\r" * 1000)]).message
    assert raw.isascii()
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert b"\r" not in raw.replace(b"\r\n", b"")
    assert max(len(line) for line in raw.split(b"\r\n")) <= 78
    assert max(len(line) for line in composed(name="a" * 100).message.split(b"\r\n")) < 120


@pytest.mark.parametrize(
    "bad", ["x\r\nBcc: thief@example.com", "x\nBcc: thief@example.com", "x\rBcc: t", "x\0\x0b\x85y"]
)
def test_a_line_break_adds_no_header(bad: str) -> None:
    envelope = composed(name=bad, subject=bad, files=[(f"{bad}.pdf", b"x")], reply_to=Mailbox("a@b.example", bad))
    message = read(envelope)
    assert sorted(message.keys()) == sorted([*HEADERS, "Reply-To"])
    assert message["Subject"] == one_line(bad)
    assert [person.display_name for person in message["To"].addresses] == [one_line(bad)]


@pytest.mark.parametrize(
    "name",
    [
        "Zoë Müller", "Müller, Zoë", "Đặng Thị Hồng Nhung", "山田 太郎", "محمد علي", 'A "B" C', "a\\b", "ü" * 100,
        "", "😀 x",
        "Müller; <thief@example.com>", "x@y.example", "=?utf-8?q?x?=", "Dr. med. (Zoë)", "Zoë, " * 20, "a" * 100,
    ],
)  # fmt: skip
def test_a_name_arrives_as_it_was_typed_and_brings_no_second_address(name: str) -> None:
    envelope = composed(name=name)
    message = read(envelope)
    (person,) = message["To"].addresses
    assert person.addr_spec == "reader@example.com"
    legacy = email.message_from_bytes(envelope.message)
    ((shown, address),) = getaddresses([str(legacy["To"])])
    assert address == "reader@example.com"
    assert str(make_header(decode_header(shown))) == one_line(name)


@given(name=st.text(max_size=60), subject=st.text(max_size=200))
def test_whatever_is_typed_there_is_one_reader_and_no_other_header(name: str, subject: str) -> None:
    person = mailbox("reader@example.com", name)
    envelope = composed(name=person.name, subject=subject)
    message = email.message_from_bytes(envelope.message, policy=default)
    assert sorted(message.keys()) == sorted(HEADERS)
    legacy = email.message_from_bytes(envelope.message)
    assert [address for _, address in getaddresses([str(legacy["To"])])] == ["reader@example.com"]
    assert envelope.recipient == "reader@example.com"


def test_letters_before_the_at_need_a_server_that_takes_them() -> None:
    envelope = composed(address="zoë@example.com", name="Zoë")
    assert envelope.international
    assert 'To: "Zoë"\r\n <zoë@example.com>\r\n'.encode() in envelope.message
    assert not composed(address=mailbox("zoe@bücher.example").address).international


def test_an_attachment_is_the_same_bytes_under_its_name() -> None:
    content = bytes(range(256)) * 4096
    message = read(composed(files=[("Mietvertrag Grün.pdf", content)]))
    (attached,) = message.iter_attachments()
    assert attached.get_content() == content
    assert attached.get_filename() == "Mietvertrag Grün.pdf"
    assert attached.get_content_type() == "application/pdf"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("lease.pdf", "lease.pdf"),
        ("../../etc/passwd", "-..-etc-passwd.pdf"),
        ('a<b>:"c|d?*\\e.pdf', "a-b---c-d---e.pdf"),
        ("", "document.pdf"),
        ("....pdf", "document.pdf"),
        ("x" * 300 + ".pdf", "x" * 100 + ".pdf"),
        ("v1.2 \r\nfinal.pdf", "v1.2 final.pdf"),
    ],
)
def test_a_file_s_name_is_one_that_every_system_takes(typed: str, shown: str) -> None:
    (attached,) = read(composed(files=[(typed, b"x")])).iter_attachments()
    assert attached.get_filename() == shown


def test_the_same_mail_is_the_same_bytes() -> None:
    assert composed(files=[("a.pdf", b"x")]).message == composed(files=[("a.pdf", b"x")]).message


def test_a_logo_goes_with_the_html_and_is_no_attachment() -> None:
    logo = b"\x89PNG picture"
    message = read(composed(files=[("a.pdf", b"x")], logo=logo))
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert html.get_content().strip() == "<p>Hello</p>"
    assert [one.get_content_type() for one in message.iter_attachments()] == ["application/pdf"]
    [shown] = [one for one in message.walk() if one.get_content_type() == "image/png"]
    assert (shown["Content-ID"], shown.get_content_disposition()) == ("<logo>", "inline")
    assert shown.get_payload(decode=True) == logo
    assert composed(logo=logo).message == composed(logo=logo).message
