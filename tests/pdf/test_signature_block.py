"""Signers without a field get a place that covers nothing."""

import io

import msgspec
import numpy as np
import pikepdf
import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.intake.signed_input import IntakeTerms
from deedbox.pdf.marks import signature_block
from deedbox.pdf.marks.marks import PageRect, PageSize, SignatureBlock
from tests.pdf.papers import add_page, drained, lines, paper, saved, shown


def placed(data: bytes, signers: int) -> tuple[bytes, SignatureBlock]:
    return drained(signature_block.place(data, signers))


def is_empty(data: bytes, place: PageRect) -> bool:
    picture = np.asarray(shown(data, place.page).convert("L")).astype(int)
    h, w = picture.shape
    part = picture[
        int(place.y * h) : int((place.y + place.h) * h) + 1, int(place.x * w) : int((place.x + place.w) * w) + 1
    ]
    return int(part.max() - part.min()) < 12


def overlap(one: PageRect, other: PageRect) -> bool:
    apart = (
        one.x + one.w <= other.x or other.x + other.w <= one.x or one.y + one.h <= other.y or other.y + other.h <= one.y
    )
    return one.page == other.page and not apart


def test_a_half_empty_last_page_takes_the_signatures_below_its_text() -> None:
    data = paper(b"", lines(*(f"Line {n}" for n in range(20))))
    made, found = placed(data, 3)
    assert (made, found.added) == (b"", 0)
    assert [place.page for place in found.places] == [2, 2, 2]
    assert all(is_empty(data, place) for place in found.places)
    assert found.places[0].y * 842 > 842 - 760 + 19 * 16


def test_a_footer_stays_free() -> None:
    data = paper(lines(*(f"Line {n}" for n in range(10))) + lines("Page 1 of 1", y=40))
    _, found = placed(data, 2)
    assert found.added == 0
    assert all(is_empty(data, place) for place in found.places)


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_a_turned_page_is_seen_as_it_is_displayed(rotate: int) -> None:
    data = paper(lines(*(f"Line {n}" for n in range(10))), Rotate=rotate)
    _, found = placed(data, 2)
    assert found.added == 0
    assert all(is_empty(data, place) for place in found.places)


def test_a_coloured_page_has_room_too() -> None:
    data = paper(b"0.9 0.9 1 rg 0 0 999 999 re f 0 g " + lines("Line"))
    _, found = placed(data, 2)
    assert found.added == 0


def test_a_place_that_a_field_has_taken_stays_free() -> None:
    data = paper(lines("Line"))
    _, alone = placed(data, 2)
    field = PageRect(1, 0.6, alone.places[0].y, 0.2, 0.05)
    _, found = drained(signature_block.place(data, 2, [msgspec.to_builtins(field)]))
    assert found.added == 0
    assert not any(overlap(place, field) for place in found.places)
    _, other = drained(signature_block.place(paper(b"", lines("Line")), 2, [msgspec.to_builtins(field)]))
    assert {place.page for place in other.places} == {2}
    assert other.places[0].y == alone.places[0].y


def test_a_full_page_gets_a_page_after_it() -> None:
    data = paper(lines(*(f"Line {n}" for n in range(47))))
    made, found = placed(data, 2)
    assert found.added == 1
    assert {place.page for place in found.places} == {2}
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert len(pdf.pages) == 2
        assert [float(side) for side in pdf.pages[1].obj.MediaBox] == pytest.approx([0, 0, 595, 842])


def test_pages_that_fields_stand_on_are_added_again_and_their_places_stay_free() -> None:
    data = paper(lines(*(f"Line {n}" for n in range(47))))
    _, before = placed(data, 40)
    pages = {place.page for place in before.places}
    assert pages == {2, 3}
    taken = [msgspec.to_builtins(place) for place in before.places]
    made, found = drained(signature_block.place(data, 0, taken))
    assert (found.places, found.added, found.size) == ((), 2, before.size)
    assert made == placed(data, 40)[0]
    _, found = drained(signature_block.place(data, 2, [*taken[:3], *taken[4:]]))
    assert found.added == 2
    assert found.places[0] == before.places[3]
    assert not any(overlap(found.places[1], place) for place in before.places)


def test_many_signers_get_as_many_pages_as_they_need_and_no_two_share_a_place() -> None:
    _, found = placed(paper(lines("x")), 100)
    assert len(found.places) == 100
    assert found.added > 1
    assert not any(overlap(one, other) for i, one in enumerate(found.places) for other in found.places[:i])
    assert all(
        place.x >= 0 and place.x + place.w <= 1 and place.y >= 0 and place.y + place.h <= 1 for place in found.places
    )


def test_an_added_page_is_as_large_as_the_turned_page_is_displayed() -> None:
    made, found = placed(paper(lines(*(f"Line {n}" for n in range(47))), Rotate=90), 30)
    assert found.size == PageSize(842, 595)
    assert shown(made, 2).size == (842, 595)


def test_after_a_tiny_page_comes_one_of_a_usual_size() -> None:
    with pikepdf.new() as pdf:
        add_page(pdf, b"", (0, 0, 50, 50))
        made, found = placed(saved(pdf), 1)
    assert found.added == 1
    assert shown(made, 2).size == pytest.approx((595, 842), abs=1)


@pytest.mark.parametrize("signers", [0, limits.BLOCK_SIGNERS + 1])
def test_a_number_of_signers_out_of_bounds_is_refused(signers: int) -> None:
    with pytest.raises(BadRequest, match="signers"):
        placed(paper(), signers)


def test_a_file_that_is_taken_in_with_places_is_the_same_as_in_two_steps() -> None:
    data = paper(b"", lines(*(f"Line {n}" for n in range(20))))
    made, together = drained(signature_block.take_in_and_place(data, IntakeTerms(), 3))
    taken, prepared = drained(intake.take_in(data, IntakeTerms()))
    assert (made, together.prepared) == (taken, prepared)
    assert together.block == placed(taken, 3)[1]


@pytest.mark.parametrize(
    ("data", "signers"),
    [
        (paper(lines("{{signature:Buyer}}")), 2),
        (paper(lines(*(f"Line {n}" for n in range(60)), y=830)), 2),
        (paper(lines("Line")), limits.BLOCK_SIGNERS + 1),
    ],
    ids=["the file places fields itself", "the last page is full", "there are too many signers"],
)
def test_places_are_left_to_be_found_later(data: bytes, signers: int) -> None:
    made, together = drained(signature_block.take_in_and_place(data, IntakeTerms(), signers))
    assert together.block is None
    assert (made, together.prepared) == drained(intake.take_in(data, IntakeTerms()))
