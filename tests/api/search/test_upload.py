"""Uploads: what is accepted, what is refused and how, and that nothing is left of what was refused."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from deedbox.kernel import limits
from deedbox.web import limits as web_limits
from deedbox.web.http.multipart import clean
from tests.api.answers import faults
from tests.api.conftest import Api
from tests.api.search.files import BOUNDARY, TEXT, doc_id, form, part, pdf, rows, send, stored, upload

pytestmark = pytest.mark.anyio

UNSUPPORTED = "Unsupported file type. Supported: pdf, docx, txt, html, md, csv"
SUPPORTED = [
    *("pdf", "docx", "txt", "html", "md", "csv", "pptx", "xlsx", "ods", "odt", "rtf", "eml", "epub", "tsv", "json"),
    *("xml", "zip", "source code", "png", "jpeg", "tiff", "webp"),
]
TOO_LARGE = "File exceeds maximum size of 50MB"
NOTHING = {"uploads": 0, "extractions": 0, "blobs": 0, "blob_refs": 0, "chunk_sets": 0, "chunks": 0}


async def assert_nothing_is_left(api: Api, data_dir: Path) -> None:
    assert await rows(api) == NOTHING
    assert stored(data_dir) == []


async def test_an_upload_answers_exactly_the_seed_s_fields(api: Api) -> None:
    answer = await upload(api, TEXT, "lease.txt")
    body = answer.json()
    assert answer.status_code == 200
    assert list(body) == ["status", "doc_id", "filename", "size_bytes", "text_length", "message"]
    assert re.fullmatch(r"upl_[0-9A-Z]{26}", body["doc_id"])
    assert (body["status"], body["filename"]) == ("success", "lease.txt")
    assert (body["size_bytes"], body["text_length"]) == (len(TEXT), len(TEXT))
    assert "/documents/index" in body["message"]


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.pdf", pdf("Hello there"), "application/pdf"),
        ("a.TXT", b"Hello there", "text/plain"),
        ("a.b.html", b"<p>Hello there</p>", "text/html"),
        ("a.htm", b"<p>Hello there</p>", "text/html"),
        ("a.md", b"# Hello there", "text/markdown"),
        ("a.Markdown", b"# Hello there", "text/markdown"),
        ("a.csv", b"a,b\nHello there,2\n", "text/csv"),
        ("a.tsv", b"a\tb\nHello there\t2\n", "text/tab-separated-values"),
        ("a.json", b'{"a": "Hello there"}', "application/json"),
        ("a.xml", b"<a>Hello there</a>", "application/xml"),
        ("a.py", b"# Hello there", "text/x-source-code"),
    ],
)
async def test_every_format_is_parsed(api: Api, name: str, data: bytes, media_type: str) -> None:
    found = await doc_id(api, data, name)
    record = (await api.get(f"/documents/{found}")).json()
    assert (record["media_type"], record["filename"], record["status"]) == (media_type, name, "uploaded")
    assert record["sha256"] == hashlib.sha256(data).hexdigest()
    assert "Hello there" in (await api.get(f"/documents/{found}/text")).text


async def test_a_file_without_text_is_taken_and_the_message_says_so(api: Api) -> None:
    answer = await upload(api, pdf(""), "scan.pdf")
    assert (answer.status_code, answer.json()["text_length"]) == (200, 0)
    assert "no text was found" in answer.json()["message"]


@pytest.mark.parametrize("name", ["a.exe", "a", "a.pdf.7z", "txt", ".pdfx", "a.doc", "a.txt ."])
async def test_another_type_is_refused_to_the_letter(api: Api, tmp_path: Path, name: str) -> None:
    answer = await upload(api, TEXT, name)
    assert faults("/documents/upload", answer, 400) == []
    assert answer.json() == {"error": UNSUPPORTED, "supported": SUPPORTED}
    await assert_nothing_is_left(api, tmp_path)


async def test_another_type_is_refused_before_its_bytes_are_read(api: Api) -> None:
    read = []

    async def body() -> AsyncIterator[bytes]:
        yield part(b"x", 'form-data; name="file"; filename="a.exe"')
        for _ in range(100):
            read.append(1)
            yield b"x" * 65536

    answer = await send(api, body())
    assert (answer.status_code, answer.json()["error"]) == (400, UNSUPPORTED)
    assert len(read) <= 1


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.pdf", b"not a PDF"), ("a.pdf", pdf("x")[:80]), ("a.docx", b"PK\x03\x04 nothing"), ("a.txt", pdf("x"))],
)
async def test_a_file_that_cannot_be_parsed_is_400_with_a_reason(
    api: Api, tmp_path: Path, name: str, data: bytes
) -> None:
    answer = await upload(api, data, name)
    assert faults("/documents/upload", answer, 400) == []
    assert len(answer.json()["error"]) > 10
    await assert_nothing_is_left(api, tmp_path)


def large(size: int) -> bytes:
    """A text file of this size with hardly any text."""
    return TEXT + b" " * (size - len(TEXT))


async def in_pieces(body: bytes, read: list[int] | None = None) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 1_000_000):
        if read is not None:
            read.append(start)
        yield body[start : start + 1_000_000]


async def test_fifty_megabytes_are_accepted(api: Api, tmp_path: Path) -> None:
    data = pdf("Hello there") + b"%" * limits.UPLOAD_BYTES
    answer = await upload(api, data[: limits.UPLOAD_BYTES], "large.pdf")
    assert (answer.status_code, answer.json()["size_bytes"]) == (200, 52_428_800), answer.text
    assert (await rows(api))["blobs"] == 2


@pytest.mark.parametrize("announced", [True, False], ids=["content-length", "chunked"])
async def test_one_byte_more_is_refused_to_the_letter(api: Api, tmp_path: Path, announced: bool) -> None:
    body = form(part(large(52_428_801)))
    answer = await send(api, body if announced else in_pieces(body))
    assert faults("/documents/upload", answer, 400) == []
    assert answer.json() == {"error": TOO_LARGE}
    assert answer.headers["X-Service-Error-Code"] == "too_large"
    await assert_nothing_is_left(api, tmp_path)


async def test_reading_stops_at_the_limit(api: Api) -> None:
    read: list[int] = []

    async def endless() -> AsyncIterator[bytes]:
        yield part()[:-2]
        while True:
            read.append(1_000_000)
            yield b" " * 1_000_000

    answer = await send(api, endless())
    assert answer.json() == {"error": TOO_LARGE}
    assert sum(read) <= limits.UPLOAD_BYTES + 2_000_000


async def test_a_length_that_cannot_fit_is_refused_unread(api: Api) -> None:
    read: list[int] = []
    answer = await send(api, in_pieces(b"x", read), {"Content-Length": "60000000"})
    assert (answer.json(), read) == ({"error": TOO_LARGE}, [])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (form(part(disposition='form-data; name="document"; filename="a.txt"')), "not named 'file'"),
        (form(part(disposition="form-data")), "not named 'file'"),
        (form(part(), part()), "several files"),
        (form(part(), part(b"1", 'form-data; name="note"')), "not named 'file'"),
        (f"--{BOUNDARY}--\r\n".encode(), "no part named 'file'"),
        (form(part(disposition='form-data; name="file"')), "no file name"),
        (form(part(disposition='form-data; name="file"; filename=""')), "no file name"),
        (form(part(disposition='form-data; name="file"; filename="a/.."')), "no file name"),
        (form(part(disposition='form-data; name="file"; filename="\x01\x02"')), "no file name"),
        (form(part(disposition=f'form-data; name="file"; filename="{"a" * 252}.txt"')), "longer than 255"),
        (form(part(disposition="form-data; name=\"file\"; filename*=klingon''a.txt")), "character set"),
        (form(part(disposition="form-data; name=\"file\"; filename*=UTF-8''%ff.txt")), "character set"),
        (form(part(disposition=f'form-data; name="file"; filename="{"a" * 9000}.txt"')), "cannot be read"),
        (form(part(disposition='attachment; name="file"; filename="a.txt"')), "cannot be read"),
        (form(part())[:-8], "truncated"),
        (part(), "truncated"),
        (b"", "truncated"),
        (b"--another\r\n\r\n", "truncated"),
        (b"x" * 200_000, "boundary is different"),
        (form(b"--" + BOUNDARY.encode() + b"\r\nno header\r\n\r\n"), "cannot be read"),
        (form(part()) + b"x" * 200_000, "too much outside its parts"),
    ],
)
async def test_a_form_that_is_wrong_is_400_and_says_why(api: Api, tmp_path: Path, body: bytes, reason: str) -> None:
    answer = await send(api, body)
    assert faults("/documents/upload", answer, 400) == []
    assert reason in answer.json()["error"]
    await assert_nothing_is_left(api, tmp_path)


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "application/json",
        "multipart/mixed; boundary=x",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        f"multipart/form-data; boundary={'x' * 201}",
    ],
)
@pytest.mark.one_database
async def test_another_content_type_is_400(api: Api, kind: str) -> None:
    answer = await api.call("POST", "/documents/upload", content=form(), headers={"Content-Type": kind})
    assert faults("/documents/upload", answer, 400) == []


@pytest.mark.parametrize("size", [1, 2, 7, 64])
@pytest.mark.one_database
async def test_a_form_may_come_in_pieces_of_any_size(api: Api, size: int) -> None:
    body = form(part(b"\r\n--a-boundary-of-our\r\n--" + TEXT))

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    answer = await send(api, pieces())
    assert answer.status_code == 200, answer.text
    content = await api.get(f"/documents/{answer.json()['doc_id']}/content")
    assert content.content == b"\r\n--a-boundary-of-our\r\n--" + TEXT


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('filename="lease.txt"', "lease.txt"),
        ('filename="../../etc/lease.txt"', "lease.txt"),
        (r'filename="C:\\Users\\me\\lease.txt"', "lease.txt"),
        ('filename="a\x07b\x7f.txt"', "ab.txt"),
        ('filename="  spaced out .txt"', "spaced out .txt"),
        ('filename="Mietvertrag Köln 契約.txt"', "Mietvertrag Köln 契約.txt"),
        ('filename="Ko\u0308ln.txt"', "Köln.txt"),
        ('filename="evil\u202etxt.exe.txt"', "eviltxt.exe.txt"),
        ('filename="say %22hi%22.txt"', 'say "hi".txt'),
        ("filename=bare.txt", "bare.txt"),
        ("filename=\"plain.txt\"; filename*=UTF-8''K%C3%B6ln%20%E2%82%AC.txt", "Köln €.txt"),
        ("filename*=iso-8859-1'en'K%F6ln.txt", "Köln.txt"),
        ("filename*=UTF-8''..%2Fup.txt", "up.txt"),
        (f'filename="{"n" * 251}.txt"', "n" * 251 + ".txt"),
    ],
)
async def test_a_file_name_is_kept_without_what_could_harm(api: Api, given: str, kept: str) -> None:
    answer = await send(api, form(part(disposition=f'form-data; name="file"; {given}')))
    assert answer.json().get("filename") == kept, answer.text


async def test_a_body_that_stops_coming_is_408_and_leaves_nothing(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_limits, "UPLOAD_STALL_SECONDS", 0.2)

    async def stalled() -> AsyncIterator[bytes]:
        yield part(b"x" * 1_000_000)[:-2]
        await asyncio.sleep(60)

    answer = await send(api, stalled())
    assert faults("/documents/upload", answer, 408) == []
    assert answer.json() == {"error": "Request took too long"}
    await assert_nothing_is_left(api, tmp_path)


async def test_a_body_that_drips_is_408_though_it_never_stops(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_limits, "UPLOAD_STALL_SECONDS", 0.5)

    async def dripping() -> AsyncIterator[bytes]:
        yield part(b"x")[:-2]
        while True:
            await asyncio.sleep(0.02)
            yield b"x"

    answer = await send(api, dripping())
    assert faults("/documents/upload", answer, 408) == []
    await assert_nothing_is_left(api, tmp_path)


async def test_a_body_that_keeps_coming_may_take_longer_than_a_request(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_limits, "REQUEST_SECONDS", 2)
    body = form()

    async def slowly() -> AsyncIterator[bytes]:
        yield body[:20]
        monkeypatch.setattr(web_limits, "REQUEST_SECONDS", 30)  # the time for what follows the body
        await asyncio.sleep(2.5)
        yield body[20:]

    assert (await send(api, slowly())).status_code == 200


async def test_a_caller_that_hangs_up_leaves_nothing(api: Api, tmp_path: Path) -> None:
    sent: list[Any] = []
    pieces = [{"type": "http.request", "body": part(b"x" * 900_000)[:-2], "more_body": True}]

    async def receive() -> Any:
        return pieces.pop() if pieces else {"type": "http.disconnect"}

    async def note(message: Any) -> None:
        sent.append(message)

    kind = f"multipart/form-data; boundary={BOUNDARY}"
    headers = [(b"authorization", f"Bearer {api.key.plain}".encode()), (b"content-type", kind.encode())]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/documents/upload",
        "raw_path": b"/documents/upload",
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 5000),
        "server": ("deedbox.test", 80),
    }
    await api.guard(scope, receive, note)
    assert sent[0]["status"] == 400
    await assert_nothing_is_left(api, tmp_path)


async def test_equal_bytes_share_blob_and_text_under_ids_of_their_own(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await doc_id(api, name="a.txt")
    parsed = []
    extractor = api.deedbox.search.extractor
    pack = extractor.pack

    async def counted(*args: Any) -> Any:
        parsed.append(1)
        return await pack(*args)

    monkeypatch.setattr(extractor, "pack", counted)
    two = await doc_id(api, name="b.txt")
    assert one != two
    assert parsed == [], "the same bytes are not parsed again"
    counts = await rows(api)
    assert (counts["uploads"], counts["extractions"], counts["blobs"], counts["blob_refs"]) == (2, 1, 2, 3)
    assert (await api.get(f"/documents/{two}/text")).content == TEXT
    other = await doc_id(api, key=await api.make_key(workspace=api.other_workspace))
    assert parsed == [1], "another workspace does not learn what this one holds"
    counts = await rows(api)
    assert (counts["uploads"], counts["extractions"], counts["blobs"]) == (3, 2, 2)
    assert other not in (one, two)
    await api.deedbox.blobs.sweep(api.deedbox.db, api.clock.now())
    assert len(stored(tmp_path)) == 2


async def test_the_same_bytes_under_another_type_are_checked_again(api: Api) -> None:
    await doc_id(api, b"only words", "a.txt")
    refused = await upload(api, b"only words", "a.pdf")
    assert refused.status_code == 400
    assert (await rows(api))["extractions"] == 1


async def test_the_same_bytes_under_two_types_are_two_texts(api: Api) -> None:
    data = b"<p>words</p>"
    plain, page = await doc_id(api, data, "b.txt"), await doc_id(api, data, "b.html")
    counts = await rows(api)
    assert (counts["uploads"], counts["extractions"], counts["blobs"], counts["blob_refs"]) == (2, 2, 3, 4)
    assert (await api.get(f"/documents/{plain}/text")).text == "<p>words</p>"
    assert (await api.get(f"/documents/{page}/text")).text.strip() == "words"
    again = await doc_id(api, data, "c.html")
    assert (await rows(api))["extractions"] == 2
    assert (await api.get(f"/documents/{again}/text")).text.strip() == "words"


@pytest.mark.files_in_folder("looks at half a file, which S3 shows to nobody")
async def test_an_upload_given_up_while_it_is_parsed_leaves_nothing(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is half on the disk when the client hangs up."""
    begun = asyncio.Event()
    extractor = api.deedbox.search.extractor
    pack = extractor.pack

    async def stalled(data: Any, kind: str, write: Any) -> Any:
        async def stall(piece: bytes) -> None:
            await write(bytes(2 * limits.BLOB_CHUNK_BYTES))
            begun.set()
            await asyncio.Event().wait()

        return await pack(data, kind, stall)

    monkeypatch.setattr(extractor, "pack", stalled)
    given_up = asyncio.create_task(upload(api))
    await begun.wait()
    assert [name.split("/")[0] for name in stored(tmp_path)].count("incoming") == 1
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    await assert_nothing_is_left(api, tmp_path)
    monkeypatch.undo()
    await doc_id(api)


