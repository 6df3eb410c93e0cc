"""Terms of a text, made in the same way for chunks, queries and highlights.

Words are folded (case, accents, ligatures, full width) and stemmed: by their script where that tells the language, in
Latin script by the language of the chunk. Terms of a language other than English carry its name, and a query asks for
a word in every language that the chunks have: so nobody has to guess the language of a few words. Scripts without
spaces are cut into single characters and pairs. The words of a document's name are terms of its own kind in its first
chunk: so they find it, and nobody takes them for words of the text."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import tantivy

from deedbox.search import limits
from deedbox.search.index import ChunkEntry, languages, wildcards

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
_BREVE = "\u0306"
"""Makes another letter of the Cyrillic i, and so stays there."""
_SPACES = str.maketrans({sign: " " for sign in map(chr, range(128)) if not sign.isalnum()})
"""Of a text in ASCII, all that is no letter or digit becomes a space: several times as fast as a pattern."""
_LETTERS = re.compile(r"[^\W_]+")
_PLAIN_TEXT = re.compile(
    "[\0-\x7f\xa0\xa1\xa3-\xa9\xab\xac\xae-\xb1\xb6-\xb8\xbb\xbf-\u013e\u0141-\u0148\u014a-\u017f\u2010-\u2027"
    "\u2030-\u203e\u20ac\u2190-\u22ff]*"
)
"""A text without signs that become letters, or parts of words, when they are folded: each of its words is what it is
wherever it stands."""
STOP_WORD = 0.5
"""What a stop word of the query's language counts, where another word counts 1."""


class QueryTerm(NamedTuple):
    """A word of a query."""

    terms: tuple[str, ...]
    """One for each language of the chunks, each once: of a whole word, a chunk has one of them at most."""
    share: float
    """How much it counts: 1 for each time that it is said, less for a stop word."""
    names: tuple[str, ...]
    """Its terms in names of documents."""


Begun: TypeAlias = Callable[[str], Sequence[str]]
"""The words that a query's word with a star stands for, folded."""


def query_terms(query: str, spoken: Sequence[str] = (), begun: Begun | None = None) -> list[QueryTerm]:
    """The words of a query, in their order, each once and counting as much as it does everywhere together, after those
    with a star; `spoken` are the languages of the chunks beside English."""
    counts: dict[tuple[str, ...], float] = {}
    named: dict[tuple[str, ...], tuple[str, ...]] = {}
    begins, rest = _parted(query) if begun else ([], query)
    for meant in map(begun, begins) if begun else ():
        if terms := tuple(dict.fromkeys(term for word in meant for term in _in_languages(word, spoken))):
            counts[terms], named[terms] = 1.0, tuple(dict.fromkeys(map(_named, meant)))
    words = _words(rest)
    language = languages.of_words(words)
    for word in words:
        share = STOP_WORD if language in languages.stops_of(word) else 1.0
        for folded in _folded_words(word):
            terms = _in_languages(folded, spoken)
            counts[terms], named[terms] = counts.get(terms, 0.0) + share, (_named(folded),)
    return [QueryTerm(terms, min(count, limits.QUERY_TERM_COUNT), named[terms]) for terms, count in counts.items()]


def _parted(query: str) -> tuple[list[str], str]:
    """What the query's words with a star begin with, folded, each once, and the query without these words. In scripts
    without spaces a star means nothing."""
    begins: dict[str, None] = {}

    def take(found: re.Match[str]) -> str:
        folded = plain(found["begun"]).split()
        if len(folded) != 1 or len(folded[0]) < limits.PREFIX_LETTERS or _RUN.search(folded[0]):
            return found.group()
        begins[folded[0]] = None
        return " "

    rest = wildcards.BEGUN.sub(take, query) if "*" in query else query
    return list(begins), rest


def forms(word: str, spoken: Sequence[str]) -> list[tuple[str, ...]]:
    """The terms of a word in the languages of the chunks: a chunk that has the word has one of each of these."""
    return list(dict.fromkeys(said.terms for said in query_terms(word, spoken)))


def of_text(text: str) -> list[str]:
    """The terms of a chunk, each as often as it occurs, in their order; before them that of its language, if it is
    not English."""
    words = _words(text)
    language = languages.of_words(words, languages.LATIN)
    if text.isascii():
        words = [word for word in words if len(word) < limits.TERM_BYTES]
    else:
        words = _splitter().analyze(_prepared(text, asked=False))
    terms = list(map(_known(language).__getitem__, words))
    return terms if language == languages.ENGLISH else [languages.mark(language), *terms]


