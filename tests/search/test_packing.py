"""Kept texts: opened as they were, at once or piece by piece; what no sandbox should have made is not opened."""

import random
import zlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from deedbox.kernel import limits
from deedbox.search import extract
from deedbox.search import limits as search_limits
from deedbox.search.extract import Damaged, Packed
from deedbox.search.library.upload import Extraction

SOUND = Extraction("Rent.\nDue on the first.", [0, 6], [(0, "Rent."), (6, "Due")])
DENSE = "".join(random.Random(3).choices("abcdefghijklmnopqrstuvwxyzäöü契約😀", k=400_000))
TEXTS = [SOUND, Extraction("", None, []), Extraction("契約 😀", [0], []), Extraction("x" * 1_000_000, None, [])]


def opened(text: bytes = SOUND.text.encode(), size: int | None = None, marks: Any = ([0, 6], [])) -> bytes:
    """What a kept text opens to, with whatever is wrong with it."""
    return (len(text) if size is None else size).to_bytes(8, "big") + text + msgspec.msgpack.encode(marks)


def pack(extraction: Extraction) -> tuple[list[bytes], Packed]:
    pieces, packing_ = [], extract.pack_pieces(extraction)
    while True:
        try:
            pieces.append(next(packing_))
        except StopIteration as end:
            return pieces, end.value


async def streamed(body: bytes, step: int = 1000) -> tuple[int, bytes]:
    """The announced size, and what comes out of a body that comes in pieces."""

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), step):
            yield body[start : start + step]

    size, text = await extract.opened_text(pieces())
    return size, b"".join([piece async for piece in text])


@pytest.mark.parametrize("extraction", [*TEXTS, Extraction(DENSE, None, [])])
def test_a_text_comes_back_as_it_was(extraction: Extraction) -> None:
    pieces, told = pack(extraction)
    assert extract.unpack(b"".join(pieces)) == extraction
    pages = None if extraction.page_starts is None else len(extraction.page_starts)
    assert told == Packed(len(extraction.text), pages)


@pytest.mark.parametrize("text", [DENSE * 5, "x" * 5_000_000])
def test_a_text_is_packed_in_small_pieces(text: str) -> None:
    pieces, _ = pack(Extraction(text, None, []))
    assert max(map(len, pieces)) <= 2 * limits.BLOB_CHUNK_BYTES < limits.SANDBOX_PIECE_BYTES
    assert all(pieces)


@pytest.mark.parametrize("step", [1, 7, 1_000_000])
@pytest.mark.parametrize("extraction", [*TEXTS, Extraction(DENSE[:50_000], [0, 6], [(0, "Heading")])])
@pytest.mark.anyio
async def test_the_characters_can_be_opened_piece_by_piece(extraction: Extraction, step: int) -> None:
    body, expected = b"".join(pack(extraction)[0]), extraction.text.encode()
    assert await streamed(body, step) == (len(expected), expected)


@pytest.mark.anyio
async def test_a_text_of_a_thousand_times_its_packed_size_is_opened_in_small_pieces() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"".join(pack(Extraction("x" * 20_000_000, None, []))[0])

    _, text = await extract.opened_text(body())
    assert max([len(piece) async for piece in text]) <= limits.BLOB_CHUNK_BYTES


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        b"no compressed bytes",
        zlib.compress(b""),
        zlib.compress(opened(DENSE.encode()))[:100_000],
        zlib.compress(opened(b"\xff\xfe")),
        zlib.compress(opened("ä".encode()[:1])),
        zlib.compress(opened(b"a\x00b", marks=(None, []))),
        zlib.compress(opened(size=10_000)),
        zlib.compress(opened(size=2**63)),
    ],
)
@pytest.mark.anyio
async def test_what_no_file_can_have_given_is_not_opened(kept: bytes) -> None:
    with pytest.raises(Damaged, match="damaged"):
        extract.unpack(kept)
    with pytest.raises(Damaged, match="damaged"):
        await streamed(kept)


@pytest.mark.parametrize("marks", [5, None, [], (["0"], []), ([6, 0], []), ([-1], []), (None, [(1000, "beyond")])])
def test_a_text_with_impossible_marks_is_not_opened(marks: Any) -> None:
    with pytest.raises(Damaged, match="damaged"):
        extract.unpack(zlib.compress(opened(marks=marks)))


def test_a_text_without_its_checksum_is_not_opened() -> None:
    with pytest.raises(Damaged):
        extract.unpack(zlib.compress(opened())[:-1])


def test_a_body_that_opens_to_too_much_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_limits, "PACKED_TEXT_BYTES", 1000)
    assert extract.unpack(zlib.compress(opened(b"x" * 900))).text == "x" * 900
    with pytest.raises(Damaged):
        extract.unpack(zlib.compress(opened(b"x" * 1001)))
