"""Whether a sentence says no more than the passages that it quotes. No model is asked: only words are compared.

A sentence is supported if each of its quotes stands in the passage that it names, if every word of it that carries
meaning stands in the sentences that it quotes from (or in the name or heading of their document), if every number
stands in those sentences with its scale and unit, if it has as many negations, and conditions, as they have, and if its
small words (limits, prepositions, quantifiers) stand before the same words. The same words in another order are beyond
this check."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from deedbox.search import limits
from deedbox.search.answers import relations, sentences, small_words, word_lists
from deedbox.search.answers.relations import ComparedReading
from deedbox.search.answers.small_words import Language

_MARK = re.compile(r"\s*\[(\d{1,6})\]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_SAME = str.maketrans(dict.fromkeys("‘’‚‛`´′", "'") | dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‐‑‒–—−", "-"))
_TOKEN = re.compile(r"(?:(?<![\w.,)])-)?\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?|[%‰€$£¥§°]")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_THOUSANDS = re.compile(r"(-?\d{1,3})((?:,\d{3})+)(\.\d+)?|(-?\d{1,3})((?:\.\d{3})+)(,\d+)?")
_LETTER = re.compile(f"(?!{word_lists.UNSPACED})[^\\W_]")
_BEFORE, _AFTER = re.compile(r"\w$|\d[.,]$"), re.compile(r"\w|[.,]\d")
_EDGES = " .,;:…\"'"


class Quote(msgspec.Struct, frozen=True):
    passage: int
    """The passage that it is said to stand in, by its number from 1."""
    text: str
    """The words, as the model gave them."""


class Sentence(msgspec.Struct, frozen=True):
    text: str
    """The sentence."""
    citations: list[int]
    """The passages in which its quotes stand, by their numbers from 1."""
    supported: bool
    """Whether all of it stands in the sentences that it quotes from; false marks what may be invented."""
    reason: str | None
    """Why it is not supported; null if it is."""
    quotes: list[Quote]
    """What it quotes."""


class Source:
    """A passage to check sentences against."""

    def __init__(self, text: str, *label: str | None) -> None:
        self._written = [_even(one) for one in sentences.split(text)]
        self._sentences = [one.casefold() for one in self._written]
        self._text = " ".join(self._sentences)
        self.label = _words(_plain(" ".join(part for part in label if part)))
        """The words of the document's name and of its heading."""

    def quoted(self, quote: str, said: frozenset[str]) -> str | None:
        """The sentences that the quote stands in, where it comes nearest to what is said; None if it stands nowhere."""
        wanted = _plain(quote).strip(_EDGES)
        found = [self._around(at, at + len(wanted)) for at in _places(self._text, wanted)]
        return min(found, key=lambda around: len(said - _words(around.casefold())), default=None)

    def _around(self, begin: int, end: int) -> str:
        touched, at = list[str](), 0
        for sentence, written in zip(self._sentences, self._written, strict=True):
            if at < end and at + len(sentence) > begin:
                touched.append(_near(written, begin - at, end - at))
            at += len(sentence) + 1
        return " ".join(touched)


def _near(sentence: str, begin: int, end: int) -> str:
    """The sentence, or whole words of it around the quote if it has no end in sight."""
    first, last = begin - limits.ANSWER_AROUND_CHARS, end + limits.ANSWER_AROUND_CHARS
    if last < len(sentence):
        sentence = sentence[: max(sentence.rfind(" ", 0, last), 0)]
    return sentence[sentence.find(" ", first) + 1 :] if first > 0 else sentence


def check_sentence(text: str, quotes: Sequence[Quote], sources: Sequence[Source]) -> Sentence:
    """The sentence with its citations, and whether the passages support it."""
    marks = {int(number) for number in _MARK.findall(text)}
    said = _MARK.sub("", text).strip()
    words = _words(_plain(said))
    evidence = list[str]()
    labels, citations = set[str](), list[int]()
    reason = _unusable(quotes, marks, len(sources))
    for quote in quotes[: limits.ANSWER_QUOTES]:
        source = sources[quote.passage - 1] if 1 <= quote.passage <= len(sources) else None
        around = source.quoted(quote.text, words) if source and _weighs(quote.text) else None
        if source is None or around is None:
            reason = reason or f"Passage [{quote.passage}] does not have the words that are quoted from it."
            continue
        evidence.append(around)
        labels |= source.label
        citations += [] if quote.passage in citations else [quote.passage]
    reason = reason or _beyond(said, evidence, labels)
    return Sentence(said, citations, reason is None, reason, list(quotes[: limits.ANSWER_QUOTES]))


def uncited_sentence(text: str, reason: str) -> Sentence:
    """A sentence that quotes nothing."""
    return Sentence(_MARK.sub("", text).strip(), [], False, reason, [])


def _unusable(quotes: Sequence[Quote], marks: Iterable[int], count: int) -> str | None:
    named = [quote.passage for quote in quotes]
    if not named:
        return "It quotes no passage."
    if missing := [number for number in (*named, *sorted(marks)) if not 1 <= number <= count]:
        return f"There is no passage [{missing[0]}]."
    if bare := sorted(set(marks) - set(named)):
        return f"It names passage [{bare[0]}] without quoting it."
    if len(quotes) > limits.ANSWER_QUOTES:
        return f"It has more than {limits.ANSWER_QUOTES} quotes."
    if any(len(quote.text) > limits.ANSWER_QUOTE_CHARS for quote in quotes):
        return f"A quote is longer than {limits.ANSWER_QUOTE_CHARS} characters."
    return None