def of_entry(entry: ChunkEntry) -> list[str]:
    """The terms of a chunk and of the name that stands with it."""
    return [*of_text(entry.text), *map(_named, _name_words(entry.name))] if entry.name else of_text(entry.text)


def said(entries: Iterable[ChunkEntry]) -> list[str]:
    """The different words of an upload's chunks and name, folded and not stemmed, in order; not those of scripts
    without spaces, nor single letters."""
    words = set[str]()
    for entry in entries:
        for text in (entry.text, entry.name):
            words.update(text.lower().translate(_SPACES).split() if text.isascii() else plain(text).split())
    return sorted(word for word in words if 1 < len(word) < limits.TERM_BYTES and not _RUN.search(word))


def terms(text: str) -> list[str]:
    """The different terms of a text, in their order, as if it were in English."""
    return list(dict.fromkeys(term for said in query_terms(text) for term in said.terms))


def content_words(query: str) -> list[str]:
    """The words of a query that tell what it is about: all but stop words, unless it has no others."""
    return _without_stops(query) or _words(query)


def _without_stops(query: str) -> list[str]:
    words = _words(query)
    language = languages.of_words(words)
    return [word for word in words if language not in languages.stops_of(word)]


class QueryMatches(NamedTuple):
    """What a text has of a query."""

    share: float
    """The part of what the query's telling words ask for that the text or the name beside it has, from 0 to 1."""
    spans: list[tuple[int, int]]
    """Where the words are that match it: character offsets, in order, without overlap. Stop words count for the
    ranking, but are shown only when the query has no others."""


class Marker:
    """Finds in texts what one query asks for."""

    def __init__(self, query: str) -> None:
        begins, rest = _parted(query)
        self._begun = tuple(begins)
        """What its words with a star begin with."""
        self._telling = _without_stops(rest) if begins else content_words(rest)
        self._wanted: dict[str, frozenset[str]] = {}

    def marks(self, text: str, name: str = "") -> QueryMatches:
        words = _words(text)
        language = languages.of_words(words, languages.LATIN)
        wanted, begun = self._terms(language), self._begun
        if not wanted and not begun:
            return QueryMatches(0.0, [])
        if _PLAIN_TEXT.fullmatch(text) and not begun:
            met, spans = _plain_marks(text, words, wanted, language)
        else:
            met, spans = wanted.intersection(of_text(text)), _spans(text, wanted, begun, language)
        met |= wanted.intersection(_known(language)[word] for word in _name_words(name))
        said = plain(f"{text} {name}") if begun else ""
        asked_for = len(met) + sum(f" {start}" in said for start in begun)
        return QueryMatches(asked_for / (len(wanted) + len(begun)), spans)

    def _terms(self, language: str) -> frozenset[str]:
        """The terms of its telling words in a chunk of this language."""
        if language not in self._wanted:
            terms = frozenset(term for word in self._telling for term in _word_terms(word, language))
            self._wanted[language] = terms
        return self._wanted[language]


def highlights(text: str, query: str) -> list[tuple[int, int]]:
    """Where the words of the text are that match the query."""
    return Marker(query).marks(text).spans


def _plain_marks(
    text: str, words: Sequence[str], wanted: frozenset[str], language: str
) -> tuple[frozenset[str], list[tuple[int, int]]]:
    """The wanted terms of a plain text, and where they stand: most words are not asked for."""
    different, known = {*words}, _known(language)
    found = {word: known[word] for word in different if known[word] in wanted and len(word) < limits.TERM_BYTES}
    if not text.isascii():
        others = [(word, _word_terms(word, language)) for word in different if not word.isascii()]
        found |= {word: term for word, terms in others for term in terms if term in wanted}
    spans = [span for word in found for span in _places(text, word)]
    return frozenset(found.values()), sorted(spans)


def _places(text: str, word: str) -> Iterator[tuple[int, int]]:
    """Where the word stands as a whole."""
    end = 0
    while (start := text.find(word, end)) >= 0:
        end = start + len(word)
        if not text[max(start - 1, 0) : start].isalnum() and not text[end : end + 1].isalnum():
            yield start, end


