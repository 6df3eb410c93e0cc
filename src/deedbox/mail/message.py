"""The mail as bytes for the wire: the same bytes at every attempt."""

import re
from collections.abc import Sequence
from datetime import datetime
from email.header import Header
from email.message import EmailMessage, MIMEPart
from email.policy import SMTP
from email.utils import format_datetime
from typing import cast

import msgspec

from deedbox.kernel.mailbox import Mailbox, one_line
from deedbox.mail import limits
from deedbox.mail.templates import Rendered

_NOT_IN_FILE_NAMES = re.compile(r'[<>:"/\\|?*]')


class MessageDraft(msgspec.Struct, frozen=True, kw_only=True):
    """All that a message is made of."""

    message_id: str
    sender: Mailbox
    to: Mailbox
    reply_to: Mailbox | None
    written_at: datetime
    language: str
    rendered: Rendered
    files: Sequence[tuple[str, bytes]] = ()
    """Name and content of each PDF to attach."""
    logo: bytes = b""
    """A PNG that the HTML shows as `cid:logo`."""


class SmtpEnvelope(msgspec.Struct, frozen=True):
    """The sender and recipient as the mail server is told them, and the message that it is given."""

    sender: str
    recipient: str
    message: bytes
    international: bool
    """An address has letters beyond ASCII before its @, which only a server with SMTPUTF8 takes."""


def compose(draft: MessageDraft) -> SmtpEnvelope:
    """The message and its envelope."""
    people = {"From": draft.sender, "To": draft.to, **({"Reply-To": draft.reply_to} if draft.reply_to else {})}
    international = not all(person.address.isascii() for person in people.values())
    headers = [
        *(f"{title}: {_spelled(title, person, raw=international)}" for title, person in people.items()),
        f"Subject: {_encoded('Subject', draft.rendered.subject)}",
        f"Date: {format_datetime(draft.written_at.replace(microsecond=0))}",
        f"Message-ID: {draft.message_id}",
        f"Content-Language: {draft.language}",
        # RFC 3834: an absence note must not answer it.
        "Auto-Submitted: auto-generated",
    ]
    written = "".join(f"{header}\r\n" for header in headers).encode()
    return SmtpEnvelope(draft.sender.address, draft.to.address, written + _body(draft).as_bytes(), international)


def _body(draft: MessageDraft) -> EmailMessage:
    body = EmailMessage(SMTP)
    body.set_content(draft.rendered.text, cte="quoted-printable")
    body.add_alternative(draft.rendered.html, subtype="html", cte="quoted-printable")
    if draft.logo:
        html = cast(EmailMessage, list(body.iter_parts())[-1])
        html.add_related(draft.logo, "image", "png", cid="<logo>", filename="logo.png", disposition="inline")
    for name, content in draft.files:
        body.add_attachment(content, maintype="application", subtype="pdf", filename=_file_name(name))
    _fix_boundaries(body, draft.message_id)
    return body


def _file_name(typed: str) -> str:
    """A name that every file system takes: often it was made of a title that someone typed."""
    stem = one_line(_NOT_IN_FILE_NAMES.sub("-", typed.removesuffix(".pdf")))[: limits.MAIL_FILE_NAME_CHARS]
    return f"{stem.strip('. ') or 'document'}.pdf"


def _spelled(title: str, person: Mailbox, *, raw: bool) -> str:
    """`Name <address>`, as a header has it."""
    # Not by the library's own header classes: their folding may leave a comma of a long name outside its quotes.
    name = one_line(person.name)
    if not name:
        return person.address
    if raw or (name.isascii() and "=?" not in name):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"\r\n <{person.address}>'
    return f"{_encoded(title, name)}\r\n <{person.address}>"


def _encoded(title: str, text: str) -> str:
    """The text as RFC 2047 has it, in lines of bounded length."""
    plain = one_line(text)
    charset = "us-ascii" if plain.isascii() and "=?" not in plain else "utf-8"
    return Header(plain, charset, header_name=title).encode(linesep="\r\n")


def _fix_boundaries(message: MIMEPart, message_id: str) -> None:
    # Else they are random, and a second attempt would send other bytes than the first.
    unique = message_id.strip("<>").partition("@")[0]
    for number, part in enumerate(message.walk()):
        if part.is_multipart():
            part.set_boundary(f"=_{number}_{unique}")
