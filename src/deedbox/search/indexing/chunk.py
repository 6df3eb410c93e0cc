"""Cuts text into chunks of so many tokens at its best boundaries: nothing is lost, every offset is exact."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deedbox.search.library.upload import Chunk, Extraction
from deedbox.search.limits import CHUNK_TOKEN_CHARS, CHUNK_TOKENIZE_BATCH, CHUNK_TOKENIZE_CHARS

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

Span: TypeAlias = tuple[int, int]
Starts: TypeAlias = NDArray[np.int64]

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_BULLET = r"[ \t]*(?:[-*+•‣▪◦·–]|\(?\w{1,3}[.)])[ \t]"
_ROW = r"[ \t]*\||[^\n]*(?:\t| \| )"
_ITEM = re.compile(rf"\n(?={_BULLET}|{_ROW})")
_ITEM_END = re.compile(rf"\n(?=[ \t]*(?:\n|$)|{_BULLET}|{_ROW})")
_SENTENCE = re.compile(r"[.!?…][\"'”’»)\]]*\s+(?![a-z])|[。！？]\s*")
_LINE = re.compile(r"\n\s*")
_SPACE = re.compile(r"\s+")
# Where every tokenizer parts words, so that a cut beside them changes no token.
_PARTING = frozenset(" \n\t\r\u00a0\u3000")
_ahead = ThreadPoolExecutor(1)
"""Its thread starts with the first text, and stays: a sandbox starts none once it is closed."""


def chunks(extraction: Extraction, tokenizer: "Tokenizer", size: int, overlap: int) -> list[Chunk]:
    """The text as chunks of at most `size` tokens of this tokenizer, special ones not counted."""
    return cut(extraction, token_spans(extraction, tokenizer, size, overlap))


def token_spans(extraction: Extraction, tokenizer: "Tokenizer", size: int, overlap: int) -> list[Span]:
    """Where the chunks begin and end."""
    text = extraction.text
    tokens = tokens_of(tokenizer, text)
    found = spans(text, tokens.starts, extraction.headings, size, overlap)
    doubtful = [span for span in found if not tokens.stay(text, *span)]
    return list(_within(tokenizer, text, found, doubtful, size))


def cut(extraction: Extraction, found: Sequence[Span]) -> list[Chunk]:
    """The chunks at these places, each with its page and the heading it stands under."""
    pages, scanned = extraction.page_starts, set(extraction.scanned)
    offsets = [offset for offset, _ in extraction.headings]
    made = []
    for number, (start, end) in enumerate(found):
        page = max(1, bisect_right(pages, start)) if pages else None
        above = bisect_right(offsets, start) - 1
        heading = extraction.headings[above][1] if above >= 0 else None
        ocr = bool(scanned) and not scanned.isdisjoint(range(page or 1, bisect_left(pages or [], end) + 1))
        made.append(Chunk(number, extraction.text[start:end], start, end, page, heading, ocr))
    return made


def spans(
    text: str, token_starts: Sequence[int] | Starts, headings: Sequence[tuple[int, str]], size: int, overlap: int
) -> list[Span]:
    """The places of the chunks, without space at their edges: at most `size` of the tokens begin in each."""
    filled = _filled(np.asarray(token_starts, dtype=np.int64), len(text))
    return list(_Cutter(text, filled, [offset for offset, _ in headings], size, overlap).spans())


class Tokens(NamedTuple):
    """The tokens of a text: where each begins, whether it begins a word, and where the text was cut inside a word."""

    starts: Starts
    begins_word: NDArray[np.bool_]
    joints: list[int]

    def stay(self, text: str, start: int, end: int) -> bool:
        """Whether this part of the text, read by itself, has the same tokens."""
        joint = bisect_right(self.joints, start)
        crossed = joint < len(self.joints) and self.joints[joint] < end
        return not crossed and self._parts_words(text, start) and self._parts_words(text, end)

    def _parts_words(self, text: str, place: int) -> bool:
        if place in (0, len(text)) or text[place - 1] in _PARTING or text[place] in _PARTING:
            return True
        token = int(np.searchsorted(self.starts, place))
        return token < len(self.starts) and self.starts[token] == place and bool(self.begins_word[token])


def tokens_of(tokenizer: "Tokenizer", text: str) -> Tokens:
    """The tokens of the whole text, special ones left out."""
    pieces = list(_pieces(text))
    starts, begins = [np.zeros(0, np.int64)], [np.zeros(0, np.bool_)]
    encoded = _encoded(tokenizer, [text[start:end] for start, end in pieces])
    for (start, _), encoding in zip(pieces, encoded, strict=True):
        starts.append(start + np.fromiter((offset for offset, _ in encoding.offsets), np.int64, len(encoding)))
        words = np.array([-1, *encoding.word_ids], np.float32)
        begins.append(words[1:] != words[:-1])
    joints = [end for _, end in pieces[:-1] if text[end - 1] not in _PARTING]
    return Tokens(np.concatenate(starts), np.concatenate(begins), joints)


def _pieces(text: str) -> Iterator[Span]:
    """Short pieces that end at a line or a word where they can: a tokenizer slows down on long ones."""
    start = 0
    while start < len(text):
        end = min(len(text), start + CHUNK_TOKENIZE_CHARS)
        if end < len(text):
            half = start + CHUNK_TOKENIZE_CHARS // 2
            end = max(text.rfind("\n", half, end), text.rfind(" ", half, end)) + 1 or end
        yield start, end
        start = end


def _filled(starts: Starts, length: int) -> Starts:
    """The tokens, and more of them where one alone would be very long: one that stands for a word without end,
    or the nothing that is made of spaces. A chunk is bounded in characters by this too."""
    edges = np.concatenate(([0], starts, [length]))
    extra = np.maximum(np.diff(edges) - 1, 0) // CHUNK_TOKEN_CHARS
    origins = np.repeat(edges[:-1], extra)
    steps = np.arange(len(origins)) - np.repeat(np.cumsum(extra) - extra, extra) + 1
    return np.sort(np.concatenate((starts, origins + steps * CHUNK_TOKEN_CHARS)), kind="stable")


def _encoded(tokenizer: "Tokenizer", texts: Sequence[str]) -> Iterator["Encoding"]:
    """The texts read by the tokenizer, some of them ahead: reading needs no interpreter, what follows does."""

    def read(first: int) -> list["Encoding"]:
        return tokenizer.encode_batch(texts[first : first + CHUNK_TOKENIZE_BATCH], add_special_tokens=False)

    following = _ahead.submit(read, 0)
    for first in range(CHUNK_TOKENIZE_BATCH, len(texts) + CHUNK_TOKENIZE_BATCH, CHUNK_TOKENIZE_BATCH):
        batch, following = following.result(), _ahead.submit(read, first)
        yield from batch


def _within(
    tokenizer: "Tokenizer", text: str, found: Sequence[Span], doubtful: Sequence[Span], size: int
) -> Iterator[Span]:
    """The spans; those that were cut inside a word, and have more tokens for it than allowed, cut again."""
    encoded = _encoded(tokenizer, [text[start:end] for start, end in doubtful])
    counts = dict(zip(doubtful, map(len, encoded), strict=True))
    fits = [counts.get(span, 0) <= size for span in found]
    floor = 0
    for number, span in enumerate(found):
        parts = [span] if fits[number] else _halved(tokenizer, text, span, size)
        following = number + 1
        # A part may lie in the overlap as a whole: the chunk before has it already, or the one after, if that is whole.
        ceiling = found[following][0] if following < len(found) and fits[following] else len(text)
        yield from (part for part in parts if part[1] > floor and (part[0] < ceiling or part == span))
        floor = span[1]


def _halved(tokenizer: "Tokenizer", text: str, span: Span, size: int) -> Iterator[Span]:
    start, end = span
    count = len(tokenizer.encode(text[start:end], add_special_tokens=False))
    if count <= size or end - start == 1:
        yield span
        return
    middle = (start + end) // 2
    for half in ((start, middle), (middle, end)):
        if not text[slice(*half)].isspace():
            yield from _halved(tokenizer, text, half, size)


class _Cutter:
    """One pass through a text. `_floor` is where the chunk before ended: each must end after it."""

    def __init__(self, text: str, starts: Starts, headings: Sequence[int], size: int, overlap: int) -> None:
        self._text = text
        self._length = len(text.rstrip())
        # Single elements of a view are read several times as fast as those of an array.
        self._starts = np.ascontiguousarray(starts).data
        self._headings = sorted(headings)
        self._size = size
        self._overlap = min(overlap, size // 2)

    def spans(self) -> Iterator[Span]:
        start = floor = 0
        while start < self._length:
            first = bisect_left(self._starts, start)
            whole = len(self._starts) - first <= self._size
            end = self._length if whole else self._end(start, first, floor)
            trimmed = self._trimmed(start, end)
            if trimmed[1] > floor:
                yield trimmed
            if end == self._length:
                return
            start, floor = self._next_start(start, end), end

    def _trimmed(self, start: int, end: int) -> Span:
        piece = self._text[start:end]
        return end - len(piece.lstrip()), start + len(piece.rstrip())

    def _end(self, start: int, first: int, floor: int) -> int:
        """The best place to end a chunk that begins with this token."""
        bound = max(start, floor)
        high = self._starts[first + self._size]
        if high <= bound:  # many tokens of one character
            after = bisect_right(self._starts, bound)
            high = self._starts[after] if after < len(self._starts) else self._length
        low = max(bound, min(self._starts[first + self._size // 2], high - 1))
        for candidate in self._candidates(low, high, bound):
            end = self._before_headings(candidate, bound)
            if end > bound:
                return end
        return high

    def _candidates(self, low: int, high: int, bound: int) -> Iterator[int]:
        """Places after `low` and up to `high`, from the best kind of boundary to the worst."""
        above = bisect_right(self._headings, high) - 1
        if above >= 0 and self._headings[above] > low:
            yield self._headings[above]
        for pattern in (_PARAGRAPH, _ITEM):
            if (end := self._last(pattern, low, high)) > low:
                yield end
        for pattern in (_SENTENCE, _LINE, _SPACE):
            if (end := self._last(pattern, low, high)) > low:
                yield self._before_item(end, bound)
        yield self._before_item(high, bound)

    def _last(self, pattern: re.Pattern[str], low: int, high: int) -> int:
        last = -1
        for match in pattern.finditer(self._text, low, high):
            last = match.end()
        return last

    def _before_item(self, end: int, bound: int) -> int:
        """The start of the list item or table row that a cut at `end` would part, if it fits into a chunk."""
        begin = self._last(_ITEM, bound, end)
        if begin <= bound:
            return end
        beyond = bisect_left(self._starts, begin) + self._size
        limit = self._starts[beyond] if beyond < len(self._starts) else self._length
        finish = _ITEM_END.search(self._text, begin, limit)
        fits = finish is not None or limit == self._length
        over = finish.start() if finish else limit
        return begin if fits and over > end else end

    def _before_headings(self, end: int, bound: int) -> int:
        """The same end, or the start of the headings that would be the last words of the chunk."""
        while True:
            above = bisect_left(self._headings, end) - 1
            if above < 0 or self._headings[above] < bound:
                return end
            heading = self._headings[above]
            line_end = self._text.find("\n", heading, end)
            # What is left may be the line that underlines it.
            if line_end >= 0 and self._text[line_end:end].strip().strip("=- \t\r\n"):
                return end
            end = heading

    def _next_start(self, start: int, end: int) -> int:
        """Where the next chunk begins: some tokens back, but under the same heading; a list item begins afresh, so
        that it has the whole chunk for itself."""
        above = bisect_right(self._headings, end) - 1
        section = self._headings[above] if above >= 0 else 0
        back = bisect_left(self._starts, end) - self._overlap
        low = max(start + 1, self._starts[back] if 0 <= back < len(self._starts) else 0)
        if low >= end or section == end or _ITEM.match(self._text, end - 1):
            return end
        if section >= low:
            return section
        for pattern in (_PARAGRAPH, _ITEM, _SENTENCE, _LINE, _SPACE):
            # From a little before, because what parts two sentences lies before the second.
            for match in pattern.finditer(self._text, max(start, low - 4), end):
                if low <= match.end() < end:
                    return match.end()
        return low