def _spans(text: str, wanted: frozenset[str], begun: tuple[str, ...], language: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        if _RUN.match(word.group()):
            found += _marked(word.group(), word.start(), wanted)
        elif not wanted.isdisjoint(_word_terms(word.group(), language)) or _begins(word.group(), begun):
            found.append(word.span())
    return found


def _begins(word: str, begun: tuple[str, ...]) -> bool:
    return bool(begun) and any(folded.startswith(begun) for folded in _folded_words(word))


def is_in(word: str, terms: Collection[str]) -> bool:
    """Whether a chunk with these terms has the word, in any inflection."""
    spoken = [each for each in languages.LATIN if languages.mark(each) in terms]
    found = forms(word, spoken)
    return bool(found) and all(any(term in terms for term in each) for each in found)


def plain(text: str) -> str:
    """The words of a text, folded and not stemmed, with one space around each; runs without spaces stay whole."""
    return f" {' '.join(_splitter().analyze(_folded(text)))} "


def has_phrase(folded: str, phrase: str) -> bool:
    """Whether a text, made plain, has the words of the phrase one after another, as they are written but for case and
    accents."""
    wanted = plain(phrase)
    if _RUN.match(wanted.strip()[:1]):
        wanted = wanted.lstrip()
    if _RUN.match(wanted.strip()[-1:]):
        wanted = wanted.rstrip()
    return wanted in folded


def _words(text: str) -> list[str]:
    """The words as they are written."""
    if text.isascii():
        return text.translate(_SPACES).split()
    return _LETTERS.findall(text) if _PLAIN_TEXT.fullmatch(text) else _WORD.findall(unicodedata.normalize("NFC", text))


@cache
def _splitter() -> tantivy.TextAnalyzer:
    """Splits at all that is no letter or digit, and folds."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.remove_long(limits.TERM_BYTES))
    return builder.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.ascii_fold()).build()


class _Known(dict[str, str]):
    """The terms of words in chunks of a language: most words have been seen before."""

    def __init__(self, language: str) -> None:
        self._language = language

    def __missing__(self, word: str) -> str:
        if len(self) >= limits.KNOWN_WORDS:
            self.clear()
        self[word] = term = languages.term(word.lower(), self._language)
        return term


@cache
def _known(language: str) -> _Known:
    return _Known(language)


@lru_cache(limits.HIGHLIGHT_WORDS)
def _folded_words(word: str) -> tuple[str, ...]:
    """The words of a query's word: several of a run without spaces, none of one that is too long."""
    return tuple(_splitter().analyze(_prepared(word, asked=True)))


def _in_languages(folded: str, spoken: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_known(each)[folded] for each in (languages.ENGLISH, *spoken)))


def _named(folded: str) -> str:
    """The term of a word in a name, whose language nobody can tell."""
    return f"@{_known(languages.ENGLISH)[folded]}"


@lru_cache(limits.HIGHLIGHT_WORDS)
def _name_words(name: str) -> tuple[str, ...]:
    """The words of a name that find the document."""
    words = _splitter().analyze(_prepared(name, asked=False))
    return tuple(word for word in words if not word.isdigit() or len(word) >= limits.NAME_DIGITS)


def _word_terms(word: str, language: str) -> list[str]:
    return [_known(language)[folded] for folded in _folded_words(word)]


def _marked(run: str, start: int, wanted: frozenset[str]) -> list[tuple[int, int]]:
    """Where single letters and pairs of a run without spaces are wanted, joined where they touch."""
    spans: list[tuple[int, int]] = []
    edges = [at for at, letter in enumerate(run) if not _belongs_before(letter)] + [len(run)]
    for place in range(len(edges) - 1):
        for last in (place + 2, place + 1):
            if last < len(edges) and not wanted.isdisjoint(_folded_words(run[edges[place] : edges[last]])):
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
    kept = "".join(
        letter
        for before, letter in pairwise(f" {spelled}")
        if unicodedata.combining(letter) in (0, _KANA_VOICING) or (letter == _BREVE and before in "иИ")
    )
    # Half of a surrogate pair has no UTF-8; as a question mark it separates words.
    return unicodedata.normalize("NFC", kept).encode("utf-8", "replace").decode("utf-8")


def _pieces(run: str, *, asked: bool) -> str:
    # A query asks for pairs, and for a character only where it stands alone; a chunk answers to both.
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    singles = [] if asked and pairs else list(run)
    return f" {' '.join(pairs + singles)} "
