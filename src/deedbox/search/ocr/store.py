"""The table of scanned pages: the text that was read from each, and where its words stand."""

from collections.abc import Mapping, Sequence

import msgspec

from deedbox.kernel.db import Tx, Value
from deedbox.search.library.upload import Chunk, LibraryUpload
from deedbox.search.ocr import SCALE, Box, RecognisedWord, ScannedPage

_words = msgspec.msgpack.Decoder(list[RecognisedWord])


def keep(tx: Tx, upload: LibraryUpload, page: ScannedPage) -> None:
    """Whoever was first has read it."""
    tx.run(
        "insert into scanned_pages (workspace_id, sha256, media_type, page, text, words)"
        " values (:workspace_id, :sha256, :media_type, :page, :text, :words)"
        " on conflict (workspace_id, sha256, media_type, page) do nothing",
        **_content(upload),
        page=page.number,
        text=page.text,
        words=msgspec.msgpack.encode(page.words),
    )


def texts(tx: Tx, upload: LibraryUpload) -> dict[int, str]:
    """What was read from the pages of the upload's content, by page."""
    rows = tx.all(f"select page, text from scanned_pages where {_OF_CONTENT} order by page", **_content(upload))
    return {row[0]: row[1] for row in rows}


def place(tx: Tx, upload: LibraryUpload, starts: Mapping[int, int]) -> None:
    """Tells where in the document's text each of the pages begins."""
    sql = f"update scanned_pages set char_start = :char_start where {_OF_CONTENT} and page = :page"
    tx.many(sql, [{**_content(upload), "page": page, "char_start": start} for page, start in starts.items()])


def boxes(tx: Tx, upload: LibraryUpload, chunk: Chunk, spans: Sequence[tuple[int, int]] | None = None) -> list[Box]:
    """The places of the chunk's words that were read by OCR; of those in these parts of the chunk only, if given."""
    rows = tx.all(
        f"select page, words, char_start from scanned_pages where {_OF_CONTENT} and char_start < :chunk_end"
        " and char_start + length(text) > :chunk_start order by page",
        **_content(upload),
        chunk_start=chunk.char_start,
        chunk_end=chunk.char_end,
    )
    wanted = [(0, len(chunk.text))] if spans is None else spans
    return [
        _box(page, word)
        for page, words, begin in rows
        for word in _words.decode(words)
        if _meets(wanted, begin + word.start - chunk.char_start, begin + word.end - chunk.char_start)
    ]


def _meets(spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    return any(first < end and start < last for first, last in spans)


def _box(page: int, word: RecognisedWord) -> Box:
    return Box(page, word.left / SCALE, word.top / SCALE, word.right / SCALE, word.bottom / SCALE)


def forget(tx: Tx, upload: LibraryUpload) -> None:
    tx.run(f"delete from scanned_pages where {_OF_CONTENT}", **_content(upload))


_OF_CONTENT = "workspace_id = :workspace_id and sha256 = :sha256 and media_type = :media_type"


def _content(upload: LibraryUpload) -> dict[str, Value]:
    return {"workspace_id": upload.workspace_id, "sha256": upload.sha256, "media_type": upload.media_type}
