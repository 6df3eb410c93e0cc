"""Languages of texts, told by their stop words (those that nearly every text of a language has), and their stems."""

from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache

import tantivy

from deedbox.search import limits

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
_NONE: frozenset[str] = frozenset()
"""One for all words: each of them would be 216 bytes."""


def of_words(words: Iterable[str], among: Collection[str] = _NAMES) -> str:
    """The language whose stop words are most among these words; English unless that is clear."""
    met = dict.fromkeys(_NAMES, 0)
    for telling, times in Counter(map(_telling.__getitem__, words)).items():
        for language in telling:
            met[language] += times
    best = max(among, key=met.__getitem__)
    return best if met[best] - met[ENGLISH] >= _LEAD else ENGLISH


def stops_of(word: str) -> frozenset[str]:
    """The languages of which this is a stop word."""
    return _stops[word]


class _Stops(dict[str, frozenset[str]]):
    """The languages of which words are stop words: most words have been seen before."""

    def __missing__(self, word: str) -> frozenset[str]:
        if len(self) >= limits.HIGHLIGHT_WORDS:
            self.clear()
        self[word] = found = self._found(word)
        return found

    def _found(self, word: str) -> frozenset[str]:
        if _stop_list(*_NAMES).analyze(word):  # as of most words, of none
            return _NONE
        return frozenset(language for language in _NAMES if not _stop_list(language).analyze(word))


class _Telling(_Stops):
    """Without single letters: these are stop words of many languages, and labels and variables of all."""

    def _found(self, word: str) -> frozenset[str]:
        return _stops[word] if len(word) > 1 else _NONE


_stops, _telling = _Stops(), _Telling()


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
def _stop_list(*of: str) -> tantivy.TextAnalyzer:
    """Takes out the stop words of these languages."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(tantivy.Filter.lowercase())
    for language in of:
        builder = builder.filter(tantivy.Filter.stopword(_NAMES[language]))
    return builder.build()
