"""Several files as one: every page looks as it did in its own file."""

import io

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name
from PIL import ImageChops

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.intake.join import join
from deedbox.pdf.intake.take_in import take_in
from tests.pdf import shapes
from tests.pdf.papers import add_page, drained, lines, paper, saved, shown, text_of


def joined(*files: bytes) -> tuple[bytes, int]:
    return drained(join(b"".join(files), [len(file) for file in files]))


def layered(word: str, *, base: str, listed: str) -> bytes:
    """A page with a word on a layer; `listed` names the list of the default view that the layer is in."""
    with pikepdf.new() as pdf:
        layer = pdf.make_indirect(Dictionary(Type=Name.OCG, Name=word))
        page = add_page(pdf, b"/OC /L BDC " + lines(word) + b" EMC")
        page.Resources["/Properties"] = Dictionary(L=layer)
        view = Dictionary(BaseState=Name(base))
        view[listed] = Array([layer])
        pdf.Root["/OCProperties"] = Dictionary(OCGs=Array([layer]), D=view)
        return saved(pdf)


def test_pages_keep_their_order_and_their_looks() -> None:
    files = [
        drained(take_in(made))[0]
        for made in (paper(lines("one"), lines("two")), shapes.rotated(), shapes.inherited_attributes(), shapes.form())
    ]
    whole, count = joined(*files)
    number = 0
    for file in files:
        with pikepdf.open(io.BytesIO(file)) as pdf:
            pages = len(pdf.pages)
        for page in range(1, pages + 1):
            number += 1
            before, after = shown(file, page), shown(whole, number)
            assert before.size == after.size
            assert ImageChops.difference(before, after).getbbox() is None
    assert number == count


@pytest.mark.parametrize(
    ("base", "listed", "seen"),
    [("/ON", "/OFF", False), ("/ON", "/ON", True), ("/OFF", "/ON", True), ("/OFF", "/OFF", False)],
)
def test_what_a_layer_hides_in_its_own_file_stays_hidden(base: str, listed: str, *, seen: bool) -> None:
    visible = layered("seen", base="/ON", listed="/ON")
    hidden = layered("perhaps", base=base, listed=listed)
    empty = shown(paper(b"")).getcolors()
    for files in ((visible, hidden), (hidden, visible), (paper(b""), hidden)):
        whole, _ = joined(*files)
        page = files.index(hidden) + 1
        assert (shown(whole, page).getcolors() != empty) == seen
        if visible in files:
            assert shown(whole, files.index(visible) + 1).getcolors() != empty


def test_numbers_that_name_parts_of_one_file_do_not_name_another_s() -> None:
    with pikepdf.new() as pdf:
        add_page(pdf, lines("tagged"), StructParents=0)
        pdf.Root["/PageLabels"] = Dictionary(Nums=Array([0, Dictionary(S=Name.r)]))
        tagged = saved(pdf)
    whole, _ = joined(tagged, tagged)
    with pikepdf.open(io.BytesIO(whole)) as pdf:
        assert "/PageLabels" not in pdf.Root
        assert ["/StructParents" in page.obj for page in pdf.pages] == [True, False]
    assert "tagged" in text_of(whole, 2)


def test_more_pages_than_a_document_may_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DOCUMENT_PAGES", 3)
    with pytest.raises(BadRequest, match="4 pages: a document has at most 3"):
        joined(paper(b"", b""), paper(b"", b""))