def _beyond(said: str, evidence: Sequence[str], labels: set[str]) -> str | None:
    """What the sentence says beyond the evidence."""
    language = _language(evidence)
    written, passages = (
        relations.write_out_numbers(_even(said), language),
        [relations.write_out_numbers(one, language) for one in evidence],
    )
    plain, plain_passages = written.casefold(), [one.casefold() for one in passages]
    reading, readings = _read(written, language), [_read(one, language) for one in passages]
    words, told = (
        reading.uses.keys(),
        frozenset[str]().union(*map(_words, plain_passages), *(each.uses for each in readings)),
    )
    if not words:
        return "It says nothing that could be looked for in the passage."
    if lacking := sorted(_numbers(plain) - _numbers(" ".join(plain_passages))):
        return f"The number {lacking[0]} is not in the sentences that it quotes from, or not as often."
    if lacking := sorted(words - told - labels):
        return f"“{_as_written(lacking[0], said)}” is not in the sentences that it quotes from."
    for kind, turning in (("negation", word_lists.NEGATIONS), ("condition", word_lists.CONDITIONS)):
        here, there = _turns(plain, turning), sum(_turns(around, turning) for around in plain_passages)
        if here != there:
            return f"It has a {kind} too many." if here > there else f"The passage has a {kind} that it leaves out."
    return relations.problem(reading, readings, language, _terms)


def _read(written: str, language: Language) -> ComparedReading:
    return relations.read(written, language, _terms)


def _language(evidence: Sequence[str]) -> Language:
    """The language of the passages, by their frequent words."""
    from deedbox.search.index import languages

    return small_words.language(languages.of_words(_TOKEN.findall(" ".join(evidence).casefold()), languages.LATIN))


def _turns(plain: str, turning: frozenset[str]) -> int:
    """How often the text has such a word."""
    words = _TOKEN.findall(plain.replace("non-", "non"))
    phrases: list[str] = word_lists.CONDITION_PHRASES.findall(plain) if turning is word_lists.CONDITIONS else []
    count: int = sum(word in turning or (turning is word_lists.NEGATIONS and word.endswith("n't")) for word in words)
    return len(phrases) + count


def _numbers(plain: str) -> Counter[str]:
    """How often the text has each number."""
    terms = (term for token in _TOKEN.findall(_ORDINAL.sub("", plain)) for term in _terms(token))
    return Counter(term for term in terms if term[-1].isdigit())


def _as_written(term: str, said: str) -> str:
    """The word of the sentence whose term this is."""
    return next((word for word in _TOKEN.findall(said) if term in _terms(_plain(word))), term)


def _weighs(quote: str) -> bool:
    """Whether a quote is more than a word or two that stand everywhere."""
    return len(_words(_plain(quote))) >= limits.ANSWER_QUOTE_WORDS


def _even(text: str) -> str:
    """The text without the differences that copying makes, but for case: space, quotation marks, dashes, ligatures."""
    return " ".join(unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).translate(_SAME).split())


def _plain(text: str) -> str:
    return _even(text).casefold()


def _places(text: str, wanted: str) -> list[int]:
    """Where the words stand in the text: whole words, for "1" is not in "10"."""
    found, at = list[int](), text.find(wanted) if wanted else -1
    while at >= 0 and len(found) < limits.ANSWER_QUOTE_PLACES:
        end = at + len(wanted)
        if not (_LETTER.match(wanted[0]) and _BEFORE.search(text[max(0, at - 2) : at])) and not (
            _LETTER.match(wanted[-1]) and _AFTER.match(text[end : end + 2])
        ):
            found.append(at)
        at = text.find(wanted, end)
    return found


def _words(plain: str) -> frozenset[str]:
    """Every word that carries meaning, by its stem, and every number."""
    return frozenset(term for token in _TOKEN.findall(_ORDINAL.sub("", plain)) for term in _terms(token))


@lru_cache(limits.HIGHLIGHT_WORDS)
def _terms(token: str) -> Sequence[str]:
    from deedbox.search.index.analysis import terms

    if token[-1].isdigit():
        return [_number(token)]
    if not token[0].isalpha():
        return [token]
    word = token.removesuffix("'s")
    if word.endswith("n't") or word in word_lists.SILENT:
        return []
    if same := word_lists.ALIKE.get(word):
        return [same]
    return terms(word)


def _number(token: str) -> str:
    """The number in one spelling: 1,000.50 and 1.000,50 are the same."""
    if grouped := _THOUSANDS.fullmatch(token):
        first, rest, part = grouped.groups()[:3] if grouped[1] else grouped.groups()[3:]
        token = f"{first}{re.sub('[.,]', '', rest)}{part or ''}"
    sign, digits = ("-", token[1:]) if token.startswith("-") else ("", token)
    return f"{sign}{digits.replace(',', '.').lstrip('0') or '0'}"
