"""Revisions after a seal, put together by hand, mutated in their structure and then truly time-stamped.

Whoever holds a sealed file can make them: no signature of the seal's key is needed, only a time-stamp."""

import random
import re
import zlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from hashlib import sha256

from msgspec import Struct, field

from deedbox.pdf.verify import sealed_form
from deedbox.pdf.verify.syntax import ObjectReference
from tests.faults.tampering import NOW, Office

EVIL = b"BT /F1 40 Tf 72 400 Td (I owe nothing) Tj ET 0 0 300 300 re f"
ODD_SPACES = (b"\x0b ", b"\x0b", b"\x0c", b"\0", b"\r", b"\t", b"  ", b" %x\n", b"\r\n", b"\n\n", b"")
_STAMP_BYTES = 4096


class Piece(Struct):
    """An object of the revision as it will be written, and whether the table names it."""

    number: int
    text: bytes
    listed: bool = True
    generation: int = 0


class Draft(Struct):
    """A revision that is not time-stamped yet."""

    base: bytes
    root: int
    page: int
    content: int
    next_number: int
    previous: int
    identity: bytes
    stamp: int
    pieces: list[Piece] = field(default_factory=list)
    trailer: bytes = b""
    """Entries that the trailer has besides the usual ones."""
    between: bytes = b""
    """What stands between the objects and the table."""
    after: bytes = b""
    shift: int = 0
    """By how much the table's first entry is off."""
    rows_first: bytes = b""

    def new(self) -> int:
        self.next_number += 1
        return self.next_number - 1

    def add(self, body: bytes, number: int | None = None, *, listed: bool = True) -> int:
        number = self.new() if number is None else number
        self.pieces.append(Piece(number, b"%d 0 obj\n%b\nendobj\n" % (number, body), listed))
        return number

    def of(self, number: int) -> Piece:
        return next(piece for piece in self.pieces if piece.number == number)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<< %b/Length %d >>\nstream\n%b\nendstream" % (entries, len(content), content)


def drafted(data: bytes) -> Draft:
    """An update with one document time-stamp, in the form that is accepted."""
    form = sealed_form.read(data)
    revision = form.revision
    root, page = revision.trailer["Root"], next(iter(revision.objects))
    contents = revision.objects[page].value["Contents"]
    draft = Draft(
        base=data, root=root.number, page=page.number, content=contents.number, next_number=revision.size + 1,
        stamp=revision.size,
        previous=int(re.findall(rb"startxref\n(\d+)", data)[-1]), identity=revision.trailer["ID"][0],
    )  # fmt: skip
    stamp_field = draft.new()
    more = b" %d 0 R]" % stamp_field
    holders = [root, page]
    form_at = revision.objects[root].value["AcroForm"]
    if isinstance(form_at, ObjectReference):
        holders.append(form_at)
    for holder in holders:
        body = revision.objects[holder].written.partition(b" obj\n")[2].removesuffix(b"\nendobj\n")
        body = re.sub(rb"(/(?:Fields|Annots) \[[^\]]*)\]", lambda found: found[1] + more, body)
        draft.add(body, holder.number)
    widget = b"<< /Type /Annot /Subtype /Widget /FT /Sig /T (Later) /V %d 0 R /F 132 /Rect [0 0 0 0] /P %d 0 R >>"
    draft.add(widget % (draft.stamp, page.number), stamp_field)
    return draft


def stamped(office: Office, draft: Draft) -> bytes:
    """The file with the revision and a true time-stamp in it about every byte."""
    head = b"<< /Type /DocTimeStamp /Filter /Adobe.PPKLite /SubFilter /ETSI.RFC3161 /ByteRange "
    number = draft.stamp
    out, rows = bytearray(draft.base), []
    for piece in draft.pieces:
        if piece.listed:
            rows.append((piece.number, len(out), piece.generation))
        out += piece.text
    rows.append((number, len(out), 0))
    begin = b"%d 0 obj\n" % number + head
    start = len(out) + len(begin) + 50 + len(b" /Contents ")
    end = start + 2 * _STAMP_BYTES + 2
    tail = b" >>\nendobj\n" + draft.between
    tail += _table(draft, rows, end + len(tail))
    span = b"[0 %d %d %d" % (start, end, len(tail))
    out += begin + span.ljust(49) + b"] /Contents "
    digest = sha256(bytes(out) + tail).digest()
    token = office.timestamper.token(digest, NOW + timedelta(days=1)).hex().encode()
    return bytes(out) + b"<" + token.ljust(2 * _STAMP_BYTES, b"0") + b">" + tail


