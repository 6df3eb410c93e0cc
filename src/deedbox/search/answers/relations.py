"""How the words and numbers of a text hang together: by limits, prepositions, quantifiers, scales and units.

Two texts can have the same words and say different things: "up to 140" and "from 140", "acquired by Acme" and "acquired
Acme". So each word is read together with the small words directly before it, and each number with its scale and unit.
Languages without a table in `small_words` are read without their small words."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from deedbox.search import limits
from deedbox.search.answers import small_words
from deedbox.search.answers.small_words import Language

Terms: TypeAlias = Callable[[str], Sequence[str]]
"""The terms of a folded word."""

_TOKEN = re.compile(
    r"~[a-z]+|(?:(?<![\w.,)])-)?\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?|[%‰€$£¥§°/]|[,;:.!?()|\n]", re.IGNORECASE
)
_PERCENT = re.compile(r"\b(?:per cent|pour cent|por ciento|per cento)\b", re.IGNORECASE)
_BREAKS = frozenset(",;:.!?()|\n")
_REACH = 3
"""Words of a phrase that the small words before it govern."""
_UNIT_WITHIN = 4
"""Words after a number among which a text may name what is counted."""
_NUMBER_WITHIN = 2
"""Words before a unit of time among which its number stands: 2 years, 30 business days."""
_SIGNS = frozenset("%‰€$£¥§°")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")


class Use(NamedTuple):
    """One place at which a term stands."""

    word: str
    """As it is written."""
    direct: frozenset[str]
    """The relations directly before it."""
    reached: frozenset[str]
    """Those of the phrase that it belongs to."""


class Quantity(NamedTuple):
    """A number with its surroundings."""

    number: str
    sign: str
    """% or a currency; empty if there is none."""
    unit: str
    """The word directly after it; empty if there is none."""
    after: frozenset[str]
    """The words after it that may name what is counted."""
    is_rate: bool
    """Whether it is so much for each of something."""


class ComparedReading(NamedTuple):
    uses: dict[str, list[Use]]
    """By term."""
    quantities: list[Quantity]


class _Token(NamedTuple):
    text: str
    folded: str


def write_out_numbers(text: str, language: Language) -> str:
    """The text with each number written out: 14.2 million as 14200000."""

    def write(found: re.Match[str]) -> str:
        number, scale = found["number"], language.scales[found["scale"].casefold()]
        digits = language.numbers.get(number.casefold()) or small_words.decimal(number)
        if digits is None or len(digits) > small_words.SCALED_DIGITS:
            return found.group()
        value = Decimal(digits).scaleb(len(str(scale)) - 1)
        return f"{value.normalize():f}"

    text = language.scaled.sub(write, _PERCENT.sub("%", small_words.money(text)))
    return language.counted.sub(lambda found: language.numbers[found.group().casefold()], text)


def read(text: str, language: Language, terms: Terms) -> ComparedReading:
    """The text, in which case counts, with what its terms and numbers stand beside."""
    tokens = [_Token(token, token.casefold()) for token in _TOKEN.findall(language.marked(text))]
    uses = dict[str, list[Use]]()
    pending, governing, reach = set[str](), frozenset[str](), 0
    for at, token in enumerate(tokens):
        if token.text in _BREAKS:
            pending, governing = set(), frozenset()
        elif (relation := _relation(tokens, at, language)) is not None:
            pending |= {relation} if relation else set()
        elif found := terms(token.folded):
            if pending:
                governing, reach = frozenset(pending), _REACH
            reach -= 1
            within = governing if reach >= 0 else frozenset[str]()
            number = _number_before(tokens, at, language, terms) if token.folded in language.times else set[str]()
            for term in found:
                uses.setdefault(term, []).append(Use(token.text, frozenset(pending | number), within))
            pending = set()
    return ComparedReading(uses, list(_quantities(tokens, language, terms)))


def _relation(tokens: Sequence[_Token], at: int, language: Language) -> str | None:
    """The relation that the token expresses; empty where it expresses none here; None for an ordinary word."""
    word = tokens[at].folded
    if word.endswith("n't"):
        return "not"
    relation = language.relations.get(word)
    if tokens[at].text == "May" and at and tokens[at - 1].text not in _BREAKS:
        return None  # the month
    if relation is None or word not in language.infinitives:
        return relation
    # Before a verb it says nothing: "has to pay". A noun has an article, a capital letter or a number.
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if after is None:
        return ""
    noun = after.folded in language.articles or after.text[:1].isupper() or after.text[:1].isdigit()
    return relation if noun or after.text in _SIGNS else ""


def _number_before(tokens: Sequence[_Token], at: int, language: Language, terms: Terms) -> set[str]:
    """How many of the unit of time are meant, or which one, as a relation; empty for one: "every 2 years"."""
    for back in range(at - 1, max(at - 1 - _NUMBER_WITHIN, -1), -1):
        token = tokens[back]
        if token.folded in language.ordinals:
            return {token.folded}
        if token.text in _BREAKS | _SIGNS or token.folded in language.relations or token.folded in language.articles:
            break
        found = terms(token.folded)
        if len(found) == 1 and found[0][-1].isdigit():
            return set() if _sign(tokens[max(back - 1, 0) : back], terms) else {found[0]} - {"1"}
    return set()


def _quantities(tokens: Sequence[_Token], language: Language, terms: Terms) -> Iterator[Quantity]:
    for at, token in enumerate(tokens):
        found = terms(token.folded) if token.text not in _BREAKS else ()
        if len(found) != 1 or not found[0][-1].isdigit():
            continue
        before = _sign(tokens[at - 1 : at], terms)
        rest = tokens[at + 1 : at + 1 + 2 * _UNIT_WITHIN]
        partitive = bool(rest) and _relation(tokens, at + 1, language) == "of"  # 5 millions d'euros
        sign = before or _sign(rest[partitive : 1 + partitive], terms)
        clause = list(_until_break(rest))
        phrase = list(_phrase(tokens, at + 1, language))
        told = [term for each in phrase for term in terms(each.folded)]
        unit = next((term for each in phrase[:1] for term in terms(each.folded) if term not in _SIGNS), "")
        rate = any(
            each.folded in language.rates and (after is None or after.folded not in language.articles)
            for each, after in list(zip_longest(clause, clause[1:]))[: 2 + bool(unit and sign)]
        )
        yield Quantity(found[0], sign, unit, frozenset(told[:_UNIT_WITHIN]), rate)


def _sign(near: Sequence[_Token], terms: Terms) -> str:
    return next((term for each in near for term in terms(each.folded) if term in _SIGNS), "")


def _until_break(tokens: Iterable[_Token]) -> Iterator[_Token]:
    for token in tokens:
        if token.text in _BREAKS:
            return
        yield token


def _phrase(tokens: Sequence[_Token], begin: int, language: Language) -> Iterator[_Token]:
    """The words from there to the next relation, number or break, as many as may name what is counted."""
    for at in range(begin, min(begin + 2 * _UNIT_WITHIN, len(tokens))):
        text = tokens[at].text
        if text in _BREAKS or text[-1].isdigit() or _relation(tokens, at, language) is not None:
            return
        yield tokens[at]


def problem(said: ComparedReading, told: Sequence[ComparedReading], language: Language, terms: Terms) -> str | None:
    """What the text says of a word or a number that none of the others says; None if they agree."""
    units = frozenset(term for word in language.units for term in terms(word))
    theirs = dict[str, list[Quantity]]()
    for quantity in dict.fromkeys(quantity for each in told for quantity in each.quantities):
        theirs.setdefault(quantity.number, []).append(quantity)
    for quantity in dict.fromkeys(said.quantities):
        same = theirs.get(quantity.number, [])[: limits.ANSWER_USES]
        if same and not any(_measures(quantity, other, units) for other in same):
            return f"The number {quantity.number} does not stand with the same unit in the passage."
    for term, uses in said.uses.items():
        others = list(dict.fromkeys(use for each in told for use in each.uses.get(term, ())))
        others = others[: limits.ANSWER_USES]
        for use in dict.fromkeys(uses):
            if others and not any(_agree(use, other, term) for other in others):
                return _difference(use, others, language)
    return None


def _measures(said: Quantity, told: Quantity, units: frozenset[str]) -> bool:
    if said.sign != told.sign or (told.is_rate and not said.is_rate):
        return False
    if _YEAR.fullmatch(said.number) and not (said.unit in units or told.unit in units):
        return True
    if said.unit and told.unit:
        return said.unit in told.after
    return not (told.unit in units and not said.unit)


def _agree(said: Use, told: Use, term: str) -> bool:
    spare = {"of"} if term[-1].isdigit() or term in _SIGNS else set()
    return said.direct <= told.direct | told.reached | spare and _strong(told.direct) <= said.direct | said.reached


def _strong(relations: Iterable[str]) -> set[str]:
    return set(relations) - small_words.WEAK


def _difference(said: Use, others: Sequence[Use], language: Language) -> str:
    known = frozenset[str]().union(*(other.direct | other.reached for other in others))
    if beyond := sorted(said.direct - known):
        return f"“{language.shown(beyond[0])} {said.word}” is not what the passage says."
    missing = sorted(_strong(known) - said.direct - said.reached) or sorted(known)
    return (
        f"The passage says “{language.shown(missing[0])} {said.word}”, and it does not."
        if missing
        else (f"The passage connects “{said.word}” with other words.")
    )
