"""Refusals that a signer reads: raised by name, said in the language of whoever reads them."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from deedbox import i18n
from deedbox.i18n import numbers
from deedbox.kernel.errors import BadRequest, Saying, ServiceError

E = TypeVar("E", bound=ServiceError)
_USE = "refusal."
_WORD = "page."


def refusal(kind: type[E], name: str, **values: str) -> E:
    """The error of this kind whose sentence has this name among the words of refusals."""
    return _saying(kind, [Saying(name, values)])


def wrong_values(faults: Sequence[Saying]) -> BadRequest:
    """The error that tells all that is wrong with the values of some fields."""
    return _saying(BadRequest, faults)


def said(error: ServiceError, language: str) -> str:
    """What is wrong, in this language if there are words for it; each fault of a field after the field's name."""
    return "; ".join(_named(one, language) for one in error.sayings) or error.message


def beside(error: ServiceError, language: str) -> Mapping[str, str]:
    """What is wrong with each field, by its id."""
    return {one.field_id: sentence(one, language) for one in error.sayings if one.field_id}


def _saying(kind: type[E], sayings: Sequence[Saying]) -> E:
    error = kind("; ".join(_named(one, i18n.DEFAULT) for one in sayings))
    error.sayings = tuple(sayings)
    return error


def _named(one: Saying, language: str) -> str:
    table = i18n.table(language)
    if not one.field_id:
        return sentence(one, language)
    label = table[one.label] if one.label.startswith(_WORD) and one.label in table else one.label
    return f"{label}: {sentence(one, language)}"


def sentence(one: Saying, language: str = i18n.DEFAULT) -> str:
    """The sentence alone, without the field's name."""
    text = i18n.table(language)[_USE + one.name]
    shown = {"example": numbers.example(language)} if "{example}" in text else {}
    return text.format(**one.values, **shown)
