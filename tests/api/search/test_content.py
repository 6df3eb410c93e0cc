"""What a document holds: bytes with ranges and tags, text, chunks and pictures of pages."""

import asyncio
import hashlib
import io
from collections.abc import AsyncIterator

import pytest
from PIL import Image

from deedbox.kernel import limits
from deedbox.pdf import limits as pdf_limits
from deedbox.pdf.render import draw_pages as render
from deedbox.web import limits as web_limits
from tests.api.answers import faults
from tests.api.conftest import Api
from tests.api.search.files import TEXT, doc_id, index_as, pdf

pytestmark = pytest.mark.anyio

ETAG = f'"{hashlib.sha256(TEXT).hexdigest()}"'


async def test_the_content_is_the_original_bytes_as_a_download(api: Api) -> None:
    found = await doc_id(api, name='Köln "1".txt')
    answer = await api.get(f"/documents/{found}/content")
    assert (answer.status_code, answer.content) == (200, TEXT)
    assert answer.headers["ETag"] == ETAG
    assert answer.headers["Content-Length"] == str(len(TEXT))
    assert answer.headers.get_list("Content-Type") == ["text/plain"], "nobody knows its character set"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert (
        answer.headers["Content-Disposition"]
        == "attachment; filename=\"K_ln _1_.txt\"; filename*=UTF-8''K%C3%B6ln%20%221%22.txt"
    )


async def test_a_large_file_comes_back_whole(api: Api) -> None:
    data = pdf("Hello") + b"%" + bytes(range(256)) * 4096
    found = await doc_id(api, data, "a.pdf")
    assert (await api.get(f"/documents/{found}/content")).content == data
    middle = await api.get(f"/documents/{found}/content", headers={"Range": "bytes=300000-900000"})
    assert (middle.status_code, middle.content) == (206, data[300000:900001])


