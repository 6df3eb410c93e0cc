"""Words of a query that occur nowhere, and the words that were meant: as alike as can be, then in most documents."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from deedbox.search import limits
from deedbox.search.index import analysis, languages

Near: TypeAlias = Callable[[str, int], Mapping[str, int]]
"""The words that differ from a word in at most so many letters, and how many documents have each."""


def correct(words: Iterable[str], is_known: Callable[[str], bool], near: Near) -> dict[str, str]:
    """The word that was meant, folded, for each of these that is not known, as far as there is one."""
    found: dict[str, str] = {}
    looked_up = 0
    for word in dict.fromkeys(words):
        folded = analysis.plain(word).strip()
        if not is_doubtful(folded) or is_known(folded):
            continue
        looked_up += 1
        if looked_up > limits.TYPO_WORDS:
            break
        if meant := _meant(folded, near):
            found[word] = meant
    return found


def is_doubtful(folded: str) -> bool:
    """Whether the word is corrected if no document has it."""
    # Stop words are right, whatever the documents say.
    return mistakes(folded) > 0 and not languages.stops_of(folded)


def mistakes(folded: str) -> int:
    """In how many letters the word may differ from the one that was meant; 0 for numbers and short words."""
    if not folded.isalpha():
        return 0
    return (len(folded) >= limits.TYPO_LETTERS) + (len(folded) >= limits.TYPOS_LETTERS)


def _meant(folded: str, near: Near) -> str | None:
    for most in range(1, mistakes(folded) + 1):
        if found := {word: count for word, count in near(folded, most).items() if count and word.isalpha()}:
            return min(found, key=lambda word: (-found[word], word))
    return None


def alike(word: str, words: Iterable[str], most: int) -> list[str]:
    """Those of the words that differ from a word in at most so many letters."""
    letters = set(word)
    return [
        other
        for other in words
        if abs(len(other) - len(word)) <= most
        and len(letters.symmetric_difference(other)) <= 2 * most
        and edit_distance(word, other) <= most
    ]


def edit_distance(word: str, other: str) -> int:
    """How many letters must be put in, left out, or be others, to make one word of the other; two neighbours that
    change places count as one."""
    before, last = list[int](), list[int]()
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        before, last, row = last, row, [at]
        for to, another in enumerate(other, 1):
            cost = min(last[to] + 1, row[to - 1] + 1, last[to - 1] + (letter != another))
            if at > 1 and to > 1 and letter == other[to - 2] and word[at - 2] == another:
                cost = min(cost, before[to - 2] + 1)
            row.append(cost)
    return row[-1]


def letters(word: str) -> int:
    """The letters of a word as bits: two words that differ in so many letters differ in at most twice as many bits."""
    found = 0
    for letter in word:
        found |= 1 << (ord(letter) % 31)
    return found
