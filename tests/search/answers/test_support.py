"""Sentences against the passages that they cite: what is marked, and what is not."""

import pytest

from deedbox.search import limits
from deedbox.search.answers import sentences
from deedbox.search.answers.support import Quote, Sentence, Source, check_sentence

LEASE = """The tenant shall pay a rent of EUR 1,250.50 on the first day of each month. The deposit is three months of
rent.
The landlord shall not be liable for damage by water, see Art. 5 of the house rules. The tenant may keep a cat.

The tenant may terminate with 30 days' notice if the rent rises. The landlord is Acme Homes."""
RECIPE = "Boil the potatoes for twenty minutes. Add salt – and “good” butter."
SOURCES = [Source(LEASE, "lease of the mill", "Rent"), Source(RECIPE, "recipe")]


def check(text: str, *quotes: tuple[int, str]) -> Sentence:
    return check_sentence(text, [Quote(number, words) for number, words in quotes], SOURCES)


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("The tenant pays a rent of €1250.50 each month.", [(1, "The tenant shall pay a rent of EUR 1,250.50")]),
        ("The tenant must pay a rent of 1,250.50 EUR.", [(1, "pay a rent of EUR 1,250.50 on the first day")]),
        ("The deposit is 3 months of rent.", [(1, "The deposit is three months of rent")]),
        ("The landlord is not liable for damage by water.", [(1, "shall not be liable for damage by water")]),
        ("The landlord isn't liable for damage by water.", [(1, "shall not be liable for damage by water")]),
        ("The tenant can keep a cat [1].", [(1, "The tenant may keep a cat.")]),
        ("The landlord of the mill is Acme Homes.", [(1, "the LANDLORD is\n  acme homes")]),
        ("Add salt and good butter.", [(2, 'add salt - and "good" butter')]),
        ("The deposit is 3 months; boil the potatoes.", [(1, "deposit is three months"), (2, "Boil the potatoes")]),
        (
            "If the rent rises, the tenant may terminate with 30 days notice.",
            [(1, "may terminate with 30 days’ notice")],
        ),
    ],
)
def test_a_sentence_in_the_words_of_what_it_quotes_is_supported(text: str, quotes: list[tuple[int, str]]) -> None:
    made = check(text, *quotes)
    assert (made.supported, made.reason) == (True, None)
    assert made.citations == [number for number, _ in quotes]


@pytest.mark.parametrize(
    ("text", "quotes", "reason"),
    [
        ("The tenant pays.", [], "It quotes no passage."),
        ("The deposit is three months.", [(99, "The deposit is three months")], "There is no passage [99]."),
        ("The deposit is three months [99].", [(1, "The deposit is three months")], "There is no passage [99]."),
        ("The deposit is three months [2].", [(1, "The deposit is three months")], "It names passage [2] without"),
        ("The deposit is three months.", [(0, "The deposit is three months")], "There is no passage [0]."),
        ("The deposit is three months.", [(-1, "The deposit is three months")], "There is no passage [-1]."),
        ("The deposit is three months.", [(2, "The deposit is three months")], "Passage [2] does not have the words"),
        ("The deposit is four months.", [(1, "The deposit is four months")], "Passage [1] does not have the words"),
        ("The deposit is four months.", [(1, "The deposit is three months")], "The number 4 is not in"),
        ("The deposit is 30 months of rent.", [(1, "The deposit is three months of rent")], "The number 30 is not in"),
        (
            "The tenant may terminate with 30 days' notice if 30 rises.",
            [(1, "with 30 days' notice")],
            "The number 30 is",
        ),
        ("The rent is 1250 EUR.", [(1, "a rent of EUR 1,250.50")], "The number 1250 is not in"),
        ("The rent is EUR 1.", [(1, "a rent of EUR 1")], "Passage [1] does not have the words"),
        ("The rent is EUR 250.50.", [(1, "250.50 on the first day")], "Passage [1] does not have the words"),
        ("The rent is $ 1,250.50.", [(1, "a rent of EUR 1,250.50")], "“$” is not in"),
        ("The landlord is Bolt Homes.", [(1, "The landlord is Acme Homes")], "“Bolt” is not in"),
        ("Zoe pays a rent of EUR 1,250.50.", [(1, "a rent of EUR 1,250.50")], "“Zoe” is not in"),
        ("The tenant may keep a dog.", [(1, "The tenant may keep a cat")], "“dog” is not in"),
        (
            "The landlord is liable for damage by water.",
            [(1, "be liable for damage by water")],
            "The passage has a neg",
        ),
        ("The tenant may not keep a cat.", [(1, "The tenant may keep a cat")], "It has a negation too"),
        ("The tenant can't keep a cat.", [(1, "The tenant may keep a cat")], "It has a negation too"),
        ("The tenant must keep a cat.", [(1, "The tenant may keep a cat")], "“must” is not in"),
        (
            "The tenant may terminate with 30 days' notice.",
            [(1, "terminate with 30 days' notice")],
            "The passage has a cond",
        ),
        ("Only the tenant may keep a cat.", [(1, "The tenant may keep a cat")], "It has a condition too"),
        ("The deposit is a cat.", [(1, "The deposit is three months of rent")], "“cat” is not in"),
        ("The landlord may keep a cat.", [(1, "The tenant may keep a cat.")], "“landlord” is not in"),
        ("It is so.", [(1, "The tenant may keep a cat")], "It says nothing that"),
        ("Yes.", [(1, "The tenant may keep a cat")], "“Yes” is not in"),
        ("The tenant.", [(1, "the")], "Passage [1] does not have the words"),
        ("The tenant.", [(1, "")], "Passage [1] does not have the words"),
        ("The tenant.", [(1, "tenant")], "Passage [1] does not have the words"),
        ("The tenant may keep a cat.", [(1, 2 * LEASE)], "A quote is longer than"),
        ("The tenant may keep a cat.", [(1, "may keep a cat")] * 4, "It has more than 3 quotes."),
        ("The tenant may keep a cat.", [(1, "may keep a cat"), (2, "may keep a cat")], "Passage [2] does not have"),
    ],
)
def test_a_sentence_that_says_more_is_marked_with_the_reason(
    text: str, quotes: list[tuple[int, str]], reason: str
) -> None:
    made = check(text, *quotes)
    assert not made.supported
    assert str(made.reason).startswith(reason), made.reason


