"""Markdown: the text as it is, and the headings a reader of it would see."""

import pytest

from deedbox.search.extract import md


def titles(text: str) -> list[str]:
    return [title for _, title in md.read(text.encode()).headings]


def test_the_text_is_kept_as_it_is() -> None:
    text = "# A *b*\n\n- [x] c  \n| d |\n"
    assert md.read(text.encode()).text == text


def test_headings_of_both_kinds_are_found_at_their_offsets() -> None:
    text = "# One\ntext\n\nTwo\n===\n\nThree\nlines\n---\n###### Six ##\n"
    found = md.read(text.encode())
    assert found.headings == [(0, "One"), (12, "Two"), (21, "Three lines"), (37, "Six")]
    assert [text[at : at + 3] for at, _ in found.headings] == ["# O", "Two", "Thr", "###"]


@pytest.mark.parametrize(
    "text",
    [
        "```\n# no\n```\n",
        "~~~ python\n# no\n```\n# no\n~~~~\n",
        "```\n# no",
        "    # no\n",
        "#no\n",
        "####### no\n",
        "\\# no\n",
        "text\n\n---\n",
        "- item\n---\n",
        "> quote\n---\n",
        "| a | b |\n|---|---|\n",
        "---\ntitle: no\n---\n",
        "#\n",
    ],
)
def test_what_is_no_heading_is_not_taken_for_one(text: str) -> None:
    assert titles(text) == []


def test_headings_after_code_and_front_matter_are_found() -> None:
    assert titles("---\ntitle: x\n---\n# One\n```\n# no\n```\n## Two\n") == ["One", "Two"]


def test_number_signs_that_belong_to_a_title_stay() -> None:
    assert titles("# C#\n# Issue #7 #\n") == ["C#", "Issue #7"]


def test_a_paragraph_as_long_as_a_page_is_no_heading() -> None:
    assert titles("word " * 200 + "\n---\n") == []


def test_windows_line_ends_and_a_mark_do_not_shift_the_offsets() -> None:
    found = md.read(b"\xef\xbb\xbfa\r\n\r\n# B\r\n")
    assert (found.text, found.headings) == ("a\n\n# B\n", [(3, "B")])


def test_a_million_lines_that_look_like_headings_give_a_bounded_list() -> None:
    found = md.read(b"# a\n" * 100_000 + b"# " + b"#" * 1_000_000)
    assert len(found.headings) == 20_000
