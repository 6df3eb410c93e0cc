"""A drawn signature is kept as strokes and comes out as paths: no pixel, and the same bytes for the same strokes."""

import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib import resources
from typing import Any

import msgspec
import numpy as np
import pikepdf
import pytest

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.marks import certificate, strokes
from deedbox.pdf.marks import draw as mark
from deedbox.pdf.marks.marks import Kind, Mark, Marks, PageRect
from deedbox.pdf.marks.strokes import PadDrawing
from tests.pdf.drawings import strokes as drawn
from tests.pdf.facts import completion
from tests.pdf.papers import drained, paper, scribble, shown

PLACE = PageRect(1, 0.2, 0.3, 0.4, 0.1)
SHEET = paper(b"")


def kept(**more: Any) -> bytes:
    return strokes.encode_drawing(msgspec.convert({"strokes": drawn(**more)}, PadDrawing))


def sealed_look(image: bytes, kind: Kind = "signature") -> bytes:
    """A page with the drawing as its only mark."""
    marks = Marks((Mark(kind, PLACE, image="ann"),), {"ann": image})
    return drained(mark.mark_pages(SHEET, msgspec.to_builtins(marks, builtin_types=(bytes,))))[0]


def forms(resources: Any) -> Iterator[Any]:
    """Everything that a page draws by name, whatever it is drawn in."""
    for one in resources.get("/XObject", {}).values():
        yield one
        yield from forms(one.get("/Resources", {}))


def kinds(pdf: pikepdf.Pdf) -> list[str]:
    return [str(one.Subtype) for page in pdf.pages for one in forms(page.Resources)]


def curves(pdf: pikepdf.Pdf) -> int:
    """How many Bézier curves its pages have."""
    drawings = [one for page in pdf.pages for one in forms(page.Resources) if one.Subtype == "/Form"]
    steps = [step for one in (*pdf.pages, *drawings) for step in pikepdf.parse_content_stream(one)]
    return sum(str(step.operator) in ("c", "v", "y") for step in steps)


def vectors(data: bytes) -> tuple[list[str], int]:
    """What the pages draw by name, and how many curves are in them."""
    with pikepdf.open(io.BytesIO(data)) as pdf:
        return kinds(pdf), curves(pdf)


@pytest.mark.parametrize("kind", ["signature", "initials"])
def test_strokes_are_sealed_as_paths_and_not_as_pixels(kind: Kind) -> None:
    found, count = vectors(sealed_look(kept(), kind))
    assert "/Image" not in found
    assert count > 300
    assert "/Image" in vectors(sealed_look(scribble(), kind))[0]  # which is how one would be found


def test_the_certificate_has_them_as_paths_too() -> None:
    def certified(image: bytes) -> list[str]:
        first = msgspec.structs.replace(completion().signers[0], signature_image=image)
        told = msgspec.to_builtins(msgspec.structs.replace(completion(), signers=(first,)), builtin_types=(bytes,))
        return vectors(drained(certificate.certify(b"", told))[0])[0]

    assert ("/Image" in certified(kept()), "/Image" in certified(scribble())) == (False, True)


def test_the_same_strokes_give_the_same_bytes() -> None:
    assert sealed_look(kept()) == sealed_look(kept())
    assert sealed_look(kept()) != sealed_look(kept(force=0.5))


def test_a_drawing_fills_its_field_and_keeps_its_shape() -> None:
    picture = np.asarray(shown(sealed_look(kept(), "initials"), 1, 3.0).convert("L")) < 128
    rows, columns = np.flatnonzero(picture.any(axis=1)), np.flatnonzero(picture.any(axis=0))
    h, w = picture.shape
    assert 0.2 * w <= columns[0] < columns[-1] <= 0.6 * w + 1
    assert 0.3 * h <= rows[0] < rows[-1] <= 0.4 * h + 1
    assert rows[-1] - rows[0] > 0.09 * h  # it is as high as its field
    assert (columns[-1] - columns[0]) / (rows[-1] - rows[0]) == pytest.approx(0.61 * 1000 / (0.66 * 360), rel=0.1)


def test_a_dot_stays_a_dot() -> None:
    dot = strokes.encode_drawing(PadDrawing([[(500.0, 100.0, 0.0, 0.0)]]))
    picture = np.asarray(shown(sealed_look(dot, "initials"), 1, 3.0).convert("L")) < 128
    assert 0 < picture.sum() < 0.02 * picture.size * PLACE.w * PLACE.h


def test_force_makes_the_line_wider_and_speed_makes_it_thinner() -> None:
    def area(force: float, pause: float) -> float:
        stroke = [(100.0 + 8 * step, 180.0, force, pause * step) for step in range(100)]
        found = strokes.svg(strokes.encode_drawing(PadDrawing([stroke])))
        heights = [float(y) for y in re.findall(r"Q\S+ (\S+) ", found)]
        return max(heights) - min(heights)

    assert area(0.9, 8) > area(0.2, 8)
    assert area(0, 40) > area(0, 2)


@pytest.mark.parametrize(
    ("drawing", "told"),
    [
        (PadDrawing([[(1001.0, 1.0, 0.0, 0.0)]]), "A point of the signature lies outside of its pad of 1000 by 360"),
        (PadDrawing([[(1.0, 361.0, 0.0, 0.0)]]), "A point of the signature lies outside of its pad of 1000 by 360"),
        (
            PadDrawing([[(1.0, 1.0, 0.0, 0.0)] * (limits.DRAWING_POINTS // 2 + 1)] * 2),
            "A drawn signature may have at most 10,000 points. Draw it more simply.",
        ),
    ],
)
def test_what_is_no_drawing_is_refused(drawing: PadDrawing, told: str) -> None:
    with pytest.raises(BadRequest) as refused:
        strokes.encode_drawing(drawing)
    assert refused.value.message == told


def test_the_page_draws_what_is_sealed() -> None:
    node = shutil.which("node")
    if node is None:
        assert not os.environ.get("CI"), "node is missing: run scripts/test-deps"
        pytest.skip("node is missing: run scripts/test-deps")
    pad = resources.files("deedbox.web").joinpath("static/js/pad.js")
    asked = [drawn()[0], drawn(force=0.8)[0], drawn()[2]]
    script = f"import {{ ink }} from {json.dumps(str(pad))};\nconsole.log(JSON.stringify({json.dumps(asked)}.map(ink)))"
    told = subprocess.run([node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    sealed = re.findall(
        r'd="([^"]+)"', strokes.svg(strokes.encode_drawing(msgspec.convert({"strokes": asked}, PadDrawing)))
    )
    for page, sheet in zip(json.loads(told.stdout), sealed, strict=True):
        numbers = [[float(one) for one in re.findall(r"-?[\d.]+", path)] for path in (page, sheet)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.11)
        assert re.sub(r"-?[\d.]+", "", page) == re.sub(r"-?[\d.]+", "", sheet)


def test_the_largest_drawing_is_put_on_paper_in_time() -> None:
    many = [[(float(at % 1000), float(at % 360), 0.5, float(at)) for at in range(50)] for _ in range(200)]
    found, count = vectors(sealed_look(strokes.encode_drawing(PadDrawing(many))))
    assert ("/Image" in found, count > 10_000) == (False, True)