async def test_a_retry_with_the_same_key_gets_the_same_answer_and_has_one_effect(api: Api, tmp_path: Path) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = await upload(api, headers=headers)
    again = await upload(api, headers=headers)
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (await rows(api))["uploads"] == 1
    assert len(stored(tmp_path)) == 2


@pytest.mark.parametrize(("data", "name"), [(b"other words", "a.txt"), (TEXT, "b.txt")])
async def test_another_file_under_the_same_key_is_409(api: Api, tmp_path: Path, data: bytes, name: str) -> None:
    headers = {"Idempotency-Key": "k1"}
    await upload(api, headers=headers)
    other = await upload(api, data, name, headers=headers)
    assert faults("/documents/upload", other, 409) == []
    assert other.headers["X-Service-Error-Code"] == "idempotency_conflict"
    assert (await rows(api))["uploads"] == 1
    assert len(stored(tmp_path)) == 2


async def test_a_twin_of_an_upload_that_still_runs_is_refused_unread(api: Api) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield form()[:50]
        begun.set()
        await go_on.wait()
        yield form()[50:]

    headers = {"Idempotency-Key": "k1"}
    first = asyncio.create_task(send(api, slow(), headers))
    await begun.wait()
    twin = await upload(api, headers=headers)
    go_on.set()
    assert (twin.status_code, twin.headers["X-Service-Error-Code"]) == (409, "idempotency_in_progress")
    assert (await first).status_code == 200
    assert (await upload(api, headers=headers)).content == (await first).content
    assert (await rows(api))["uploads"] == 1


async def test_a_key_that_is_no_key_is_refused_before_the_file_is_read(api: Api) -> None:
    answer = await send(api, form(), {"Idempotency-Key": "x" * 256})
    assert faults("/documents/upload", answer, 400) == []
    assert (await rows(api))["uploads"] == 0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a.txt", "a.txt"),
        ("/x/y\\z.md", "z.md"),
        ("a\nb.csv", "ab.csv"),
        ("\u2028a.txt", "a.txt"),
        ("a\ud800.txt", "a.txt"),
    ],
)
def test_a_name_is_cleaned(given: str, kept: str) -> None:
    assert clean(given) == kept
