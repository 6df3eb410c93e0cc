"""Messages and archives: what lies in them is read as if it had been uploaded by itself, within bounds."""

import io
import zipfile
from email.message import EmailMessage
from email.parser import BytesParser

import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.search import limits
from deedbox.search.extract import Extractor, extract
from tests.search.extract.pdfs import lines, paged
from tests.search.extract.words import archive, docx, paragraph

PDF = paged(lines("The seal"))


def message(**more: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {"From": "Ada <ada@example.com>", "To": "alan@example.com", "Subject": "Größe", **more}.items():
        made[name] = value
    made.set_content("The rent is délayed.\n", charset="iso-8859-1")
    return made


def nested(depth: int) -> bytes:
    data = archive({"a.txt": "the innermost"})
    for _ in range(depth):
        data = archive({"inner.zip": data})
    return data


def test_a_message_tells_its_heads_text_and_attachments() -> None:
    made = message()
    made.add_alternative("<p>The rent is <b>délayed</b>.", subtype="html")
    made.add_attachment(PDF, maintype="application", subtype="pdf", filename="séal.pdf")
    made.add_attachment(b"\x89PNG\r\n\x1a\n", maintype="image", subtype="png", filename="logo.png")
    found = extract(made.as_bytes(), "eml")
    assert found.text == (
        "From: Ada <ada@example.com>\nTo: alan@example.com\nSubject: Größe\n\nThe rent is délayed.\n\n\n"
        "séal.pdf\n\nThe seal\n\n\nlogo.png\n\n"
    )
    assert [title for _, title in found.headings] == ["Größe", "séal.pdf", "logo.png"]
    assert found.page_starts is None


def test_a_message_of_html_alone_is_read_as_a_page() -> None:
    made = message()
    made.set_content("<h1>Notice</h1><script>x</script><p>Three months", subtype="html")
    assert extract(made.as_bytes(), "eml").text.endswith("\nNotice\n\nThree months")


def test_a_message_that_was_passed_on_is_read() -> None:
    made = message(Date="Tue, 17 Nov 2026 09:00:00 +0000")
    made.add_attachment(message(Subject="Earlier"))
    found = extract(made.as_bytes(), "eml")
    assert "Subject: Earlier\n\nThe rent is délayed." in found.text


@pytest.mark.anyio
async def test_a_message_may_be_in_any_charset_and_encoding_that_python_knows(extractor: Extractor) -> None:
    """In the sandbox, where nothing can be loaded late."""
    head = b"Subject: =?cp850?Q?gr=81n?=\nContent-Type: text/plain; charset=koi8-r\n"
    found = await extractor.extract(head + b"Content-Transfer-Encoding: base64\n\n8NLJ18XU\n", "eml")
    assert found.text == "Subject: grün\n\nПривет"


def test_what_is_no_message_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match=r"^The file is named .eml but its content is not a message$"):
        extract(b"hello", "eml")


def test_an_archive_tells_each_file_under_its_name() -> None:
    files: dict[str, str | bytes] = {
        "a/lease.pdf": PDF,
        "notes.docx": docx(paragraph("A note")),
        "photo.jpg": b"\xff\xd8\xff",
        "broken.pdf": b"none",
        "__MACOSX/._lease.pdf": b"x",
    }
    found = extract(archive(files), "zip")
    assert found.text == "a/lease.pdf\n\nThe seal\n\n\nnotes.docx\n\nA note\n\nphoto.jpg\n\n\n\nbroken.pdf\n\n"
    assert [title for _, title in found.headings] == ["a/lease.pdf", "notes.docx", "photo.jpg", "broken.pdf"]
    assert all(found.text.startswith(title, offset) for offset, title in found.headings)


def test_archives_may_lie_in_one_another_so_deep_and_no_deeper() -> None:
    assert "the innermost" in extract(nested(limits.ENCLOSED_DEPTH - 1), "zip").text
    with pytest.raises(BadRequest, match="enclose one another more than 3 deep"):
        extract(nested(limits.ENCLOSED_DEPTH), "zip")


@pytest.mark.anyio
async def test_messages_that_enclose_one_another_without_end_are_refused(extractor: Extractor) -> None:
    made = message()
    for _ in range(limits.ENCLOSED_DEPTH + 1):
        outer = message()
        outer.add_attachment(made)
        made = outer
    with pytest.raises(BadRequest, match="enclose one another"):
        await extractor.extract(made.as_bytes(), "eml")


@pytest.mark.parametrize(
    ("name", "bound", "reason"),
    [("ZIP_ENTRIES", 1, "more than 1 files"), ("ZIP_BYTES", 9, "unpacks to more than is allowed")],
)
def test_an_archive_has_bounds(name: str, bound: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"deedbox.search.extract.zip.{name}", bound)
    with pytest.raises(BadRequest, match=reason):
        extract(archive({"a.txt": "hello", "b.txt": "there"}), "zip")


