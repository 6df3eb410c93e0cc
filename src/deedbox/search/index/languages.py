"""The language of a query, told by its stop words: those that nearly every text of a language has."""

from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache

import tantivy

from deedbox.kernel import limits

ENGLISH = "en"
_NAMES = {
    ENGLISH: "english",
    "da": "danish",
    "de": "german",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
}
_LEAD = 2
"""So many more stop words than English ones tell another language: some languages share theirs, as "die" and "of"."""


def of_query(words: Iterable[str]) -> str:
    """The language whose stop words the query has most of; English unless that is clear."""
    # Single letters are stop words of many languages, and labels and variables of all.
    met = Counter(language for word in words if len(word) > 1 for language in stops_of(word))
    best = max(_NAMES, key=met.__getitem__)
    return best if met[best] - met[ENGLISH] >= _LEAD else ENGLISH


def stops_of(word: str) -> frozenset[str]:
    """The languages of which this is a stop word."""
    return _stops_of(word) if len(word) <= limits.STOP_WORD_CHARS else frozenset()


@lru_cache(limits.KNOWN_WORDS)
def _stops_of(word: str) -> frozenset[str]:
    lists = _lists()
    return frozenset(language for language in _NAMES if not lists[language].analyze(word))


@cache
def _lists() -> dict[str, tantivy.TextAnalyzer]:
    return {
        language: tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.stopword(name))
        .build()
        for language, name in _NAMES.items()
    }
