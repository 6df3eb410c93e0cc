"""Chunks: nothing lost, nothing too long, every offset exact, and cuts where a reader would cut."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from deedbox.search.indexing.chunk import Span, chunks, cut, spans, tokens_of
from deedbox.search.library.upload import Chunk, Extraction

ROOT = Path(__file__).parent.parent.parent
PROSE = (ROOT / "LICENSE").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


@cache
def tokenizer() -> Tokenizer:
    """A tokenizer of the kind that BERT has: words by their pieces, very long words as unknown."""
    pieces = ["[UNK]", *(f"{mark}{chr(code)}" for code in range(33, 127) for mark in ("", "##"))]
    pieces += ["the", "of", "and", "##ing", "##er", "rent", "tenant", "ᄀ", "##ᅡ", "##ᆨ", "中", "文"]
    made = Tokenizer(
        models.WordPiece({piece: number for number, piece in enumerate(pieces)}, max_input_chars_per_word=100)
    )
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def headings_of(text: str) -> list[tuple[int, str]]:
    return [(match.start(), match[1]) for match in re.finditer(r"^# (.*)$", text, re.MULTILINE)]


def made_of(text: str, size: int = 40, overlap: int = 8, pages: list[int] | None = None) -> list[Chunk]:
    return chunks(Extraction(text, pages, headings_of(text)), tokenizer(), size, overlap)


def texts(found: list[Chunk]) -> list[str]:
    return [chunk.text for chunk in found]


def word_spans(text: str, size: int, overlap: int = 0, headings: list[tuple[int, str]] | None = None) -> list[Span]:
    """Spans when every word is a token."""
    return spans(text, [match.start() for match in re.finditer(r"\S+", text)], headings or [], size, overlap)


def lost(text: str, found: list[Chunk]) -> str:
    """What is not space and in no chunk."""
    kept = np.zeros(len(text), bool)
    for chunk in found:
        kept[chunk.char_start : chunk.char_end] = True
    return "".join(letter for letter, is_kept in zip(text, kept, strict=True) if not is_kept and not letter.isspace())


def check(text: str, size: int, overlap: int) -> None:
    found = made_of(text, size, overlap)
    assert lost(text, found) == ""
    assert [chunk.number for chunk in found] == list(range(len(found)))
    for chunk in found:
        assert chunk.text == text[chunk.char_start : chunk.char_end]
        assert chunk.text.strip()
        tokens = len(tokenizer().encode(chunk.text, add_special_tokens=False))
        assert tokens <= size or len(chunk.text) == 1
    for one, other in pairwise(found):
        assert one.char_start < other.char_start
        assert one.char_end < other.char_end


WORDS = st.sampled_from([
    "the", "tenant", "pays", "rent.", "Why?", "\n", "\n\n", "\n# Part two\n", "\n- item", "\n| a | b |", "\t", " ",
    "中文。", "😀", "각", "\x00", "\x1c", "\x0c", "…", "a" * 130, "  \n \n", "1. ", "e\u0301", "\u200d", "\ufffd",
    "half-way", "x=y;",
])  # fmt: skip
SIZES = st.integers(16, 60)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=600), SIZES, st.integers(0, 30))
def test_no_text_is_lost_and_no_chunk_too_long_whatever_the_text(text: str, size: int, overlap: int) -> None:
    check(text, size, overlap)


def test_a_word_that_is_one_token_only_as_a_whole_keeps_the_chunks_in_order() -> None:
    check("\n- itemthetherent." + "a" * 130, 16, 1)


@settings(max_examples=250, deadline=None)
@given(st.lists(WORDS, max_size=300), st.sampled_from(["", " "]), SIZES, st.integers(0, 30))
def test_the_same_holds_for_texts_that_look_like_documents(
    words: list[str], glue: str, size: int, overlap: int
) -> None:
    check(glue.join(words), size, overlap)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=200), SIZES, st.integers(0, 30))
@example(["the", "\n# Part two\n", "\x1c", "half-way"], 16, 0)
def test_no_chunk_ends_on_a_heading_while_text_follows(words: list[str], size: int, overlap: int) -> None:
    text = " ".join(words)
    found = made_of(text, size, overlap)
    for chunk in found[:-1]:
        last_line = chunk.text.splitlines()[-1]
        body = [line for line in chunk.text.split("\n") if line.strip() and not line.startswith("# ")]
        # Headings that fill a chunk by themselves have nowhere else to be.
        assert not last_line.startswith("# ") or not body


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, max_size=200), st.integers(16, 40))
def test_without_overlap_no_text_is_in_two_chunks(words: list[str], size: int) -> None:
    found = made_of(" ".join(words), size, 0)
    assert all(one.char_end <= other.char_start for one, other in pairwise(found))


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n", "\u3000"])
def test_a_text_of_spaces_has_no_chunks(text: str) -> None:
    assert made_of(text) == []


@pytest.mark.parametrize("text", ["a", "\x00", "😀", "\x00" * 5000])
def test_the_least_text_is_in_a_chunk(text: str) -> None:
    assert "".join(texts(made_of(text, overlap=0))) == text


def test_a_short_text_is_one_chunk_without_its_edges() -> None:
    (chunk,) = made_of("  The tenant pays the rent.\n")
    assert (chunk.text, chunk.char_start, chunk.char_end) == ("The tenant pays the rent.", 2, 27)


def test_a_section_begins_its_own_chunk_and_shares_nothing_with_the_one_before() -> None:
    text = "# One\n" + "word " * 30 + "\n# Two\n" + "other " * 30
    found = spans(text, [match.start() for match in re.finditer(r"\S+", text)], headings_of(text), 40, 10)
    assert [text[start:end][:5] for start, end in found] == ["# One", "# Two"]


def test_a_paragraph_is_preferred_to_a_sentence_and_a_sentence_to_a_line() -> None:
    sentence = "One two three four. "
    assert word_spans(sentence * 3 + "\n\n" + sentence * 3, 16)[0] == (0, 59)
    text = "one two three. four five six\nseven eight nine ten"
    assert text[slice(*word_spans(text, 6)[0])] == "one two three. four five six"
    text = "one two three four. Five six\nseven eight nine"
    assert text[slice(*word_spans(text, 7)[0])] == "one two three four."


def test_an_abbreviation_in_a_sentence_does_not_end_it() -> None:
    text = "Pay by check. The rent (i.e. the money) is due today and not any later"
    assert text[slice(*word_spans(text, 8)[0])] == "Pay by check. The rent (i.e. the money)"


def test_neighbours_share_whole_sentences() -> None:
    text = " ".join(f"Sentence number {number} ends here." for number in range(30))
    found = word_spans(text, 20, 8)
    for one, other in pairwise(found):
        assert other[0] < one[1]
        assert text[other[0] :].startswith("Sentence")


def test_list_items_and_rows_that_fit_are_kept_whole() -> None:
    items = [f"- Item {number}. It has two sentences. " + "and words " * (number % 7) for number in range(40)]
    rows = [f"| Row {number}. | Value. Another value. | {'x ' * (number % 5)}|" for number in range(40)]
    tabs = [f"Row {number}.\tValue. Another value.\t{'x ' * (number % 5)}" for number in range(40)]
    bars = [f"Name: Row {number}. | Value. Another value. | {'x ' * (number % 5)}" for number in range(40)]
    for lines in (items, rows, tabs, bars):
        text = "\n".join(lines)
        pieces = [text[start:end] for start, end in word_spans(text, 24, 6)]
        assert all(any(line.strip() in piece for piece in pieces) for line in lines)


def test_an_item_longer_than_half_a_chunk_is_kept_whole_too() -> None:
    item = "- " + "long. Item " * 8
    text = "\n".join(["Before the list there is some text. " * 2, item, item, item])
    pieces = [text[start:end] for start, end in word_spans(text, 20, 5)]
    assert sum(item.strip() in piece for piece in pieces) == 3


def test_an_item_that_fits_nowhere_is_cut_at_its_sentences() -> None:
    text = "Start.\n- " + "A sentence of five words. " * 20
    pieces = [text[start:end] for start, end in word_spans(text, 20, 0)]
    assert all(piece.endswith(".") for piece in pieces)


def test_a_run_of_headings_moves_with_the_text_below_it() -> None:
    text = "Some words before the part begins here now\n# A\n# B\n# C\nThe text below them"
    found = word_spans(text, 14, 0, headings_of(text))
    assert text[slice(*found[0])].endswith("now")
    assert text[slice(*found[1])].startswith("# A")


def test_an_underlined_heading_moves_with_its_line() -> None:
    text = "Some words before the part begins here\n\nPart two\n========\n\nThe text below it is longer"
    found = word_spans(text, 12, 0, [(40, "Part two")])
    assert text[slice(*found[0])] == "Some words before the part begins here"


def test_pages_and_headings_are_those_of_the_first_character() -> None:
    text = "# One\nfirst page\n\n# Two\nsecond page"
    extraction = Extraction(text, [0, 18], [(0, "One"), (18, "Two")])
    first, second, third = cut(extraction, [(6, 16), (18, 23), (24, 35)])
    assert [(chunk.page, chunk.heading) for chunk in (first, second, third)] == [(1, "One"), (2, "Two"), (2, "Two")]


def test_text_before_the_first_heading_has_none_and_a_format_without_pages_has_no_page() -> None:
    (chunk, *_) = cut(Extraction("before # One", None, [(7, "One")]), [(0, 6)])
    assert (chunk.page, chunk.heading) == (None, None)


@pytest.mark.parametrize("unit", ["a", "中", "😀", "\x00", "a,", "각", "\u0301"])
def test_a_long_text_without_spaces_gives_chunks_of_bounded_size(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    found = made_of(text, 200, 40)
    assert lost(text, found) == ""
    assert max(len(chunk.text) for chunk in found) <= 201 * 32


def test_spaces_without_end_between_two_words_are_in_no_chunk() -> None:
    assert texts(made_of("one" + " " * 500_000 + "two", 200, 40)) == ["one", "two"]


@pytest.mark.parametrize("text", [PROSE, README], ids=["licence", "readme"])
def test_real_documents_are_cut_between_sentences_lines_or_items(text: str) -> None:
    found = made_of(text, 200, 40)
    assert lost(text, found) == ""
    starts = [chunk for chunk in found if chunk.char_start and not text[chunk.char_start - 1].isspace()]
    assert starts == []


def test_token_starts_are_those_of_the_whole_text_at_once() -> None:
    text = PROSE * 2
    whole = [start for start, _ in tokenizer().encode(text, add_special_tokens=False).offsets]
    assert tokens_of(tokenizer(), text).starts.tolist() == whole