async def test_a_download_may_take_longer_than_a_request_while_it_goes_on(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pdf("Hello") + b"%" + bytes(range(256)) * 4096
    found = await doc_id(api, data, "a.pdf")
    blobs = api.deedbox.blobs
    open_range = blobs.open_range

    async def slowly(location: str, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        async for piece in open_range(location, start, length):
            yield piece
            await asyncio.sleep(0.3)

    monkeypatch.setattr(blobs, "open_range", slowly)
    monkeypatch.setattr(limits, "BLOB_CHUNK_BYTES", len(data) // 6)
    monkeypatch.setattr(web_limits, "REQUEST_SECONDS", 1)
    assert (await api.get(f"/documents/{found}/content")).content == data


@pytest.mark.parametrize("tag", [ETAG, f"W/{ETAG}", f'"other", {ETAG}', "*"])
@pytest.mark.one_database
async def test_a_caller_that_has_the_content_gets_304(api: Api, tag: str) -> None:
    found = await doc_id(api)
    answer = await api.get(f"/documents/{found}/content", headers={"If-None-Match": tag})
    assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", ETAG)


async def test_a_caller_that_has_another_content_gets_it_all(api: Api) -> None:
    found = await doc_id(api)
    answer = await api.get(f"/documents/{found}/content", headers={"If-None-Match": '"other"'})
    assert (answer.status_code, answer.content) == (200, TEXT)


@pytest.mark.parametrize(
    ("wish", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=4-9", 4, 10),
        ("bytes=4-", 4, len(TEXT)),
        ("bytes=-5", len(TEXT) - 5, len(TEXT)),
        ("bytes=-5000", 0, len(TEXT)),
        ("bytes=0-5000", 0, len(TEXT)),
    ],
)
@pytest.mark.one_database
async def test_a_part_is_206_and_says_which(api: Api, wish: str, start: int, end: int) -> None:
    found = await doc_id(api)
    answer = await api.get(f"/documents/{found}/content", headers={"Range": wish})
    assert (answer.status_code, answer.content) == (206, TEXT[start:end])
    assert answer.headers["Content-Range"] == f"bytes {start}-{end - 1}/{len(TEXT)}"
    assert answer.headers["Content-Length"] == str(end - start)


@pytest.mark.parametrize("wish", ["bytes=5-4", "bytes=-", "bytes=0-1,3-4", "lines=1-2", "bytes=a-b", "x"])
@pytest.mark.one_database
async def test_what_is_no_single_range_gets_the_whole(api: Api, wish: str) -> None:
    found = await doc_id(api)
    answer = await api.get(f"/documents/{found}/content", headers={"Range": wish})
    assert (answer.status_code, answer.content) == (200, TEXT)


@pytest.mark.parametrize("wish", [f"bytes={len(TEXT)}-", "bytes=9999-10000", "bytes=-0"])
async def test_a_range_beyond_the_end_is_416_with_the_size(api: Api, wish: str) -> None:
    found = await doc_id(api)
    answer = await api.get(f"/documents/{found}/content", headers={"Range": wish})
    assert faults("/documents", answer, 416) == []
    assert answer.headers["Content-Range"] == f"bytes */{len(TEXT)}"


@pytest.mark.parametrize(("tag", "status"), [(ETAG, 206), ('"old"', 200)])
async def test_a_range_of_another_version_gets_the_whole(api: Api, tag: str, status: int) -> None:
    found = await doc_id(api)
    headers = {"Range": "bytes=0-3", "If-Range": tag}
    assert (await api.get(f"/documents/{found}/content", headers=headers)).status_code == status


@pytest.mark.parametrize("words", [" ", "x", "Größe 契約 😀 " * 100_000])
async def test_the_text_comes_whole_with_its_length(api: Api, words: str) -> None:
    found = await doc_id(api, words.encode(), "a.txt")
    answer = await api.get(f"/documents/{found}/text")
    assert (answer.status_code, answer.text) == (200, words)
    assert answer.headers["Content-Length"] == str(len(answer.content))


async def test_the_text_is_plain_text_in_utf_8(api: Api) -> None:
    found = await doc_id(api, "Größe 契約 😀".encode("utf-16"), "a.txt")
    answer = await api.get(f"/documents/{found}/text")
    assert (answer.status_code, answer.content.decode("utf-8")) == (200, "Größe 契約 😀")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_html_is_never_served_as_a_page(api: Api) -> None:
    found = await doc_id(api, b"<p>Hi</p><script>alert(1)</script>", "a.html")
    assert (await api.get(f"/documents/{found}/content")).headers["Content-Disposition"].startswith("attachment")
    assert (await api.get(f"/documents/{found}/text")).headers["Content-Type"].startswith("text/plain")


async def test_there_are_no_chunks_before_there_are_some(api: Api) -> None:
    found = await doc_id(api)
    assert (await api.get(f"/documents/{found}/chunks")).json()["chunks"] == []
    await index_as(api, found, "The tenant", " pays")
    body = (await api.get(f"/documents/{found}/chunks")).json()
    assert body["count"] == 2
    assert body["chunks"][1] == {
        "chunk_id": f"{found}_chunk_1",
        "chunk_index": 1,
        "text": " pays",
        "char_start": 10,
        "char_end": 15,
        "page": None,
        "heading": None,
        "ocr": False,
    }


async def test_a_page_of_a_pdf_is_a_picture_of_bounded_size(api: Api) -> None:
    found = await doc_id(api, pdf("one", "two"), "a.pdf")
    seen = []
    for number in (1, 2):
        answer = await api.get(f"/documents/{found}/pages/{number}.webp")
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/webp"), answer.text
        image = Image.open(io.BytesIO(answer.content))
        assert (image.format, image.width - limits.PAGE_IMAGE_WIDTH in (0, 1)) == ("WEBP", True)
        assert len(image.convert("RGB").getcolors(1 << 24) or []) > 1, "the page is not blank"
        seen.append(answer.content)
        again = await api.get(
            f"/documents/{found}/pages/{number}.webp", headers={"If-None-Match": answer.headers["ETag"]}
        )
        assert (again.status_code, again.content) == (304, b"")
    assert seen[0] != seen[1]


@pytest.mark.parametrize("page", ["0.webp", "3.webp", "1.png", "01.webp", "-1.webp", "1", "9999999.webp", "x.webp"])
@pytest.mark.one_database
async def test_a_page_that_is_not_there_is_404(api: Api, page: str) -> None:
    found = await doc_id(api, pdf("one", "two"), "a.pdf")
    answer = await api.get(f"/documents/{found}/pages/{page}")
    assert faults("/documents", answer, 404) == []
    assert "no such page" in answer.json()["error"]


async def test_other_formats_have_no_page_images_and_the_answer_says_so(api: Api) -> None:
    found = await doc_id(api)
    answer = await api.get(f"/documents/{found}/pages/1.webp")
    assert faults("/documents", answer, 404) == []
    assert "Only PDF" in answer.json()["error"]


@pytest.mark.parametrize(
    "size", [(595, 842), (14400, 14400), (3, 14400), (14400, 3), (1, 1), (200, 14000), (100_000, 100_000)]
)
async def test_no_page_makes_a_picture_beyond_the_bounds(size: tuple[int, int]) -> None:
    image = Image.open(io.BytesIO(render.render(pdf("x", size=size), 1)))
    assert image.width * image.height <= pdf_limits.PAGE_IMAGE_PIXELS * 1.02
    assert max(image.size) <= pdf_limits.PAGE_IMAGE_SIDE + 1
