"""PDF files written out by hand, so that a test knows every byte of what it reads."""

import hashlib
from collections.abc import Sequence

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
_PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
_ID = b"0123456789abcdef"


def assembled(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """The file with these objects, numbered from 1; the first is the catalogue."""
    out, offsets = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<</Size %d/Root 1 0 R%b>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, table)
    return bytes(out)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<</Length %d%b>>stream\n%b\nendstream" % (len(content), entries, content)


def lines(*texts: str, left: int = 72, top: int = 720) -> bytes:
    """A content stream with one text below the other."""
    shown = (text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)").encode("cp1252") for text in texts)
    return b"BT /F1 12 Tf %d %d Td %b ET" % (left, top, b" 0 -16 Td ".join(b"(%b) Tj" % text for text in shown))


def form(content: bytes) -> bytes:
    """An appearance of 300 by 20 points."""
    return stream(content, b"/Type/XObject/Subtype/Form/BBox[0 0 300 20]/Resources<</Font<</F1 3 0 R>>>>")


def paged(*pages: bytes, catalog: bytes = b"", page: bytes = b"", more: Sequence[bytes] = ()) -> bytes:
    """A file with a page per content stream. Object 3 is the font, page i is 4 + 2i; `more` follows the pages."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R%b>>" % catalog,
        b"<</Type/Pages/Kids[%b]/Count %d/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>>>" % (kids, len(pages)),
        FONT,
    ]
    for number, content in enumerate(pages):
        objects += [b"<</Type/Page/Parent 2 0 R/Contents %d 0 R%b>>" % (5 + 2 * number, page), stream(content)]
    return assembled([*objects, *more])


def encrypted(text: str, password: str) -> bytes:
    """A one-page file under the oldest standard encryption; with an empty password any reader opens it."""
    padded = (password.encode() + _PAD)[:32]
    owner = _rc4(hashlib.md5(b"owner" + _PAD[:27]).digest()[:5], padded)
    key = hashlib.md5(padded + owner + (-4).to_bytes(4, "little", signed=True) + _ID).digest()[:5]
    content = _rc4(hashlib.md5(key + (5).to_bytes(3, "little") + bytes(2)).digest()[:10], lines(text))
    entry = b"<</Filter/Standard/V 1/R 2/P -4/O<%b>/U<%b>>>" % (_hex(owner), _hex(_rc4(key, _PAD)))
    plain = paged(b"")
    objects = [part.partition(b" obj\n")[2] for part in plain.split(b"\nendobj")[:-1]][:4]
    return assembled([*objects, stream(content), entry], b"/Encrypt 6 0 R/ID[<%b><%b>]" % (_hex(_ID), _hex(_ID)))


def _hex(data: bytes) -> bytes:
    return data.hex().encode()


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
