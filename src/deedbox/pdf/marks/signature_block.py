"""Runs in a sandbox: finds places, on free ground or on new pages, for the signatures of signers who have no field."""

import io
import math
from collections.abc import Generator, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pikepdf
import pypdfium2 as pdfium
from pikepdf import Array, Dictionary, Name

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake.signed_input import IntakeTerms
from deedbox.pdf.intake.take_in import pieces, take_in, written
from deedbox.pdf.marks.marks import PageRect, PageSize, Placed, SignatureBlock
from deedbox.pdf.render import boxes

_MARGIN, _GAP = 40.0, 14.0
_CELL_WIDTH, _CELL_HEIGHT = 230.0, 56.0
_SIDE_MIN = 2 * _MARGIN + 100.0
_A4 = (595.28, 841.89)
_SAMPLED = 3
_ALIKE = 12
"""Shades of grey by which paper may differ from paper."""


class _Grid(NamedTuple):
    """How the cells lie on a page of this size, in points."""

    width: float
    height: float
    columns: int
    cell: float

    def rows_that_fit(self) -> int:
        return max(1, int((self.height - 2 * _MARGIN + _GAP) // (_CELL_HEIGHT + _GAP)))

    def places(self, page: int, count: int, top: float) -> Iterator[PageRect]:
        for index in range(count):
            row, column = divmod(index, self.columns)
            x, y = _MARGIN + column * (self.cell + _GAP), top + row * (_CELL_HEIGHT + _GAP)
            yield PageRect(page, x / self.width, y / self.height, self.cell / self.width, _CELL_HEIGHT / self.height)


def take_in_and_place(data: bytes, terms: IntakeTerms, signers: int) -> Generator[bytes, None, Placed]:
    """As `take_in`, and with it places for so many signers if there is room on the last page.

    It finds none for a file that places fields itself: who still needs a place is then not known here."""
    taken = take_in(data, terms)
    written_pieces: list[bytes] = []
    while True:
        try:
            piece = next(taken)
        except StopIteration as end:
            prepared = end.value
            break
        written_pieces.append(piece)
        yield piece
    if prepared.tags or not 1 <= signers <= limits.BLOCK_SIGNERS:
        return Placed(prepared)
    return Placed(prepared, _on_last_page(b"".join(written_pieces), prepared.pages[-1], len(prepared.pages), signers))


def place(data: bytes, signers: int, taken: Sequence[Any] = ()) -> Generator[bytes, None, SignatureBlock]:
    """Places on the last page if there is room; else on pages added at the end, and then it yields the new PDF.

    Pages are added as well for places that are taken beyond the last one."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        count, view = len(pdf.pages), boxes.of_page(pdf.pages[-1].obj)
        last = PageSize(view.width, view.height)
        used = msgspec.convert(taken, list[PageRect])
        beyond = any(place.page > count for place in used)
        if not (0 if beyond else 1) <= signers <= limits.BLOCK_SIGNERS:
            raise BadRequest(f"A document has from 1 to {limits.BLOCK_SIGNERS} signers without a field")
        if not beyond and (found := _on_last_page(data, last, count, signers, used)) is not None:
            return found
        added = _added(pdf, last, signers, used)
        if count + added.added > shared_limits.DOCUMENT_PAGES:
            raise BadRequest(f"With a page for signatures the PDF has more than {shared_limits.DOCUMENT_PAGES:,} pages")
        made = written(pdf)
    yield from pieces(made)
    return added


def _on_last_page(
    data: bytes, last: PageSize, count: int, signers: int, used: Sequence[PageRect] = ()
) -> SignatureBlock | None:
    """Places on the last of so many pages; None if there is no room for them."""
    if min(last.width, last.height) < _SIDE_MIN:
        return None
    grid = _grid(last.width, last.height)
    height = math.ceil(signers / grid.columns) * (_CELL_HEIGHT + _GAP) - _GAP
    top = _free_band(data, last, height, [place for place in used if place.page == count])
    return SignatureBlock(tuple(grid.places(count, signers, top))) if top is not None else None


def _grid(width: float, height: float) -> _Grid:
    inner = width - 2 * _MARGIN
    columns = 2 if inner >= 2 * 150 + _GAP else 1
    return _Grid(width, height, columns, min(_CELL_WIDTH, (inner - (columns - 1) * _GAP) / columns))


def _added(pdf: pikepdf.Pdf, view: PageSize, signers: int, used: Sequence[PageRect]) -> SignatureBlock:
    fits = min(view.width, view.height) >= _SIDE_MIN
    width, height = (view.width, view.height) if fits else _A4
    grid, count, places = _grid(width, height), len(pdf.pages), list[PageRect]()
    capacity, last = grid.rows_that_fit() * grid.columns, max((place.page for place in used), default=0)
    while len(places) < signers or len(pdf.pages) < last:
        box = Array([0, 0, round(width, 3), round(height, 3)])
        page = Dictionary(Type=Name.Page, MediaBox=box, Resources=Dictionary(), Rotate=0)
        pdf.pages.append(pikepdf.Page(pdf.make_indirect(page)))
        cells = grid.places(len(pdf.pages), capacity, _MARGIN)
        places += [cell for cell in cells if not any(_overlap(cell, other) for other in used)]
    return SignatureBlock(tuple(places[:signers]), len(pdf.pages) - count, PageSize(width, height))


def _overlap(one: PageRect, other: PageRect) -> bool:
    return (
        one.page == other.page
        and one.x < other.x + other.w
        and other.x < one.x + one.w
        and one.y < other.y + other.h
        and other.y < one.y + one.h
    )


def _free_band(data: bytes, view: PageSize, height: float, used: list[PageRect]) -> float | None:
    """Points from the top of the last page to the lowest empty band that is as high as this; None if none is."""
    document = pdfium.PdfDocument(data)
    try:
        page = document[len(document) - 1]
        scale = min(1.0, math.sqrt(limits.PAGE_IMAGE_PIXELS / (view.width * view.height)))
        picture = page.render(scale=scale, grayscale=True).to_numpy()
    finally:
        document.close()
    points = view.height / picture.shape[0]
    # The commonest shade of some pixels is that of all.
    paper = int(np.bincount(picture[::_SAMPLED, ::_SAMPLED].ravel()).argmax())
    left, right = (int(side * picture.shape[1] / view.width) for side in (_MARGIN, view.width - _MARGIN))
    rows = picture[:, left:right]
    empty = (rows.min(axis=1) >= paper - _ALIKE) & (rows.max(axis=1) <= paper + _ALIKE)
    for place in used:
        empty[int(place.y * len(empty)) : math.ceil((place.y + place.h) * len(empty))] = False
    found = None
    for top, bottom in _bands(empty.tolist()):
        first = max(top * points + _GAP, _MARGIN)
        if min(bottom * points - _GAP, view.height - _MARGIN) - first >= height:
            found = first
    return found


def _bands(empty: list[bool]) -> Iterator[tuple[int, int]]:
    """The runs of empty rows, each from its first row to the one after its last."""
    row = 0
    for is_empty, run in groupby(empty):
        end = row + len(list(run))
        if is_empty:
            yield row, end
        row = end