def _table(draft: Draft, rows: list[tuple[int, int, int]], at: int) -> bytes:
    table = b"xref\n" + draft.rows_first
    for place, (number, offset, generation) in enumerate(sorted(rows)):
        table += b"%d 1\n%010d %05d n \n" % (number, offset + (draft.shift if place == 0 else 0), generation)
    size = max([draft.next_number, *(number for number, _, _ in rows)]) + 1
    identity = b"<%b>" % draft.identity.hex().encode()
    entries = b"/Root %d 0 R /Size %d /Prev %d /ID [%b %b]" % (draft.root, size, draft.previous, identity, identity)
    return table + b"trailer\n<< %b%b >>\nstartxref\n%d\n%%%%EOF\n" % (entries, draft.trailer, at) + draft.after


Mutation = Callable[[Draft, random.Random], None]


def _spoil_header(draft: Draft, chance: random.Random) -> None:
    piece = chance.choice(draft.pieces)
    first = chance.choice([b" ", b"\n"])
    piece.text = piece.text.replace(first, chance.choice(ODD_SPACES), 1)


def _spoil_space(draft: Draft, chance: random.Random) -> None:
    piece = chance.choice(draft.pieces)
    spaces = [found.start() for found in re.finditer(rb"[ \n]", piece.text)]
    at = chance.choice(spaces)
    piece.text = piece.text[:at] + chance.choice(ODD_SPACES) + piece.text[at + 1 :]


def _harmless(draft: Draft, chance: random.Random) -> None:
    piece = chance.choice(draft.pieces)
    at = chance.choice([found.start() for found in re.finditer(rb" (?=/)", piece.text)])
    piece.text = piece.text[:at] + b"\n" + piece.text[at + 1 :]


def _vertical_tab(draft: Draft, _: random.Random) -> None:
    """As it was found: qpdf and pyHanko read the catalog, PDFium rebuilds the table and shows another object."""
    draft.of(draft.root).text = draft.of(draft.root).text.replace(b" ", b"\x0b ", 1)
    draft.add(stream(EVIL), draft.content, listed=False)


def _evil_unlisted(draft: Draft, chance: random.Random) -> None:
    draft.add(stream(EVIL), draft.content, listed=False)
    if chance.random() < 0.5:
        draft.pieces.insert(0, draft.pieces.pop())


def _evil_listed(draft: Draft, _: random.Random) -> None:
    draft.add(stream(EVIL), draft.content)


def _evil_generation(draft: Draft, _: random.Random) -> None:
    draft.pieces.append(Piece(draft.content, b"%d 1 obj\n%b\nendobj\n" % (draft.content, stream(EVIL)), True, 1))


def _unreferenced(draft: Draft, chance: random.Random) -> None:
    draft.add(chance.choice([stream(EVIL), b"<< /Type /Catalog >>", b"null", stream(zlib.compress(EVIL))]))


def _in_catalog(entry: Callable[[Draft], bytes]) -> Mutation:
    def change(draft: Draft, _: random.Random) -> None:
        piece, added = draft.of(draft.root), entry(draft)
        piece.text = piece.text.replace(b" >>\nendobj", b" %b >>\nendobj" % added)

    return change


def _metadata(draft: Draft) -> bytes:
    title = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><dc:title>Void</dc:title></x:xmpmeta>"
    return b"/Metadata %d 0 R" % draft.add(stream(title, b"/Type /Metadata /Subtype /XML "))


def _other_pages(draft: Draft) -> bytes:
    content, tree = draft.add(stream(EVIL)), draft.new()
    page = draft.add(b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 595 842] /Contents %d 0 R >>" % (tree, content))
    draft.add(b"<< /Type /Pages /Count 1 /Kids [%d 0 R] >>" % page, tree)
    return b"/Pages %d 0 R" % tree


def _on_page(pattern: bytes, text: bytes) -> Mutation:
    def change(draft: Draft, _: random.Random) -> None:
        piece = draft.of(draft.page)
        piece.text = re.sub(pattern, lambda _: text, piece.text, count=1)

    return change


def _content_elsewhere(draft: Draft, _: random.Random) -> None:
    number = draft.add(stream(EVIL))
    piece = draft.of(draft.page)
    piece.text = re.sub(rb"/Contents \d+", b"/Contents %d" % number, piece.text)


def _seen_annotation(draft: Draft, _: random.Random) -> None:
    look = draft.add(stream(EVIL, b"/Type /XObject /Subtype /Form /BBox [0 0 595 842] "))
    piece = next(piece for piece in draft.pieces if b"/T (Later)" in piece.text)
    seen = b"/Rect [0 0 595 842] /AP << /N %d 0 R >>" % look
    piece.text = piece.text.replace(b"/Rect [0 0 0 0]", seen).replace(b"/F 132", b"/F 4")


