"""Texts as they are kept: opened as they were, and what no sandbox should have made is not opened."""

import zlib
from typing import Any

import msgspec
import pytest

from deedbox.kernel.errors import DeedboxError
from deedbox.search import packing
from deedbox.search.upload import Extraction

SOUND = Extraction("Rent.\nDue on the first.", [0, 6], [(0, "Rent."), (6, "Due")])


def body(**differences: Any) -> bytes:
    return zlib.compress(msgspec.msgpack.encode({**msgspec.structs.asdict(SOUND), **differences}))


@pytest.mark.parametrize(
    "extraction",
    [SOUND, Extraction("", None, []), Extraction("契約 😀", [0], []), Extraction("x" * 1_000_000, None, [])],
)
def test_a_text_comes_back_as_it_was(extraction: Extraction) -> None:
    packed = packing.packed(extraction)
    assert packing.unpacked(packed.body) == extraction
    assert packed.text_length == len(extraction.text)
    assert packed.pages == (None if extraction.page_starts is None else len(extraction.page_starts))


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        b"no compressed bytes",
        zlib.compress(b"no msgpack \xc1"),
        body()[:-5],
        body(text=5),
        body(text="a\x00b", page_starts=None, headings=[]),
        body(page_starts=[6, 0]),
        body(page_starts=[-1]),
        body(headings=[(1000, "beyond the end")]),
    ],
)
def test_what_no_file_can_have_given_is_not_opened(kept: bytes) -> None:
    with pytest.raises(DeedboxError, match="damaged"):
        packing.unpacked(kept)


def test_a_body_that_opens_to_too_much_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_OPENED_BYTES", 1000)
    assert packing.unpacked(body(text="x" * 900)).text == "x" * 900
    with pytest.raises(DeedboxError, match="damaged"):
        packing.unpacked(body(text="x" * 1001))
