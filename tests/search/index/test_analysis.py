"""Text becomes the same terms wherever it is met, and highlights show them."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deedbox.kernel import limits
from deedbox.search.index.analysis import asked, highlights, indexable, terms


def meets(text: str, query: str) -> bool:
    """Whether a chunk with the text answers to the query."""
    return bool(set(terms(query)) & set(terms(indexable(text))))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The leases were terminated", "lease termination"),
        ("RÉSILIATION", "resiliation"),
        ("re\u0301siliation", "résiliation"),
        ("ﬁnancial eﬀects", "financial"),
        ("ＡＢＣ-１２３", "abc"),
        ("Straße", "strasse"),
        ("con\u00adtract", "contract"),
        ("ДОГОВОР аренды", "договор"),
        ("Μίσθωση", "μισθωση"),
        ("עִבְרִית", "עברית"),
        ("invoice INV-2024-001", "2024"),
        ("東京都の契約書", "契約"),
        ("東京都の契約書", "都"),
        ("임대차계약서", "계약"),
        ("สัญญาเช่า", "เช่า"),
        ("ｶﾞｽ料金", "ガス"),
        ("हिन्दी अनुबंध", "हिन्दी"),
    ],
)
def test_a_word_is_found_however_it_is_written(text: str, query: str) -> None:
    assert meets(text, query)
    assert highlights(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [("東京都", "京東"), ("lease", "leash"), ("かた", "がた"), ("contract", "con"), ("अनुबंध", "हिन्दी"), ("2024", "202")],
)
def test_another_word_is_not_found(text: str, query: str) -> None:
    assert not meets(text, query)
    assert highlights(text, query) == []


def test_terms_count_as_often_as_their_words_occur_and_stop_words_half() -> None:
    assert list(asked("Seal the SEALS of the annex").items()) == [("seal", 2), ("the", 1), ("of", 0.5), ("annex", 1)]


@pytest.mark.parametrize(
    ("query", "stops"),
    [
        ("Wann endet die Miete und wer zahlt für das Haus?", {"die", "und", "fur", "das"}),
        ("Quel est le délai de résiliation pour la location ?", {"quel", "le", "de", "pour", "la"}),
        ("когда и как платит арендатор", {"когда", "и", "как"}),
        ("lease deposit", set()),
        ("a b c", {"a"}),
        ("die casting of 契約", {"of"}),
    ],
)
def test_the_stop_words_of_a_query_are_those_of_its_language(query: str, stops: set[str]) -> None:
    assert {term for term, count in asked(query).items() if count < 1} == stops


def test_a_word_longer_than_any_language_has_is_no_term() -> None:
    assert terms("x" * limits.TERM_BYTES + " lease") == ["leas"]


def test_highlights_are_the_matching_words_of_the_text() -> None:
    text = "The tenant's leases (Résiliés), 東京都民; leasing: finance."
    shown = [text[begin:end] for begin, end in highlights(text, "lease resilie 京都 ﬁnances")]
    assert shown == ["leases", "Résiliés", "京都", "leasing", "finance"]


def test_touching_pairs_are_one_highlight() -> None:
    assert highlights("東京都の契約", "東京都") == [(0, 3)]


def test_words_that_tell_nothing_are_shown_only_when_there_are_no_others() -> None:
    assert highlights("the end of the lease", "the lease") == [(15, 20)]
    assert highlights("the end of the lease", "the") == [(0, 3), (11, 14)]


@pytest.mark.parametrize("query", ["", "!?", "😀", " "])
def test_a_query_without_words_highlights_nothing(query: str) -> None:
    assert highlights("The lease 😀", query) == []


@given(text=st.text(), query=st.text())
def test_highlights_are_in_order_within_the_text_and_meet_the_query(text: str, query: str) -> None:
    found = highlights(text, query)
    edges = [edge for span in found for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= begin < end <= len(text) for begin, end in found)
    assert all(meets(text[begin:end], query) for begin, end in found)


@given(st.text(alphabet="abcdefghijklmnop ", min_size=1))
def test_the_words_of_a_text_find_it(text: str) -> None:
    assert all(meets(text, word) for word in text.split())


def test_the_analyser_serves_many_threads_at_once() -> None:
    made: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: made.extend(terms(f"leases seals w{n}") for n in range(500))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == sorted([["leas", "seal", f"w{n}"] for n in range(500)] * 4)
