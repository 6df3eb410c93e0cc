"""A message: who wrote it to whom, when and about what, its text, and what is attached to it."""

import codecs
import email.policy
import re
from collections.abc import Iterator
from contextlib import suppress
from email.message import EmailMessage, Message
from email.parser import BytesParser
from encodings.aliases import aliases

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.limits import MESSAGE_DEPTH, MESSAGE_PARTS
from deedbox.search.extract import enclosed, html
from deedbox.search.extract.charset import decode
from deedbox.search.extract.kinds import mislabelled
from deedbox.search.extract.text import Draft, clean
from deedbox.search.extract.word_xml import damaged
from deedbox.search.upload import Extraction

_BOUNDARY = re.compile(rb"boundary\s{0,9}=\s{0,9}(?:\"([^\"]{1,200})\"|([^\s;\"]{1,200}))", re.IGNORECASE)
_MESSAGE = re.compile(rb"content-type\s{0,9}:\s{0,9}message/(?!delivery-status)", re.IGNORECASE)
_HEADERS = ("From", "To", "Cc", "Date", "Subject")
# What the library raises on a message that is broken in one way or another.
_BROKEN = (ValueError, LookupError, TypeError, AttributeError, RecursionError, AssertionError)


_SAMPLE = b"""From: =?iso-8859-1?Q?Andr=E9?= <a@example.com>
Subject: =?utf-8?B?w6k=?=
Date: Tue, 17 Nov 2026 09:00:00 +0000
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

=C3=A9
--x
Content-Type: application/octet-stream; name*=utf-8''%C3%A9
Content-Transfer-Encoding: base64

w6k=
--x
Content-Type: application/octet-stream; name=a
Content-Transfer-Encoding: x-uuencode

begin 644 a
#0V%T
`
end
--x
Content-Type: message/rfc822

Subject: b

c
--x--
"""


def load() -> None:
    """Loads what a message may need late, every codec too, as a head may be in any: a sandbox cannot do it then."""
    for name in set(aliases.values()):
        with suppress(LookupError, ImportError):  # some are there on Windows only
            codecs.lookup(name)
    read(_SAMPLE)


def read(data: bytes, depth: int = 0) -> Extraction:
    _need_shallow(data)
    try:
        message = BytesParser(EmailMessage, policy=email.policy.default).parsebytes(data)
        if not any(message[name] for name in ("From", "Date", "Subject", "Received")):
            raise mislabelled("eml", "not a message")
        return _read_message(message, depth)
    except _BROKEN as error:
        raise BadRequest(damaged("message")) from error


def _need_shallow(data: bytes) -> None:
    """BadRequest for a message whose parts are nested too deep, before the library takes its time for them."""
    boundaries, head = list[bytes](), list[bytes]()
    in_head = True
    for line in data.split(b"\n"):
        if in_head:
            if line.strip():
                head.append(line)
                continue
            described, head = b" ".join(head), []
            declared = _BOUNDARY.search(described)
            in_head = _MESSAGE.search(described) is not None
            if declared or in_head:
                boundaries.append((declared[1] or declared[2] if declared else b"").rstrip())
            if len(boundaries) > MESSAGE_DEPTH:
                raise BadRequest(f"The parts of this message are nested more than {MESSAGE_DEPTH} deep")
        elif line.startswith(b"--"):
            name = line[2:].rstrip()
            if name in boundaries:
                del boundaries[boundaries.index(name) + 1 :]
                in_head = True
            elif name.removesuffix(b"--") in boundaries:
                del boundaries[boundaries.index(name.removesuffix(b"--")) :]


def _read_message(message: EmailMessage, depth: int) -> Extraction:
    draft = Draft()
    for name in _HEADERS:
        if value := " ".join(clean(str(message[name] or "")).split()):
            if name == "Subject":
                draft.head(value)
            draft.add(f"{name}: {value}\n")
    body = message.get_body(("plain", "html"))
    if body is not None:
        draft.add("\n")
        draft.include(_body(body))
    for number, part in enumerate(_attached(message, body)):
        if number >= MESSAGE_PARTS:
            raise BadRequest(f"This message has more than {MESSAGE_PARTS:,} attachments")
        enclosed.write(draft, *_file(part), depth + 1)
    return draft.finish()


def _body(part: Message) -> Extraction:
    data, declared = _bytes(part), part.get_content_charset()
    if part.get_content_type() == "text/html":
        return html.read(decode(data, "eml", declared).encode())
    draft = Draft()
    draft.add(clean(decode(data, "eml", declared)) if data else "")
    return draft.finish()


def _attached(message: EmailMessage, body: Message | None) -> Iterator[Message]:
    """What has a name, and messages that were passed on; the same text in another form is left out."""
    waiting: list[Message] = [message]
    while waiting:
        part = waiting.pop(0)
        if part is body:
            continue
        if part.get_content_type() == "message/rfc822" or part.get_filename():
            if part is not message:
                yield part
        elif part.is_multipart():
            waiting[:0] = list(part.iter_parts()) if isinstance(part, EmailMessage) else []


def _file(part: Message) -> tuple[str, bytes]:
    if part.get_content_type() == "message/rfc822" and part.is_multipart():
        inner = part.get_payload(0)
        data = inner.as_bytes() if isinstance(inner, Message) else b""
        name = part.get_filename() or ""
        return (name if name.lower().endswith(".eml") else f"{name or 'message'}.eml"), data
    return part.get_filename() or "", _bytes(part)


def _bytes(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""
