"""A message: who wrote it to whom, when and about what, its text, and what is attached to it."""

import codecs
import email.policy
import re
from collections.abc import Iterator
from contextlib import suppress
from email.message import EmailMessage, Message
from email.parser import BytesParser, HeaderParser
from encodings.aliases import aliases

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract import enclosed, html
from deedbox.search.extract.charset import decode
from deedbox.search.extract.kinds import wrong_kind
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.extract.word_xml import damage_error
from deedbox.search.library.upload import Extraction
from deedbox.search.limits import MESSAGE_ATTACHMENTS, MESSAGE_DEPTH, MESSAGE_PARTS

_HEAD_LINE = re.compile(rb"From |[\x21-\x39\x3b-\x7e]*:|[\t ]")
_STRUCTURE = re.compile(rb"multipart|message|boundary", re.IGNORECASE)
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
    try:
        _Scan().read(data)  # before the library takes its time for many parts
        message = BytesParser(EmailMessage, policy=email.policy.default).parsebytes(data)
        if not any(message[name] for name in ("From", "Date", "Subject", "Received")):
            raise wrong_kind("eml", "not a message")
        return _read_message(message, depth)
    except _BROKEN as error:
        raise BadRequest(damage_error("message")) from error


class _Scan:
    """Walks through the lines of a message as the library does, and counts its parts and how deep they are nested."""

    def __init__(self) -> None:
        self._open: list[tuple[bytes, bool]] = []
        """The boundary of each part that holds others, and whether it is a digest; a message has no boundary."""
        self._parts = 1
        self._head: list[bytes] | None = []
        """The lines of the head that is being read; None in a body."""
        self._is_status = False

    def read(self, data: bytes) -> None:
        """BadRequest for a message with too many parts, or with parts that are nested too deep."""
        for line in data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
            if line.startswith(b"--") and self._is_boundary(line[2:].rstrip(b" \t")):
                continue
            if self._head is None:
                if self._is_status and not line:  # each recipient's block is a part
                    self._count()
            elif _HEAD_LINE.match(line):
                self._head.append(line)
            else:
                self._end_head()

    def _is_boundary(self, name: bytes) -> bool:
        names = [boundary for boundary, _ in self._open]
        if name and name in names:
            del self._open[names.index(name) + 1 :]
            self._begin_part()
            return True
        if (name := name.removesuffix(b"--")) and name in names:
            del self._open[names.index(name) :]
            self._head, self._is_status = None, False
            return True
        return False

    def _begin_part(self) -> None:
        self._head, self._is_status = [], False
        self._count()

    def _count(self) -> None:
        self._parts += 1
        if self._parts > MESSAGE_PARTS:
            raise BadRequest(f"This message has more than {MESSAGE_PARTS:,} parts")

    def _end_head(self) -> None:
        head, self._head = b"\n".join(self._head or []), None
        in_digest = bool(self._open) and self._open[-1][1]
        if not in_digest and not _STRUCTURE.search(head):
            return
        described = HeaderParser().parsestr(head.decode("ascii", "surrogateescape"))
        if in_digest:
            described.set_default_type("message/rfc822")
        kind = described.get_content_type()
        if kind == "message/delivery-status":
            self._is_status = True
        elif kind.startswith("message/"):
            self._nest(b"", is_digest=False)
            self._begin_part()
        elif kind.startswith("multipart/") and (boundary := described.get_boundary()):
            self._nest(boundary.encode("ascii", "surrogateescape"), is_digest=kind == "multipart/digest")

    def _nest(self, boundary: bytes, *, is_digest: bool) -> None:
        self._open.append((boundary, is_digest))
        if len(self._open) > MESSAGE_DEPTH:
            raise BadRequest(f"The parts of this message are nested more than {MESSAGE_DEPTH} deep")


def _read_message(message: EmailMessage, depth: int) -> Extraction:
    draft = TextBuilder()
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
        if number >= MESSAGE_ATTACHMENTS:
            raise BadRequest(f"This message has more than {MESSAGE_ATTACHMENTS:,} attachments")
        enclosed.write(draft, *_file(part), depth + 1)
    return draft.finish()


def _body(part: Message) -> Extraction:
    data, declared = _bytes(part), part.get_content_charset()
    if part.get_content_type() == "text/html":
        return html.read(decode(data, "eml", declared).encode())
    draft = TextBuilder()
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
