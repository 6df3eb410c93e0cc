"""Text becomes the same terms wherever it is met, and highlights show them."""

import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deedbox.search import limits
from deedbox.search.index import analysis
from deedbox.search.index.analysis import Marker, highlights, of_text, query_terms


def meets(text: str, query: str) -> bool:
    """Whether a chunk with the text answers to the query."""
    return not terms(query).isdisjoint(of_text(text))


def terms(query: str, *spoken: str) -> set[str]:
    return {term for word in query_terms(query, spoken) for term in word.terms}


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
    said = [(("seal",), 2), (("the",), 1), (("of",), 0.5), (("annex",), 1)]
    assert [word[:2] for word in query_terms("Seal the SEALS of the annex")] == said


@pytest.mark.parametrize(
    ("query", "stops"),
    [
        ("Wann endet die Miete und wer zahlt für das Haus?", {"die", "und", "fur", "das"}),
        ("Quel est le délai de résiliation pour la location ?", {"quel", "le", "de", "pour", "la"}),
        ("когда и как платит арендатор", {"когд", "и", "как"}),
        ("lease deposit", set()),
        ("a b c", {"a"}),
        ("die casting of 契約", {"of"}),
    ],
)
def test_the_stop_words_of_a_query_are_those_of_its_language(query: str, stops: set[str]) -> None:
    assert {word.terms[0] for word in query_terms(query) if word.share < 1} == stops


GERMAN = "Die Kündigung der Wohnung ist für beide Mieter und auch für das Haus schriftlich nach dem Vertrag von 2024."


def test_a_chunk_in_another_language_is_stemmed_by_its_rules_and_says_so() -> None:
    said = of_text(GERMAN)
    assert (said[0], said[2], said[-1]) == ("/de", "kundig/de", "2024")
    assert of_text("The notice of termination") == ["the", "notic", "of", "termin"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (GERMAN, "Kündigungen"),
        (GERMAN, "verträge mietern"),
        ("Il contratto e le clausole della locazione sono nulli se non sono firmati", "clausola contratti"),
        ("De huurder en de verhuurder zijn het eens over de opzegging van het contract", "opzeggingen contracten"),
        ("Les locataires ont payé le loyer et les charges pour la maison", "locataire charge"),
        ("Las obligaciones del inquilino son las que dice el contrato", "obligación inquilinos"),
    ],
)
def test_inflected_words_meet_in_the_language_of_the_chunk(text: str, query: str) -> None:
    language = of_text(text)[0].removeprefix("/")
    assert not terms(query, language).isdisjoint(of_text(text))
    assert {text[begin:end] for begin, end in highlights(text, query)}
    assert len(terms(query, language) & set(of_text(text))) == len(query.split())


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("срок договора аренды", "договоры"),
        ("общий порядок", "общего"),
        ("όροι της σύμβασης", "όρος"),
        ("العقد", "عقد"),
    ],
)
def test_inflected_words_meet_by_their_script(text: str, query: str) -> None:
    assert meets(text, query)
    assert highlights(text, query)


def test_a_word_is_asked_for_in_every_language_that_is_spoken_and_a_number_once() -> None:
    assert query_terms("Leasing 2024", ["de", "fr"]) == [
        (("leas", "leasing/de", "leasing/fr"), 1, ("@leas",)),
        (("2024",), 1, ("@2024",)),
    ]


def test_a_few_words_are_taken_as_english() -> None:
    for text in ("Simpson's Integration (Algorithm 84)", "Steep1 [E4]", "die casting of 1999", "", "Kündigung"):
        assert not of_text(text)[:1] or not of_text(text)[0].startswith("/")


def test_a_word_longer_than_any_language_has_is_no_term() -> None:
    assert terms("x" * limits.TERM_BYTES + " lease") == {"leas"}


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


PLAIN_LETTERS = [chr(code) for code in range(0x3000) if analysis._PLAIN_TEXT.fullmatch(chr(code))]
PLAIN = st.lists(
    st.sampled_from(["lease", "Lease", "leases", "naïve", "naive", "Œuvre", "1", "_", " ", "’", *PLAIN_LETTERS])
)


@example("Ŀlease", "lease Ĺ")  # its first letter is folded to two signs, of which one is no letter
@given(PLAIN.map("".join), PLAIN.map(" ".join))
def test_marks_of_a_plain_text_are_those_of_any_text(text: str, query: str) -> None:
    marker = Marker(query)
    assert marker.marks(text) == marker.marks(f"{text} 契約")


@given(st.text(alphabet="abcdefghijklmnop ", min_size=1))
def test_the_words_of_a_text_find_it(text: str) -> None:
    assert all(meets(text, word) for word in text.split())


def test_the_analyser_serves_many_threads_at_once() -> None:
    made: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: made.extend(of_text(f"leases Seals w{n}") for n in range(500)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == sorted([["leas", "seal", f"w{n}"] for n in range(500)] * 4)


def test_words_with_a_star_are_shown_and_count_once() -> None:
    assert highlights("Contracts, contrary to a CONTROL", "contr* to") == [(0, 9), (11, 19), (25, 32)]
    assert Marker("contr* deposit").marks("a control of rent").share == 0.5
    assert Marker("contr*").marks("of rent", "Contracts 2024").share == 1
    assert Marker("contr* 契約*").marks("of rent").share == 0
