"""What the signs in a question ask for: "a phrase", -word, filename:name. All else is plain text, signs and all."""

import re

import msgspec

from deedbox.kernel import limits
from deedbox.search.index import Sieve

_END = r"(?=[\s.,;:!?)]|$)"
_PART = re.compile(
    rf'(?<!\S)(?P<minus>-)?(?P<field>filename:)?(?:"(?P<phrase>[^"]*\w[^"]*)"{_END}|(?P<word>\S+))', re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_][\w\'’-]+")
"""What a minus may exclude: -5 and -v are no words."""


class Wording(msgspec.Struct, frozen=True):
    """A question as it is understood."""

    text: str
    """What is asked for, in plain words."""
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    """Words and phrases that no passage may have."""
    filenames: tuple[str, ...] = ()
    """What the name of the document must hold, each of these."""

    @property
    def sifts(self) -> bool:
        """Whether a passage has to be read to know that it is wanted."""
        return bool(self.phrases or self.excluded)

    @property
    def sieve(self) -> Sieve:
        """What an index can tell of the phrases and excluded words."""
        words = tuple(word for phrase in self.phrases for word in phrase.split())
        return Sieve(words, tuple(each for each in self.excluded if " " not in each))

    def admits(self, passage: str) -> bool:
        """Whether a passage with this text is wanted."""
        if not self.sifts:
            return True
        # Imported here: only processes that search need it.
        from deedbox.search.index import analysis

        folded, said = analysis.plain(passage), set(analysis.of_text(passage))
        if not all(analysis.has_phrase(folded, phrase) for phrase in self.phrases):
            return False
        return not any(
            analysis.has_phrase(folded, each) or (" " not in each and analysis.is_in(each, said))
            for each in self.excluded
        )


def read(question: str) -> Wording:
    """The question in parts; one that asks for nothing but to leave something out is plain text."""
    plain: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    filenames: list[str] = []
    for part in _PART.finditer(question):
        phrase, word = part["phrase"], part["word"] or ""
        if len(phrases) + len(excluded) + len(filenames) == limits.QUERY_WISHES:
            plain.append(part.group())
        elif part["field"] and not part["minus"]:
            filenames.append(phrase or word)
        elif part["minus"] and not part["field"] and (phrase or _WORD.fullmatch(word)):
            excluded.append(phrase or word)
        elif phrase and not part["minus"]:
            phrases.append(phrase)
            plain.append(phrase)
        else:
            plain.append(part.group())
    if not (phrases or excluded or filenames) or not (plain or filenames):
        return Wording(question)
    return Wording(" ".join(plain or filenames), tuple(phrases), tuple(excluded), tuple(filenames))
