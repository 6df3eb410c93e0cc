"""Terms of a text, made in the same way for chunks, queries and highlights.

Words are folded (case, accents, ligatures, full width) and stemmed as English, which other languages survive because
queries are stemmed alike. Scripts without spaces are cut into single characters and pairs."""

import re
import unicodedata
from functools import cache, lru_cache

import tantivy

from deedbox.kernel import limits

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309a\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_INVISIBLE = "\u00ad\u200b-\u200d\u2060\ufeff"
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_HIDDEN = re.compile(f"[{_INVISIBLE}]+")
_WORD = re.compile(f"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\\W_]|[{_MARKS}{_INVISIBLE}])+")
_HALF_WIDTH_VOICING = "\uff9e\uff9f"
_KANA_VOICING = 8
"""The combining class of the marks that make another kana, and so stay."""


def terms(query: str) -> list[str]:
    """The different terms of a query, in their order; none for a query without letters and digits."""
    return _terms(analyser(), query)


def telling(query: str) -> list[str]:
    """The same without words like "the", unless the query has no others."""
    return _terms(_telling_analyser(), query) or terms(query)


def share(text: str, query: str) -> float:
    """The part of the query's telling terms that the text has, from 0 to 1."""
    wanted = frozenset(telling(query))
    if not wanted:
        return 0.0
    return len(wanted.intersection(analyser().analyze(indexable(text)))) / len(wanted)


def indexable(text: str) -> str:
    """The text of a chunk as the analyser of the index takes it."""
    return _prepared(text, asked=False)


def highlights(text: str, query: str) -> list[tuple[int, int]]:
    """Where the words of the text are that match the query: character offsets, in order, without overlap. Words like
    "the" count for the ranking, but are shown only when the query has no others."""
    wanted = frozenset(telling(query))
    found: list[tuple[int, int]] = []
    if not wanted:
        return found
    for word in _WORD.finditer(text):
        if _RUN.match(word.group()):
            found += _marked(word.group(), word.start(), wanted)
        elif not wanted.isdisjoint(_word_terms(word.group())):
            found.append(word.span())
    return found


@cache
def analyser() -> tantivy.TextAnalyzer:
    """Splits at all that is no letter or digit, folds and stems."""
    return _folding().filter(tantivy.Filter.stemmer("english")).build()


@cache
def _telling_analyser() -> tantivy.TextAnalyzer:
    return _folding().filter(tantivy.Filter.stopword("english")).filter(tantivy.Filter.stemmer("english")).build()


def _folding() -> tantivy.TextAnalyzerBuilder:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.remove_long(limits.TERM_BYTES))
    return builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold())


def _terms(by: tantivy.TextAnalyzer, query: str) -> list[str]:
    return list(dict.fromkeys(by.analyze(_prepared(query, asked=True))))


@lru_cache(limits.HIGHLIGHT_WORDS)
def _word_terms(word: str) -> tuple[str, ...]:
    return tuple(terms(word))


def _marked(run: str, start: int, wanted: frozenset[str]) -> list[tuple[int, int]]:
    """Where single letters and pairs of a run without spaces are wanted, joined where they touch."""
    spans: list[tuple[int, int]] = []
    edges = [at for at, letter in enumerate(run) if not _belongs_before(letter)] + [len(run)]
    for place in range(len(edges) - 1):
        for last in (place + 2, place + 1):
            if last < len(edges) and not wanted.isdisjoint(_word_terms(run[edges[place] : edges[last]])):
                begin, end = start + edges[place], start + edges[last]
                if spans and spans[-1][1] >= begin:
                    begin, end = spans[-1][0], max(end, spans.pop()[1])
                spans.append((begin, end))
                break
    return spans


def _belongs_before(letter: str) -> bool:
    """Whether it is a mark on the letter before it."""
    return letter in _HALF_WIDTH_VOICING or unicodedata.combining(letter) > 0


def _prepared(text: str, *, asked: bool) -> str:
    if text.isascii():
        return text
    return _RUN.sub(lambda run: _pieces(run.group(), asked=asked), _folded(text))


def _folded(text: str) -> str:
    spelled = unicodedata.normalize("NFKD", _HIDDEN.sub("", text))
    kept = "".join(letter for letter in spelled if unicodedata.combining(letter) in (0, _KANA_VOICING))
    # Half of a surrogate pair has no UTF-8; as a question mark it separates words.
    return unicodedata.normalize("NFC", kept).encode("utf-8", "replace").decode("utf-8")


def _pieces(run: str, *, asked: bool) -> str:
    # A query asks for pairs, and for a character only where it stands alone; a chunk answers to both.
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    singles = [] if asked and pairs else list(run)
    return f" {' '.join(pairs + singles)} "
