"""Languages of texts, told by their stop words (those that nearly every text of a language has), and their stems."""

from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from itertools import chain

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
LATIN = tuple(language for language in _NAMES if language != "ru")
"""Those whose words look alike: English first."""
_SCRIPTS = (("\u0370", "\u03ff", "greek"), ("\u0400", "\u052f", "russian"), ("\u0621", "\u064a", "arabic"))
"""First and last letter, and whose stems are taken."""
_LEAD = 2
"""So many more stop words than English ones tell another language: some languages share theirs, as "die" and "of"."""


def of_words(words: Iterable[str], among: Collection[str] = _NAMES) -> str:
    """The language whose stop words are most among these words; English unless that is clear."""
    # Single letters are stop words of many languages, and labels and variables of all.
    met = Counter(chain.from_iterable(map(stops_of, [word for word in words if len(word) > 1])))
    best = max(among, key=met.__getitem__)
    return best if met[best] - met[ENGLISH] >= _LEAD else ENGLISH


@lru_cache(limits.HIGHLIGHT_WORDS)
def stops_of(word: str) -> frozenset[str]:
    """The languages of which this is a stop word."""
    return frozenset(language for language in _NAMES if not _stop_list(language).analyze(word))


def mark(language: str) -> str:
    """The term that every chunk of a language other than English has."""
    return f"/{language}"


def term(folded: str, language: str) -> str:
    """The term of a folded word in a chunk of this language."""
    if folded.isascii():
        if language == ENGLISH or not folded.isalpha():
            return _stem(folded, "english")
        return f"{_stem(folded, _NAMES[language])}{mark(language)}"
    return next((_stem(folded, name) for first, last, name in _SCRIPTS if first <= folded[0] <= last), folded)


def _stem(word: str, name: str) -> str:
    # A stem may be nothing at all: then the word stands for itself.
    return "".join(_stemmer(name).analyze(word)) or word


@cache
def _stemmer(name: str) -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(tantivy.Filter.stemmer(name)).build()


@cache
def _stop_list(language: str) -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(tantivy.Filter.lowercase())
    return builder.filter(tantivy.Filter.stopword(_NAMES[language])).build()
