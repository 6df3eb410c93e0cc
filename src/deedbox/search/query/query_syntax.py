"""What the signs in a question ask for: "a phrase", -word, word*, and filename:, title: or heading: with a part of it.
All else is plain text, signs and all."""

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from deedbox.search import limits
from deedbox.search.index import Sieve, wildcards

_END = r"(?=[\s.,;:!?)]|$)"
_PART = re.compile(
    r"(?<!\S)(?P<minus>-)?(?:(?P<field>filename|title|heading):)?"
    rf'(?:"(?P<phrase>[^"]*\w[^"]*)"{_END}|(?P<word>\S+))',
    re.IGNORECASE,
)
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))
"""Typographic quotes, as phones and word processors write them."""
_WORD = re.compile(r"[^\W\d_][\w\'’-]+")
"""What a minus may exclude: -5 and -v are no words."""
_LETTERS = re.compile(rf"(?<![^\s(])[^\W\d_]+{_END}")
"""What may have been meant otherwise: a word of letters that stands alone."""
Field: TypeAlias = Literal["filename", "title", "heading"]


def fold(text: str) -> str:
    """A name, title or heading as it is searched, and what is searched in it."""
    return " ".join(text.casefold().split())


def replace_words(text: str, meant: Mapping[str, str]) -> str:
    """The text with what was meant in the place of words and quoted phrases."""
    text = text.translate(_QUOTES)
    for phrase in (written for written in meant if written.startswith('"')):
        text = text.replace(phrase, meant[phrase])
    return _LETTERS.sub(lambda found: meant.get(found.group(), found.group()), text)


class Wording(msgspec.Struct, frozen=True):
    """A question as it is understood."""

    text: str
    """What is asked for, in plain words."""
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    """Words and phrases that no passage may have."""
    fields: tuple[tuple[Field, str], ...] = ()
    """What the name or title of the document, or the heading of the passage, must hold: each of these."""

    @property
    def sifts(self) -> bool:
        """Whether a passage has to be read to know that it is wanted."""
        return bool(self.phrases or self.excluded or self._headings)

    @property
    def meaning(self) -> str:
        """What is embedded: no stars."""
        return wildcards.without_stars(self.text)

    @property
    def doubtful(self) -> list[str]:
        """The words that may have been meant otherwise: not those of phrases and fields."""
        meant = (*self.phrases, *(part for _, part in self.fields))
        sure = {word for part in meant for word in part.casefold().split()}
        return [word for word in _LETTERS.findall(self.text) if word.casefold() not in sure]

    def corrected(self, meant: Mapping[str, str]) -> "Wording":
        """The same with the words that were meant."""
        return msgspec.structs.replace(self, text=replace_words(self.text, meant))

    @property
    def loosened(self) -> "Wording | None":
        """The same with phrases that are nothing but their words; None where there are none, or nothing else is asked
        for: whoever asks for a phrase alone means it."""
        plain = " ".join(phrase.replace("*", " ") for phrase in self.phrases)
        return msgspec.structs.replace(self, phrases=()) if self.phrases and plain != self.text else None

    @property
    def sieve(self) -> Sieve:
        """What an index can tell of the phrases and excluded words."""
        words = tuple(word for phrase in self.phrases for word in phrase.split())
        return Sieve(words, tuple(each for each in self.excluded if " " not in each))

    @property
    def _headings(self) -> list[str]:
        return [fold(part) for field, part in self.fields if field == "heading"]

    def admits(self, passage: str, heading: str | None = None) -> bool:
        """Whether a passage with this text under this heading is wanted."""
        if not self.sifts:
            return True
        above = fold(heading or "")
        if not all(part in above for part in self._headings):
            return False
        # Imported here: only processes that search need it.
        from deedbox.search.index import analysis

        text, said = analysis.plain(passage), set(analysis.of_text(passage))
        if not all(analysis.has_phrase(text, phrase) for phrase in self.phrases):
            return False
        return not any(
            analysis.has_phrase(text, each) or (" " not in each and analysis.is_in(each, said))
            for each in self.excluded
        )


def read(question: str) -> Wording:
    """The question in parts; one that asks for nothing but to leave something out is plain text."""
    plain: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    fields: list[tuple[Field, str]] = []
    for part in _PART.finditer(question.translate(_QUOTES)):
        phrase, word = (part["phrase"] or "").strip(), part["word"] or ""
        if len(phrases) + len(excluded) + len(fields) == limits.QUERY_WISHES:
            plain.append(part.group())
        elif part["field"] and not part["minus"]:
            fields.append((msgspec.convert(part["field"].lower(), Field), phrase or word))
        elif part["minus"] and not part["field"] and (phrase or _WORD.fullmatch(word)):
            excluded.append(phrase or word)
        elif phrase and not part["minus"]:
            phrases.append(phrase)
            plain.append(phrase.replace("*", " "))
        else:
            plain.append(part.group())
    if not (phrases or excluded or fields) or not (plain or fields):
        return Wording(question)
    text = " ".join(plain or [part for _, part in fields])
    return Wording(text, tuple(phrases), tuple(excluded), tuple(fields))