def test_the_same_words_in_another_order_are_beyond_the_check() -> None:
    """What it does not prove, written down: docs/how-to/answers.md says so."""
    source = Source("The landlord pays the tenant EUR 500.")
    made = check_sentence(
        "The tenant pays the landlord EUR 500.", [Quote(1, "The landlord pays the tenant EUR 500")], [source]
    )
    assert made.supported


def test_a_number_of_another_row_of_a_table_is_marked() -> None:
    table = Source("name: Alma | owes: 500\nname: Boris | owes: 70\n")
    quote = [Quote(1, "name: Boris | owes: 70")]
    assert check_sentence("Boris owes 70.", quote, [table]).supported
    assert (
        check_sentence("Boris owes 500.", quote, [table]).reason
        == "The number 500 is not in the sentences that it quotes from, or not as often."
    )


def test_a_quote_that_stands_twice_counts_where_it_fits() -> None:
    twice = Source("The fee is due in May. Acme pays. The fee is due in June.")
    assert check_sentence("The fee is due in June.", [Quote(1, "The fee is due in")], [twice]).supported
    assert not check_sentence("The fee is due in July.", [Quote(1, "The fee is due in")], [twice]).supported


def test_other_languages_are_checked_by_the_same_rules() -> None:
    lease = Source("Der Mieter haftet nicht für Schäden durch Wasser. 敷金は家賃の三か月分です。")
    quote = [Quote(1, "haftet nicht für Schäden durch Wasser")]
    assert check_sentence("Der Mieter haftet nicht für Schäden durch Wasser.", quote, [lease]).supported
    assert check_sentence("Der Mieter haftet für Schäden durch Wasser.", quote, [lease]).reason == (
        "The passage has a negation that it leaves out."
    )
    japanese = [Quote(1, "敷金は家賃の三か月分")]
    assert check_sentence("敷金は家賃の三か月分です。", japanese, [lease]).supported
    assert not check_sentence("敷金は家賃の六か月分です。", japanese, [lease]).supported


def test_sentences_end_where_people_see_their_end() -> None:
    assert sentences.split(LEASE)[2].startswith("The landlord shall not be liable")
    assert sentences.split(LEASE)[2].endswith("see Art. 5 of the house rules.")
    assert sentences.split("He paid, e.g. Mr. Bell did. Then “he left.” It is\nover") == [
        "He paid, e.g. Mr. Bell did.", "Then “he left.”", "It is\nover",
    ]  # fmt: skip
    assert sentences.split("2. Rent\na. It is due\nearly.\n(b) Three months.\nii. more\n- last") == [
        "2. Rent", "a. It is due\nearly.", "(b) Three months.", "ii. more", "- last",
    ]  # fmt: skip
    assert sentences.split("") == sentences.split(" \n ") == []
    assert sentences.split("一です。二です") == ["一です。", "二です"]


def test_a_sentence_is_checked_in_no_time_whatever_it_is() -> None:
    """Every expression that reads text is linear: what would hang does so here."""
    for sign in ("a", "1", "1,", ".", "\n", " ", "[1", "-", "n't ", "“"):
        long = sign * (20_000 // len(sign))
        made = check_sentence(long, [Quote(1, long[: limits.ANSWER_QUOTE_CHARS])], [Source(long)])
        assert isinstance(made.supported, bool)
