"""Numbers as people of a language write and read them, and their plain form `-1234.50`, in which they are kept."""

import functools
import re
import unicodedata
from decimal import Decimal
from typing import NamedTuple

from deedbox import i18n
from deedbox.kernel import limits

_PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_MARKS = dict.fromkeys([0x200E, 0x200F, 0x061C])
"""They only say how the text around them runs."""
_WIDE = 0xFEE0
"""How far the wide forms of ASCII, of Chinese and Japanese keyboards, lie behind it."""
_SAMPLE = "1234.5"


class _Signs(NamedTuple):
    point: str
    group: str


def plain(text: str) -> str | None:
    """The number in plain form if the text is one: digits, a point and no other sign; None for anything else."""
    text = text.strip()
    if not _PLAIN.fullmatch(text) or len(text) > limits.NUMBER_CHARS:
        return None
    return text.removeprefix("-") if not Decimal(text) else text


def read(language: str, text: str) -> str | None:
    """The plain form of a number that is written with the language's signs, groups of three or none; None if it is not.

    In no language do we take 007 for 7, or 1,23,4 for anything."""
    signs = _signs(language)
    group, point = re.escape(signs.group), re.escape(signs.point)
    whole = rf"0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|[1-9][0-9]{{0,2}}(?: [0-9]{{3}})+"
    found = re.fullmatch(rf"([+-]?)({whole})(?:{point}([0-9]+))?", _simple(text, signs))
    if found is None:
        return None
    sign, digits, rest = found.groups()
    return plain(f"{sign.strip('+')}{re.sub('[^0-9]', '', digits)}" + (f".{rest}" if rest else ""))


def written(language: str, number: str) -> str:
    """A number in plain form as the language writes it, with all its digits: 1.234,50."""
    # Here and not above: it takes long to load, and most processes write no number.
    from babel.numbers import format_decimal

    decimals = len(number.partition(".")[2])
    form = "#,##0" + ("." + "0" * decimals if decimals else "")
    value = Decimal(number)
    return str(format_decimal(value, format=form, locale=_locale(language), decimal_quantization=False))


def format_ungrouped(language: str, number: str) -> str:
    """A number in plain form with the language's sign for its decimals and no other: it can be read in one way only."""
    return number.replace(".", _signs(language).point)


def example(language: str) -> str:
    """How a number looks in the language."""
    return written(language, _SAMPLE)


def _simple(text: str, signs: _Signs) -> str:
    """The text with the digits, spaces and signs of other keyboards as the usual ones: ١٢٣, １２３, −."""
    turned = "".join(_usual(letter) for letter in text.translate(_MARKS)).strip()
    turned = turned.replace("−", "-").replace("٫", signs.point).replace("٬", signs.group)
    return turned.replace("'", "’") if signs.group == "’" else turned


def _usual(letter: str) -> str:
    if unicodedata.category(letter) == "Zs":
        return " "
    wide = ord(letter) - _WIDE
    return chr(wide) if "!" <= chr(max(wide, 0)) <= "~" else str(unicodedata.decimal(letter, letter))


@functools.cache
def _signs(language: str) -> _Signs:
    from babel.numbers import get_decimal_symbol, get_group_symbol

    locale = _locale(language)
    group = str(get_group_symbol(locale))
    return _Signs(str(get_decimal_symbol(locale)), " " if group.isspace() else group)


def _locale(language: str) -> str:
    """That of the region, if it is named: Mexico writes 1,234.5 and Spain 1.234,5."""
    from babel import UnknownLocaleError
    from babel.core import Locale

    usual = str(i18n.LANGUAGES[i18n.known(language)].LOCALE)
    if "-" not in language or i18n.known(language) != language.partition("-")[0]:
        return usual
    try:
        return str(Locale.parse(language, sep="-"))
    except (UnknownLocaleError, ValueError):
        return usual
