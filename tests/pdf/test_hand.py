"""A typed signature is shown as it will be sealed: paths, in three hands and every script."""

import io

import msgspec
import numpy as np
import pikepdf
import pytest
from lxml import etree

from deedbox.pdf.marks import draw as mark
from deedbox.pdf.marks import typed_signature as hand
from deedbox.pdf.marks.field_text import FieldSpace, letters_by_hand
from deedbox.pdf.marks.fonts import HANDS, Hand, families
from deedbox.pdf.marks.marks import Mark, Marks, PageRect
from tests.pdf.papers import drained, paper, shown
from tests.pdf.test_mark import NAMES


@pytest.mark.parametrize("script", NAMES)
@pytest.mark.parametrize("chosen", HANDS)
def test_a_name_in_any_script_is_drawn_with_paths_alone(script: str, chosen: Hand) -> None:
    tree = etree.fromstring(hand.svg(NAMES[script], chosen))
    found = {etree.QName(one).localname for one in tree.iter()}
    assert found == {"svg", "g", "use", "defs", "symbol", "path"}
    assert not {name for one in tree.iter() for name in one.attrib if name == "style" or name.startswith("on")}


def test_each_hand_writes_in_its_own_way_and_always_the_same() -> None:
    made = {chosen: hand.svg("Ana María Núñez", chosen) for chosen in HANDS}
    assert len(set(made.values())) == len(HANDS) == 3
    assert made == {chosen: hand.svg("Ana María Núñez", chosen) for chosen in HANDS}


def test_what_would_be_markup_is_only_letters() -> None:
    assert b"script" not in hand.svg("<script>alert(1)</script> & #box", "dancing")


@pytest.mark.parametrize("chosen", HANDS)
def test_the_sealed_page_has_the_hand_that_was_shown(chosen: Hand) -> None:
    marks = Marks((Mark("initials", PageRect(1, 0.1, 0.1, 0.6, 0.1), text="Ana María", hand=chosen),))
    made = drained(mark.mark_pages(paper(b""), msgspec.to_builtins(marks, builtin_types=(bytes,))))[0]
    with pikepdf.open(io.BytesIO(made)) as pdf:
        used = {str(one.FontName) for one in pdf.objects if isinstance(one, pikepdf.Dictionary) and "/FontName" in one}
    assert any(families(chosen)[0].replace(" ", "") in name for name in used)
    assert (np.asarray(shown(made, 1, 2.0).convert("L")) < 128).any()


def test_how_much_fits_depends_on_the_hand() -> None:
    found = {chosen: letters_by_hand("Ana María Núñez", FieldSpace(30, 20), chosen) for chosen in HANDS}
    assert len(set(found.values())) > 1
