"""The words that people read in mail, on the certificate and on pages: one table per language, all with the same names.

A name begins with its use: `mail.`, `certificate.`. Dates and numbers are written as the language does, by Babel."""

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from datetime import date as Date
from functools import cache, lru_cache
from types import ModuleType
from typing import Literal, TypeAlias

from deedbox.i18n import ar, de, en, es, fr, ja, pt, zh
from deedbox.kernel import limits, zones

Width: TypeAlias = Literal["short", "medium"]
DEFAULT = "en"
LANGUAGES: Mapping[str, ModuleType] = {"en": en, "de": de, "fr": fr, "es": es, "pt": pt, "ar": ar, "zh": zh, "ja": ja}
NAMES: Mapping[str, str] = {
    "en": "English", "de": "Deutsch", "fr": "Français", "es": "Español", "pt": "Português", "ar": "العربية",
    "zh": "中文", "ja": "日本語",
}  # fmt: skip
"""What each language calls itself."""
_HEADER_READ = 200
_ZONE_LETTERS = 5
RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})


def known(language: str) -> str:
    """The language whose table is used: `de` for `de-AT`, English for one that has none."""
    first = language.lower().replace("_", "-").partition("-")[0]
    return first if first in LANGUAGES else DEFAULT


def choose_language(accepted: str) -> str:
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


def tag(language: str) -> str:
    """The language as browsers name it, with the region by whose ways its dates and numbers are written: en-GB."""
    return language if "-" in language else _locale(language).replace("_", "-")


def direction(language: str) -> str:
    """How the language runs, as HTML's `dir` says it."""
    return "rtl" if known(language) in RIGHT_TO_LEFT else "ltr"


def sender(language: str, name: str, company: str) -> str:
    """Who sends a document, such as “Olga Weiss (Acme)”."""
    if not company or company == name:
        return name
    return table(language)["mail.of_company"].format(sender=name, company=company)


def moment(language: str, at: datetime, zone: str | None = None, *, width: Width = "short") -> str:
    """A time to the minute, or with `medium` to the second, in UTC: 3 May 2026, 14:05 UTC.

    In the reader's zone where one is given and its clocks differ: 3 May 2026, 16:05 CEST (14:05 UTC)."""
    in_utc = at.astimezone(UTC)
    local = in_utc.astimezone(zones.zone(zone)) if zone else in_utc
    if not local.utcoffset():
        return table(language)["moment"].format(date=date(language, in_utc), time=_clock(language, in_utc, width))
    # Beside another day, an hour alone would be taken for one of the same day.
    utc = _clock(language, in_utc, width)
    if local.date() != in_utc.date():
        utc = f"{date(language, in_utc)} {utc}"
    return table(language)["moment_local"].format(
        date=date(language, local), time=_clock(language, local, width), zone=_zone_name(language, local), utc=utc
    )


def ago(language: str, at: datetime, now: datetime) -> str:
    """How long it is since, or until: 3 minutes ago, in 2 days."""
    from babel.dates import format_timedelta

    return str(format_timedelta(at - now, add_direction=True, threshold=1.2, locale=_locale(language)))


def date(language: str, day: Date) -> str:
    """A day with its month in letters: 3 May 2026."""
    return _date(language, day.date() if isinstance(day, datetime) else day)


@lru_cache(maxsize=limits.WRITTEN_TIMES)  # Babel takes longer for one than all else that is on its line
def _date(language: str, day: Date) -> str:
    # Here and not above: it takes 50 ms to load, and most processes write no date.
    from babel.dates import format_date

    return str(format_date(day, "long", locale=_locale(language)))


def _clock(language: str, at: datetime, width: Width) -> str:
    return _time(language, at.time().replace(microsecond=0), width)


@lru_cache(maxsize=limits.WRITTEN_TIMES)
def _time(language: str, at: time, width: Width) -> str:
    from babel.dates import format_time

    return str(format_time(at, width, locale=_locale(language)))


def _zone_name(language: str, at: datetime) -> str:
    """The letters that the language has for the zone, such as CEST; else how far it is from UTC."""
    from babel.dates import get_timezone_name

    name = str(get_timezone_name(at, width="short", locale=_locale(language)))
    if name.isalpha() and len(name) <= _ZONE_LETTERS:
        return name
    minutes = int((at.utcoffset() or timedelta()).total_seconds()) // 60
    sign = "+" if minutes >= 0 else "−"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{sign}{hours}" + (f":{rest:02}" if rest else "")


def _locale(language: str) -> str:
    return str(LANGUAGES[known(language)].LOCALE)