def _duplicate_catalog(draft: Draft, _: random.Random) -> None:
    evil = _other_pages(draft)
    again = re.sub(rb"/Pages \d+ 0 R", evil, draft.of(draft.root).text)
    draft.pieces.append(Piece(draft.root, again, listed=False))


def _escaped_name(draft: Draft, chance: random.Random) -> None:
    piece = chance.choice(draft.pieces)
    names = list(re.finditer(rb"/([A-Za-z])(?=[A-Za-z])", piece.text))
    found = chance.choice(names)
    piece.text = piece.text[: found.start()] + b"/#%02x" % found[1][0] + piece.text[found.end() :]


def _between(draft: Draft, chance: random.Random) -> None:
    evil = b"%d 0 obj\n%b\nendobj\n" % (draft.content, stream(EVIL))
    draft.between = chance.choice([b"\n", b"% a word\n", evil, b" "])


def _trailer(draft: Draft, chance: random.Random) -> None:
    info = draft.add(b"<< /Title (Void) /Producer (pyHanko 1.0) /ModDate (D:20260601120000Z) >>")
    draft.trailer = chance.choice(
        [b" /Info %d 0 R" % info, b" /XRefStm 15", b" /Encrypt << /Filter /Standard >>", b" /Root 1 0 R", b" /X 1"]
    )


def _skip_seal(draft: Draft, _: random.Random) -> None:
    draft.previous = int(re.findall(rb"startxref\n(\d+)", draft.base)[0])


def _table_off(draft: Draft, chance: random.Random) -> None:
    draft.shift = chance.choice([-1, 1, 10, -10])


def _first_row(draft: Draft, chance: random.Random) -> None:
    rows = [b"0 1\n0000000000 65535 f \n", b"0 1\n0000000000 65535 n \n", b"0 1\n0000000000 00000 f \n"]
    rows.append(b"%d 1\n0000000000 00001 f \n" % draft.content)
    draft.rows_first = chance.choice(rows)


def _after(draft: Draft, chance: random.Random) -> None:
    draft.after = chance.choice([b"\n", b"junk", b"%%EOF\n", b" "])


def _twice(draft: Draft, chance: random.Random) -> None:
    piece = chance.choice(draft.pieces)
    draft.pieces.append(Piece(piece.number, piece.text, listed=False))


def _moved(draft: Draft, chance: random.Random) -> None:
    chance.shuffle(draft.pieces)


def _nothing(_: Draft, __: random.Random) -> None:
    """An update as it should be."""


PLANTED: dict[str, Mutation] = {
    "a vertical tab in the catalog's header": _vertical_tab,
    "XMP with another title": _in_catalog(_metadata),
    "a catalog's version": _in_catalog(lambda _: b"/Version /1.4"),
    "an object that nothing refers to": _unreferenced,
    "the content again, in no table": _evil_unlisted,
    "other pages, named twice": _in_catalog(_other_pages),
    "a field that is seen": _seen_annotation,
    "another title in the properties": lambda draft, _: _trailer(draft, random.Random(1)),
}
"""Attacks that someone thought of, by name."""

_MUTATIONS: list[Mutation] = [
    *PLANTED.values(), _spoil_header, _spoil_header, _spoil_space, _spoil_space, _harmless, _harmless, _nothing,
    _evil_listed, _evil_generation, _content_elsewhere, _duplicate_catalog, _escaped_name, _between, _trailer,
    _skip_seal, _table_off, _first_row, _after, _twice, _moved,
    _in_catalog(lambda _: b"/Lang (en)"), _in_catalog(lambda _: b"/OpenAction << /S /JavaScript /JS (1) >>"),
    _on_page(rb"/MediaBox \[[^\]]*\]", b"/MediaBox [0 0 300 300]"), _on_page(rb"/Resources", b"/Rotate 90 /Resources"),
    _on_page(rb"/Resources", b"/Resources << >> /Resources"), _harmless, _harmless, _harmless, _moved,
]  # fmt: skip


def planted(office: Office, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The attacks by name; each with a true time-stamp about every byte."""
    for name, mutation in PLANTED.items():
        draft = drafted(data)
        mutation(draft, random.Random(0))
        yield name, stamped(office, draft)


def mutants(office: Office, data: bytes, count: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Updates with one to three mutations each."""
    for number in range(count):
        draft = drafted(data)
        chosen = chance.sample(_MUTATIONS, chance.choice([1, 1, 2, 3]))
        for mutation in chosen:
            mutation(draft, chance)
        yield f"mutant {number}: {', '.join(one.__name__ for one in chosen)}", stamped(office, draft)