def test_an_archive_with_a_password_is_refused_by_name() -> None:
    data = bytearray(archive({"a.txt": "hello"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    with pytest.raises(BadRequest, match=r"^This ZIP archive is encrypted"):
        extract(bytes(data), "zip")


@pytest.mark.anyio
async def test_an_archive_that_unpacks_to_much_is_refused(extractor: Extractor) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zeros.txt", bytes(20_000_000))
    with pytest.raises(BadRequest, match="unpacks to more than is allowed"):
        await extractor.extract(out.getvalue(), "zip")


def deep_message(depth: int, kind: str = "mixed") -> bytes:
    head = b"From: ada@example.com\nSubject: Rent\n"
    if kind == "rfc822":
        return (head + b"Content-Type: message/rfc822\n\n") * depth + head + b"\nThe innermost\n"
    if kind == "bare digest":  # each part of a digest is a message, although it does not say so
        digest = b"Content-Type: multipart/digest; boundary=b%d\n\n--b%d\n\n"
        return head + b"".join(digest % (at, at) for at in range(depth)) + b"Subject: Rent\n\nThe innermost\n"
    if kind == "continued":  # RFC 2231
        mixed = b"Content-Type: multipart/mixed; boundary*0=b; boundary*1=%d\n\n--b%d\n"
        return head + b"".join(mixed % (at, at) for at in range(depth)) + b"\nThe innermost\n"
    if kind == "carriage returns":
        return deep_message(depth).replace(b"\n", b"\r")
    parts = (
        b'Content-Type: multipart/%b;\n boundary="b%d"\n\n--b%d\n' % (kind.encode(), at, at) for at in range(depth)
    )
    return head + b"".join(parts) + b"Content-Type: text/plain\n\nThe innermost\n"


@pytest.mark.parametrize("kind", ["mixed", "rfc822", "digest", "bare digest", "continued", "carriage returns"])
@pytest.mark.parametrize("depth", [limits.MESSAGE_DEPTH + 1, 2000])
def test_a_message_nested_too_deep_is_refused_before_it_is_parsed(
    kind: str, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(BytesParser, "parsebytes", never)
    with pytest.raises(
        BadRequest, match=f"^The parts of this message are nested more than {limits.MESSAGE_DEPTH} deep"
    ):
        extract(deep_message(depth, kind), "eml")


def test_a_message_with_many_parts_that_are_not_nested_is_read() -> None:
    assert "The innermost" in extract(deep_message(limits.MESSAGE_DEPTH), "eml").text
    made = message()
    made.set_content("boundary=x\n\nContent-Type: multipart/mixed; boundary=y\n" * 100)
    for number in range(60):
        inner = message()
        inner.add_attachment("a note", filename=f"{number}.txt")
        made.add_attachment(inner)
    assert extract(made.as_bytes(), "eml").text.count("a note") == 60


def flat_message(parts: int, shape: str) -> bytes:
    head = b"From: a@example.com\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n"
    part = b"--x\nContent-Type: text/plain\n\npart\n"
    match shape:
        case "without heads":
            part = b"--x\n"
        case "with other line ends":
            head, part = head.replace(b"\n", b"\r"), part.replace(b"\n", b"\r")
        case "of a delivery status":
            head = head.replace(b"multipart/mixed; boundary=x", b"message/delivery-status")
            part = b"Action: failed\n\n"
    return head + part * parts + b"--x--\n"


@pytest.mark.parametrize("shape", ["plain", "without heads", "with other line ends", "of a delivery status"])
def test_a_message_of_too_many_parts_is_refused_before_it_is_parsed(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert extract(flat_message(limits.MESSAGE_PARTS - 2, shape), "eml").text

    def never(*_: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(BytesParser, "parsebytes", never)
    with pytest.raises(BadRequest, match=f"^This message has more than {limits.MESSAGE_PARTS:,} parts$"):
        extract(flat_message(20_000, shape), "eml")


def test_the_parts_that_are_counted_are_those_that_the_library_finds() -> None:
    """Whatever the library makes a part of counts, so that nothing gets past the limit."""
    deep = [deep_message(9, kind) for kind in ("mixed", "rfc822", "digest", "bare digest", "continued")]
    flat = [flat_message(50, shape) for shape in ("plain", "without heads", "with other line ends")]
    made = message()
    made.add_alternative("<p>The rent", subtype="html")
    made.add_attachment(message(Subject="Earlier"))
    lines = b"--\n-- \nAda\n--y\n----x--\n"
    for data in (*deep, *flat, made.as_bytes(), deep[0].replace(b"The innermost", lines)):
        assert counted_parts(data) >= sum(1 for _ in BytesParser().parsebytes(data).walk())


def counted_parts(data: bytes) -> int:
    """The smallest limit that lets the message pass."""
    with pytest.MonkeyPatch.context() as patch:
        for limit in range(1, 200):
            patch.setattr("deedbox.search.extract.eml.MESSAGE_PARTS", limit)
            try:
                extract(data, "eml")
            except BadRequest as error:
                if "parts" in str(error):
                    continue
            return limit
    raise AssertionError("no limit lets it pass")
