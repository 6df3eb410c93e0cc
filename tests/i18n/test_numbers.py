"""Numbers are read and written with the signs of their language, and kept in one form."""

import pytest

from deedbox.i18n import numbers

READ = [
    ("en", "1,234.50", "1234.50"),
    ("de", "1.234,50", "1234.50"),
    ("de", "1.234", "1234"),
    ("de", "1234,5", "1234.5"),
    ("fr", "1 234,5", "1234.5"),
    ("fr", "1\u202f234,5", "1234.5"),
    ("fr", "1\u00a0234\u00a0567", "1234567"),
    ("es", "-0,5", "-0.5"),
    ("es-MX", "1,234.5", "1234.5"),
    ("de-CH", "1'234.50", "1234.50"),
    ("pt", "−12,0", "-12.0"),
    ("ar", "١٬٢٣٤٫٥", "1234.5"),
    ("ar", "1,234.5", "1234.5"),
    ("zh", "１，２３４．５", "1234.5"),
    ("ja", "+1,234", "1234"),
    ("en", "-0", "0"),
]
NONE = [
    ("en", "1,23"),
    ("en", "1,2345"),
    ("en", "1.2.3"),
    ("en", "12,345,6"),
    ("en", "007"),
    ("en", "1e3"),
    ("en", "0x10"),
    ("en", "NaN"),
    ("en", "infinity"),
    ("en", "one"),
    ("en", ""),
    ("en", "-"),
    ("en", "1_000"),
    ("en", "12 34"),
    ("de", "1.234.56"),
    ("de", "1,234.5"),
    ("de", "1.2345"),
    ("de", "1,2,3"),
    ("en", "9" * 41),
    ("en", "²"),
]


@pytest.mark.parametrize(("language", "text", "kept"), READ)
def test_a_number_is_read_in_its_language(language: str, text: str, kept: str) -> None:
    assert numbers.read(language, text) == kept
    assert numbers.plain(kept) == kept
    assert numbers.read(language, numbers.written(language, kept)) == kept, "what is shown can be written back"


@pytest.mark.parametrize(("language", "text"), NONE)
def test_what_is_no_number_in_the_language_is_none(language: str, text: str) -> None:
    assert numbers.read(language, text) is None


def test_all_its_digits_are_shown_and_none_is_rounded() -> None:
    assert numbers.written("de", "1234567.12345678901234567890") == "1.234.567,12345678901234567890"
    assert numbers.written("en", "-1234.50") == "-1,234.50"
    assert numbers.written("fr", "1234") == "1\u202f234"
    assert numbers.example("de") == "1.234,5"


@pytest.mark.parametrize("text", ["1,234", "1e3", "01", ".5", "5.", "+5", " ", "--5", "1.234,5", "٣"])
def test_the_plain_form_is_one(text: str) -> None:
    assert numbers.plain(text) is None
