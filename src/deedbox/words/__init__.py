"""The words that people read in mail, on the certificate and on pages: one table per language, all with the same names.

A name begins with its use: `mail.`, `certificate.`. Dates and numbers are written as the language does, by Babel."""

from collections.abc import Mapping
from datetime import UTC, datetime
from datetime import date as Date
from decimal import Decimal
from functools import cache
from types import ModuleType

from deedbox.words import ar, de, en, es, fr, ja, pt, zh

DEFAULT = "en"
LANGUAGES: Mapping[str, ModuleType] = {"en": en, "de": de, "fr": fr, "es": es, "pt": pt, "ar": ar, "zh": zh, "ja": ja}
_HEADER_READ = 200
RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})


def known(language: str) -> str:
    """The language whose table is used: `de` for `de-AT`, English for one that has none."""
    first = language.lower().replace("_", "-").partition("-")[0]
    return first if first in LANGUAGES else DEFAULT


def preferred(accepted: str) -> str:
    """The first language of an Accept-Language header that there is a table for, by the weights that it gives."""
    wanted = []
    for place, part in enumerate(accepted[:_HEADER_READ].split(",")):
        tag, _, weight = part.strip().partition(";q=")
        try:
            wanted.append((-float(weight or 1), place, tag.lower().partition("-")[0]))
        except ValueError:
            continue
    return next((tag for _, _, tag in sorted(wanted) if tag in LANGUAGES), DEFAULT)


def table(language: str) -> Mapping[str, str]:
    """Every word and sentence of the language by its name."""
    words: Mapping[str, str] = LANGUAGES[known(language)].WORDS
    return words


@cache
def of_use(language: str, use: str) -> Mapping[str, str]:
    """The words of one use, `mail` or `certificate`, by their names without it."""
    prefix = f"{use}."
    return {name.removeprefix(prefix): text for name, text in table(language).items() if name.startswith(prefix)}


def direction(language: str) -> str:
    """How the language runs, as HTML's `dir` says it."""
    return "rtl" if known(language) in RIGHT_TO_LEFT else "ltr"


def moment(language: str, at: datetime) -> str:
    """A time to the minute, in UTC: 3 May 2026, 14:05 UTC."""
    from babel.dates import format_time

    whole = at.astimezone(UTC)
    clock = format_time(whole, "short", tzinfo=UTC, locale=_locale(language))
    return table(language)["moment"].format(date=date(language, whole), time=clock)


def exact_moment(language: str, at: datetime, zone: str | None = None) -> str:
    """A time to the second, in a zone if one is named, with UTC beside it: 3 May 2026, 16:05:59 CEST (14:05:59 UTC)."""
    from zoneinfo import ZoneInfo

    from babel.dates import format_time, get_timezone_name

    def clock(local: datetime) -> str:
        return str(format_time(local, "HH:mm:ss", tzinfo=local.tzinfo, locale=_locale(language)))

    utc = at.astimezone(UTC)
    there = at.astimezone(ZoneInfo(zone)) if zone else utc
    if there.utcoffset() == utc.utcoffset():
        return f"{date(language, utc)}, {clock(utc)} UTC"
    name = get_timezone_name(there, width="short", locale=_locale(language))
    beside = clock(utc) if there.date() == utc.date() else f"{date(language, utc)}, {clock(utc)}"
    return f"{date(language, there)}, {clock(there)} {name} ({beside} UTC)"


def date(language: str, day: Date) -> str:
    """A day with its month in letters: 3 May 2026."""
    # Here and not above: it takes 50 ms to load, and most processes write no date.
    from babel.dates import format_date

    return str(format_date(day, "long", locale=_locale(language)))


def number(language: str, value: int | float | Decimal) -> str:
    """A number with the language's own signs: 1,234.5."""
    from babel.numbers import format_decimal

    return str(format_decimal(value, locale=_locale(language)))


def _locale(language: str) -> str:
    return str(LANGUAGES[known(language)].LOCALE)
