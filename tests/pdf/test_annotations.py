"""What a page shows before intake it shows after: compared in two viewers, on annotations and fields of every kind."""

import io
import random
import subprocess
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name
from PIL import Image, ImageChops, ImageFilter

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import annotations, clean
from deedbox.pdf.intake import take_in as intake
from tests.faults.hostile import MUTATIONS
from tests.pdf.annotated import (
    BOX,
    CASES,
    ON_CLAUSES,
    UNDRAWABLE,
    WORD,
    annotation,
    drawn_on_clauses,
    file,
    look,
    on_clauses,
    text_field,
    with_look,
    without,
)
from tests.pdf.oracles import need
from tests.pdf.papers import add_page, drained, lines, saved, shown, text_of

_SLACK = 6
"""Points by which ink may lie elsewhere: viewers draw the same line a little differently."""


def taken(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    made, known = drained(intake.take_in(data))
    return made, known.removed


def by_poppler(data: bytes, folder: Path) -> Image.Image:
    need("pdftoppm")
    (folder / "page.pdf").write_bytes(data)
    subprocess.run(["pdftoppm", "-r", "72", "-png", "-singlefile", "page.pdf", "page"], cwd=folder, check=True)
    with Image.open(folder / "page.png") as image:
        return image.convert("RGB")


def ink(image: Image.Image, empty: Image.Image) -> tuple[int, int, int, int] | None:
    """Where the image differs from the page without annotations."""
    grey = ImageChops.difference(image, empty).convert("L").point(lambda value: 255 if value > 60 else 0)
    return grey.getbbox()


def covers(after: tuple[int, int, int, int] | None, before: tuple[int, int, int, int] | None) -> bool:
    """Whether all that was inked is within what is inked now."""
    if before is None or after is None:
        return before is None
    reaches = [after[0] - before[0], after[1] - before[1], before[2] - after[2], before[3] - after[3]]
    return all(reach <= _SLACK for reach in reaches)


def turned(data: bytes) -> int:
    with pikepdf.open(io.BytesIO(data)) as pdf:
        return int(pdf.pages[0].obj.get("/Rotate", 0))


def shows_a_word(name: str) -> bool:
    """The others are lines and boxes, or a box that is not ticked."""
    return WORD.encode() in CASES[name] and not name.endswith("without a tick")


@pytest.mark.parametrize("name", CASES)
def test_what_viewers_show_before_they_show_after(name: str, tmp_path: Path) -> None:
    data = CASES[name]
    empty = file(lambda _: [], rotate=turned(data))
    made, _ = taken(data)
    for viewer in (shown, lambda pdf: by_poppler(pdf, tmp_path)):
        after, before = ink(viewer(made), viewer(empty)), ink(viewer(data), viewer(empty))
        # Of a note every viewer draws a sign of its own.
        assert after is not None if name.startswith("Text, ") else covers(after, before)
    with pikepdf.open(io.BytesIO(made)) as pdf:
        kinds = {str(one.Subtype) for one in pdf.pages[0].obj.get("/Annots", [])}
        assert (kinds <= {"/Link"}, "/AcroForm" in pdf.Root) == (True, False)


_DIFFERS = {
    ("PDFium", "Highlight, slanted"): "marks the box around the slanted piece",
    ("PDFium", "Ink of a single point"): "draws a dot too small to see",
    ("PDFium", "Text"): "has a sign of its own",
    ("poppler", "Highlight as the standard orders points"): "marks a bow tie",
    ("poppler", "Highlight without a colour"): "blackens the clause",
    ("poppler", "Stamp of another name"): "shows the word Draft",
    ("poppler", "Stamp, transparent"): "has a wider letter",
    ("poppler", "Text"): "has a sign of its own",
}
"""Where the page differs after intake from what a viewer makes up, and why."""


def changed(before: Image.Image, after: Image.Image, empty: Image.Image) -> float:
    """How much of what an annotation inked looks different, from 0 to 1; a point beside it counts as the same."""
    soft = ImageFilter.BoxBlur(4)
    was, now, none = before.filter(soft), after.filter(soft), empty.filter(soft)
    inked = _unlike(was, none, 8)
    return sum(_unlike(was, now, 40).histogram()[1:]) / max(sum(inked.histogram()[1:]), 1)


def _unlike(one: Image.Image, other: Image.Image, least: int) -> Image.Image:
    bands = ImageChops.difference(one, other).split()
    strongest = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    return strongest.point(lambda value: 255 if value > least else 0)


@pytest.mark.parametrize("name", ON_CLAUSES)
def test_what_viewers_draw_themselves_looks_the_same_after_intake(name: str, tmp_path: Path) -> None:
    data, empty = drawn_on_clauses(name), on_clauses(lambda _: [])
    made, _ = taken(data)
    drawn_before = False
    for viewer, draw in (("PDFium", shown), ("poppler", lambda pdf: by_poppler(pdf, tmp_path))):
        before, after, bare = draw(data), draw(made), draw(empty)
        if ImageChops.difference(before, bare).getbbox() is None:
            continue
        drawn_before = True
        assert (changed(before, after, bare) <= 0.1) == ((viewer, name) not in _DIFFERS), viewer
    drawn_after = ImageChops.difference(shown(made), shown(empty)).getbbox() is not None
    # Of carets and redactions MuPDF and Acrobat alone show something; a link keeps its border as its own.
    assert drawn_after == (drawn_before or name in ("Caret", "Redact")) or name.startswith("Link")


@pytest.mark.parametrize("name", [name for name in ON_CLAUSES if "transparent" in name or "Highlight" in name])
def test_clauses_stay_legible_below_what_is_transparent(name: str) -> None:
    made, _ = taken(drawn_on_clauses(name))
    clause = (44, 120 - 68, 140, 120 - 52)
    page, bare = (shown(data).convert("L").crop(clause).tobytes() for data in (made, on_clauses(lambda _: [])))
    letters = [now for now, was in zip(page, bare, strict=True) if was < 40]
    ground = [now for now, was in zip(page, bare, strict=True) if was == 255]
    assert sum(ground) / len(ground) - sum(letters) / len(letters) > 90


@pytest.mark.parametrize("kind", UNDRAWABLE)
def test_an_annotation_that_describes_nothing_is_named(kind: str) -> None:
    made, removed = taken(on_clauses(without(kind)))
    assert ImageChops.difference(shown(made), shown(on_clauses(lambda _: []))).getbbox() is None
    assert removed == (annotations.UNDRAWN,)


def test_an_ink_drawing_by_path_operators_is_drawn() -> None:
    path = Array([Array([50, 40]), Array([80, 90, 120, 30, 190, 80])])
    made, removed = taken(on_clauses(without("Ink", Path=path, C=[1, 0, 0])))
    assert ink(shown(made), shown(on_clauses(lambda _: []))) is not None
    assert removed == ()


def test_a_drawing_of_too_many_points_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DRAWN_POINTS", 3)
    for strokes in ([[50, 40, 80, 80, 120, 50, 190, 80]], [[50, 40, 80, 80], [120, 50, 190, 80]]):
        with pytest.raises(BadRequest, match="a drawing of more than"):
            taken(file(without("Ink", InkList=strokes)))


@pytest.mark.parametrize("name", [name for name in CASES if shows_a_word(name)])
def test_no_word_that_a_page_shows_is_lost(name: str, tmp_path: Path) -> None:
    word = "Newer" if name.endswith("out of date") else WORD
    made, _ = taken(CASES[name])
    (tmp_path / "made.pdf").write_bytes(made)
    need("pdftotext")
    told = subprocess.run(["pdftotext", "made.pdf", "-"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert word in text_of(made)
    assert word in told.stdout


def test_a_free_text_too_long_for_its_box_is_set_whole() -> None:
    long = " ".join(f"word{number}" for number in range(80)) + " Zürich (5 €)"
    made, _ = taken(file(without("FreeText", Contents=long, DA=pikepdf.String("0 0 1 rg /Helv 30 Tf"), Q=1)))
    found = text_of(made).split()
    assert all(word in found for word in long.split())


@pytest.mark.parametrize(
    "make",
    [
        without("FreeText", Contents="Договор", DA=pikepdf.String("/Helv 12 Tf")),
        without("Widget", **text_field("Договор")),
        without("Widget", FT=Name.Ch, T="a", V="1", Opt=Array([Array(["1", "Договор"])]), Ff=1 << 17),
        without("Widget", FT=Name.Ch, T="a", V=Array(["Договор"]), Opt=Array(["Договор", "b"])),
        without("Widget", FT=Name.Btn, T="a", Ff=1 << 16, MK=Dictionary(CA="Договор")),
        lambda pdf: [annotation("Widget", **{**text_field(), "V": pdf.make_stream("Договор".encode("utf-16"))})],
        without("Line", L=[60, 100, 200, 130], Cap=True, Contents="Łódź"),
        without("FreeText", RC="<body><p>only here</p></body>"),
        without("FreeText", Contents="x" * (limits.DRAWN_TEXT_CHARS + 1)),
    ],
)
def test_a_text_that_cannot_be_drawn_is_a_reason_to_refuse(make: Any) -> None:
    with pytest.raises(BadRequest, match="Page 1 of this PDF has a text"):
        taken(file(make, form={}))


@pytest.mark.parametrize(("value", "is_taken"), [("ДДД", True), ("ДДД Ж", False)])
def test_a_field_in_other_letters_keeps_the_look_it_brings_if_that_says_the_same(value: str, is_taken: bool) -> None:
    """A sandbox has no fonts for such letters, so that PDFium would draw nothing of them."""

    def make(pdf: pikepdf.Pdf) -> list[Dictionary]:
        drawn = look(pdf, "AAA")
        drawn.Resources.Font.F["/ToUnicode"] = pdf.make_stream(
            b"begincmap 1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <41> <0414> endbfchar endcmap"
        )
        return [annotation("Widget", AP=Dictionary(N=drawn), **text_field(value))]

    data = file(make, form={"NeedAppearances": True})
    if is_taken:
        assert value in text_of(taken(data)[0])
    else:
        with pytest.raises(BadRequest, match="Page 1 of this PDF has a text"):
            taken(data)


def test_hidden_annotations_stay_hidden_and_are_named() -> None:
    for flags in (2, 32, 36):
        made, removed = taken(file(with_look("Stamp", F=flags)))
        assert (WORD in text_of(made), removed) == (False, (annotations.HIDDEN,))


def test_an_annotation_in_a_layer_that_is_off_stays_unseen(tmp_path: Path) -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, lines("A contract"))
        layer = pdf.make_indirect(Dictionary(Type=Name.OCG, Name="Draft"))
        one = pdf.make_indirect(annotation("Stamp", AP=Dictionary(N=look(pdf)), OC=layer))
        page["/Annots"] = Array([one])
        pdf.Root["/OCProperties"] = Dictionary(OCGs=Array([layer]), D=Dictionary(OFF=Array([layer])))
        made, _ = taken(saved(pdf))
    empty = file(lambda _: [])
    assert ink(shown(made), shown(empty)) is None
    assert ink(by_poppler(made, tmp_path), by_poppler(empty, tmp_path)) is None


def test_a_link_keeps_its_look_and_leads_where_it_led() -> None:
    address = Dictionary(S=Name.URI, URI="https://example.org")
    made, removed = taken(file(with_look("Link", A=address)))
    assert WORD in text_of(made)
    with pikepdf.open(io.BytesIO(made)) as pdf:
        assert [str(one.A.URI) for one in pdf.pages[0].obj.Annots] == ["https://example.org"]
    assert removed == ()


@pytest.mark.parametrize("kind", ["Text", "Highlight", "Stamp"])
def test_the_text_of_a_note_is_named_as_removed(kind: str) -> None:
    assert taken(file(with_look(kind, Contents="I do not agree")))[1] == (annotations.NOTES,)


def test_the_picture_of_a_film_stays_and_the_film_does_not() -> None:
    made, removed = taken(file(with_look("Screen", A=Dictionary(S=Name.Rendition))))
    assert WORD in text_of(made)
    assert removed == (annotations.MEDIA,)


def test_fields_that_stand_on_a_page_only_are_named_as_a_form() -> None:
    assert taken(file(without("Widget", **text_field())))[1] == (clean.FORM,)


def test_more_annotations_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANNOTATIONS", 3)
    with pytest.raises(BadRequest, match="more than 3 annotations"):
        taken(file(lambda _: [annotation("Square", Rect=BOX) for _ in range(4)]))


def test_mutants_of_annotated_files_are_taken_or_refused_and_nothing_else() -> None:
    luck, files = random.Random(12), list(CASES.values())
    outcomes = set()
    for _ in range(200):
        change = luck.choice(list(MUTATIONS.values()))
        try:
            taken(change(luck, luck.choice(files), luck.choice(files)))
            outcomes.add("taken")
        except BadRequest:
            outcomes.add("refused")
    assert outcomes == {"taken", "refused"}


def test_fields_that_are_their_own_parents_end() -> None:
    with pikepdf.new() as pdf:
        page = add_page(pdf, lines("A contract"))
        one = pdf.make_indirect(annotation("Widget", FT=Name.Tx, V=WORD))
        one["/Parent"] = one
        page["/Annots"] = Array([one])
        made, _ = taken(saved(pdf))
    assert "A contract" in text_of(made)
