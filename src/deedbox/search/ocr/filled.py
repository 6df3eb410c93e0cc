"""The text of a document with that of its scanned pages."""

from bisect import bisect_right
from collections.abc import Mapping

import msgspec

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.limits import EXTRACTED_CHARS
from deedbox.search.library.upload import Extraction


def pages_without_text(extraction: Extraction) -> list[int]:
    starts, text = extraction.page_starts or [], extraction.text
    return [
        number
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), 1)
        if not text[start:end].strip()
    ]


def fill_pages(extraction: Extraction, scanned: Mapping[int, str]) -> tuple[Extraction, dict[int, int]]:
    """The text with that of these pages where the file has none, and where each of them begins."""
    starts = extraction.page_starts or []
    empty = {number for number in pages_without_text(extraction) if scanned.get(number, "").strip()}
    pieces, shifts, begins, shift = list[str](), list[int](), dict[int, int](), 0
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(extraction.text)], strict=True), 1):
        shifts.append(shift)
        if number in empty or number in extraction.scanned:
            begins[number] = start + shift
        if number in empty:
            pieces.append(scanned[number] + "\n")
            shift += len(pieces[-1])
        pieces.append(extraction.text[start:end])
    headings = [
        (offset + shifts[bisect_right(starts, offset) - 1] if starts else offset, title)
        for offset, title in extraction.headings
    ]
    text = extraction.text[: starts[0]] + "".join(pieces) if starts else extraction.text
    if len(text) > EXTRACTED_CHARS:
        raise BadRequest(f"The document has more than {EXTRACTED_CHARS:,} characters of text. Split it into parts.")
    moved = [start + by for start, by in zip(starts, shifts, strict=True)]
    return msgspec.structs.replace(
        extraction, text=text, page_starts=moved if starts else None, headings=headings, scanned=sorted(begins)
    ), begins
