"""What the fonts cannot print is known before it is printed."""

import pytest

from deedbox.pdf.marks import glyphs
from deedbox.pdf.marks.marks import Kind, Mark, PageRect
from tests.pdf.papers import paper
from tests.pdf.test_mark import NAMES, ink, marked

MORE_NAMES = {
    "Hebrew": "דוד כהן",
    "Bengali": "অনিল কুমার",
    "Tamil": "அனில் குமார்",
    "Telugu": "అనిల్ కుమార్",
    "Khmer": "សុខ ចាន់",
}


@pytest.mark.parametrize("name", [*NAMES.values(), *MORE_NAMES.values(), "O’Neill – “Ltd.” №5 €", "二〇二六年", "𠮷田"])
def test_names_in_the_scripts_of_our_fonts_can_be_printed(name: str) -> None:
    assert glyphs.unprintable(name) == ()


@pytest.mark.parametrize(
    ("text", "lacking"),
    [("Ana 😀", "😀"), ("გია Gia", "გია"), ("Արա", "Արա"), ("አበበ አ", "አበ"), ("bell\a", "\a"), ("\ue000", "\ue000")],
)
def test_a_character_that_no_font_has_is_named_once(text: str, lacking: str) -> None:
    assert glyphs.unprintable(text) == tuple(lacking)


def test_what_has_no_face_of_its_own_is_no_fault() -> None:
    assert glyphs.unprintable("a\tb\nc\u00a0d\u200d\u200c\u200e\ufe0f\u202b") == ()


def test_the_message_names_the_first_characters_and_counts_the_others() -> None:
    assert glyphs.describe(("😀",)) == "GRINNING FACE (U+1F600)"
    assert glyphs.describe(tuple("აბგდე")).endswith("GEORGIAN LETTER GAN (U+10D2) and 2 more")


LETTERS = {"Hebrew": "דכה", "Bengali": "অনক", "Tamil": "அனக", "Telugu": "అనక", "Khmer": "សខច", "Georgian": "გია"}


@pytest.mark.parametrize("script", LETTERS)
@pytest.mark.parametrize("kind", ["name", "signature"])
def test_the_mark_draws_a_letter_unless_it_is_called_unprintable(script: str, kind: Kind) -> None:
    """All that is missing looks the same: a box."""
    place = PageRect(1, 0.1, 0.1, 0.2, 0.05)
    faces = {ink(marked(paper(b""), Mark(kind, place, letter)), place).tobytes() for letter in LETTERS[script]}
    assert len(faces) == (1 if glyphs.unprintable(LETTERS[script]) else 3)
