"""Every language can say everything, and writes dates and numbers as its readers do."""

import string
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest

from deedbox import i18n
from deedbox.i18n import numbers

AT = datetime(2026, 5, 3, 14, 5, 59, tzinfo=UTC)


def places(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_every_language_has_the_same_names_with_the_same_places_to_fill(language: str) -> None:
    table = i18n.table(language)
    assert {name: places(text) for name, text in table.items()} == {
        name: places(text) for name, text in i18n.table("en").items()
    }
    assert all(text.strip() == text != "" for text in table.values())


def test_there_are_the_eight_languages_of_the_pages() -> None:
    assert list(i18n.LANGUAGES) == ["en", "de", "fr", "es", "pt", "ar", "zh", "ja"]
    assert [language for language in i18n.LANGUAGES if i18n.direction(language) == "rtl"] == ["ar"]


ALIKE = {
    "moment": {"de", "es", "pt"},
    "moment_local": {"de", "es", "pt"},
    "mail.document": {"fr"},
    "mail.documents": {"fr"},
    "mail.questions": {"fr"},
    "mail.of_company": {"de", "fr", "es", "pt", "ar"},
    "certificate.document": {"fr"},
    "certificate.documents": {"fr"},
    "certificate.pages": {"fr"},
    "certificate.page": {"fr"},
    "certificate.no": {"es"},
    "certificate.field.date": {"fr"},
    "certificate.field.name": {"de"},
    "certificate.field.text": {"de"},
    "certificate.hash": {"de", "es", "pt"},
    "verify.passed.no": {"es"},
    "verify.details": {"de"},
    "page.pages": {"fr"},
    "page.documents": {"fr"},
    "page.optional": {"de"},
    "page.field_signature": {"fr"},
    "page.field_date": {"fr"},
    "page.field_name": {"de"},
    "page.field_text": {"de"},
    "page.step_page": {"fr"},
    "page.way_uploaded": {"fr"},
    "page.flag_date": {"fr"},
    "page.document": {"fr"},
    "page.questions": {"fr"},
}
"""Names whose text is the same in English by right."""


@pytest.mark.parametrize("language", [language for language in i18n.LANGUAGES if language != "en"])
def test_nothing_is_left_in_english_by_accident(language: str) -> None:
    english = i18n.table("en")
    same = {name for name, text in i18n.table(language).items() if text == english[name]}
    assert same == {name for name, languages in ALIKE.items() if language in languages}


def test_a_language_without_a_table_is_answered_in_english() -> None:
    asked = ("de", "de_CH", "DE", "de-AT", "en-GB", "", "xx", "fr-CA", "zh-CN", "pt_PT", "nl")
    found = ["de", "de", "de", "de", "en", "en", "en", "fr", "zh", "pt", "en"]
    assert [i18n.known(tag) for tag in asked] == found
    assert i18n.table("xx") is i18n.table("en")


@pytest.mark.parametrize(
    ("language", "written"),
    [
        ("en", ("3 May 2026, 14:05 UTC", "3 May 2026", "1,234,567.5")),
        ("de", ("3. Mai 2026, 14:05 UTC", "3. Mai 2026", "1.234.567,5")),
        ("de-AT", ("3. Mai 2026, 14:05 UTC", "3. Mai 2026", "1.234.567,5")),
        ("fr", ("3 mai 2026 à 14:05 UTC", "3 mai 2026", "1\u202f234\u202f567,5")),
        ("es", ("3 de mayo de 2026, 14:05 UTC", "3 de mayo de 2026", "1.234.567,5")),
        ("pt", ("3 de maio de 2026, 14:05 UTC", "3 de maio de 2026", "1.234.567,5")),
        ("ar", ("3 مايو 2026، 2:05 م UTC", "3 مايو 2026", "1,234,567.5")),
        ("zh", ("2026年5月3日 14:05 UTC", "2026年5月3日", "1,234,567.5")),
        ("ja", ("2026年5月3日 14:05 UTC", "2026年5月3日", "1,234,567.5")),
        ("xx", ("3 May 2026, 14:05 UTC", "3 May 2026", "1,234,567.5")),
    ],
)
def test_dates_and_numbers_are_written_as_the_language_does(language: str, written: tuple[str, str, str]) -> None:
    told = i18n.moment(language, AT), i18n.date(language, AT.date()), numbers.written(language, "1234567.5")
    assert told == written


def test_a_moment_of_another_zone_is_told_in_utc() -> None:
    late = AT.astimezone(timezone(timedelta(hours=12)))
    assert (late.day, i18n.moment("en", late)) == (4, "3 May 2026, 14:05 UTC")


@pytest.mark.parametrize(
    ("language", "zone", "written"),
    [
        ("en", "Europe/Berlin", "3 May 2026, 16:05 CEST (14:05 UTC)"),
        ("en", "America/New_York", "3 May 2026, 10:05 UTC−4 (14:05 UTC)"),
        ("en", "Asia/Kathmandu", "3 May 2026, 19:50 UTC+5:45 (14:05 UTC)"),
        ("en", "Pacific/Auckland", "4 May 2026, 02:05 UTC+12 (3 May 2026 14:05 UTC)"),
        ("en", "Africa/Abidjan", "3 May 2026, 14:05 UTC"),
        ("en", "Etc/UTC", "3 May 2026, 14:05 UTC"),
        ("de", "Europe/Berlin", "3. Mai 2026, 16:05 MESZ (14:05 UTC)"),
        ("fr", "Europe/Paris", "3 mai 2026 à 16:05 UTC+2 (14:05 UTC)"),
        ("ar", "Asia/Dubai", "3 مايو 2026، 6:05 م GST (2:05 م UTC)"),
        ("zh", "Asia/Shanghai", "2026年5月3日 22:05 UTC+8（14:05 UTC）"),
        ("ja", "Asia/Tokyo", "2026年5月3日 23:05 JST（14:05 UTC）"),
    ],
)
def test_a_reader_s_own_clock_stands_before_utc(language: str, zone: str, written: str) -> None:
    assert i18n.moment(language, AT, zone) == written


def test_the_words_of_one_use_have_their_names_without_it() -> None:
    assert i18n.of_use("de", "certificate")["title"] == "Abschlusszertifikat"
    assert i18n.of_use("en", "mail")["greeting"] == i18n.table("en")["mail.greeting"]


def test_babel_is_loaded_by_the_first_date_and_not_before() -> None:
    code = "import sys; from deedbox import i18n; i18n.table('de'); print('babel' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "False\n"
