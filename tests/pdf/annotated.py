"""Files whose pages show more than their content: annotations and form fields of every kind."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pikepdf
from pikepdf import Array, Dictionary, Name, String

from tests.pdf.papers import add_page, font, lines, saved

Annotations: TypeAlias = Callable[[pikepdf.Pdf], list[Dictionary]]

BOX = [60, 100, 200, 130]
WORD = "Hagoogle"
_QUADS = [60, 130, 200, 130, 60, 100, 200, 100]
_RED = [1, 0, 0]
_LOOK = String("/Helv 12 Tf 0 g")


def look(pdf: pikepdf.Pdf, word: str = WORD) -> pikepdf.Stream:
    form = pdf.make_stream(f"BT /F 12 Tf 2 9 Td ({word}) Tj ET".encode())
    form["/Type"], form["/Subtype"], form["/BBox"] = Name.XObject, Name.Form, Array([0, 0, 140, 30])
    form["/Resources"] = Dictionary(Font=Dictionary(F=font()))
    return form


def annotation(kind: str, **entries: Any) -> Dictionary:
    return Dictionary(Type=Name.Annot, Subtype=Name(f"/{kind}"), **{"Rect": BOX, "F": 4, **entries})


def with_look(kind: str, **entries: Any) -> Annotations:
    return lambda pdf: [annotation(kind, AP=Dictionary(N=look(pdf)), **entries)]


def without(kind: str, **entries: Any) -> Annotations:
    return lambda _: [annotation(kind, **entries)]


def file(make: Annotations, *, form: dict[str, Any] | None = None, listed: bool = True, rotate: int = 0) -> bytes:
    """A page with the annotations; with a form they are its fields, if they are listed."""
    with pikepdf.new() as pdf:
        page = add_page(pdf, lines("A contract"), Rotate=rotate)
        made = [pdf.make_indirect(one) for one in make(pdf)]
        page["/Annots"] = Array(made)
        if form is not None:
            fonts = Dictionary(Font=Dictionary(F=font(), Helv=font()))
            pdf.Root["/AcroForm"] = Dictionary(Fields=Array(made if listed else []), DR=fonts, DA=_LOOK, **form)
        return saved(pdf, compress_streams=False, object_stream_mode=pikepdf.ObjectStreamMode.disable)


def text_field(value: str = WORD, **entries: Any) -> dict[str, Any]:
    return {"FT": Name.Tx, "T": "a", "V": value, "DA": _LOOK, **entries}


_DRAWN_BY_VIEWERS: dict[str, dict[str, Any]] = {
    "Circle": {"C": _RED},
    "FreeText": {"Contents": WORD, "DA": _LOOK},
    "Highlight": {"QuadPoints": _QUADS, "C": _RED},
    "Ink": {"InkList": [[60, 105, 120, 125, 200, 110]], "C": _RED},
    "Line": {"L": [60, 100, 200, 130], "C": _RED},
    "PolyLine": {"Vertices": [60, 100, 200, 100, 130, 130], "C": _RED},
    "Polygon": {"Vertices": [60, 100, 200, 100, 130, 130], "C": _RED, "IC": [0, 1, 0]},
    "Square": {"C": _RED},
    "Squiggly": {"QuadPoints": _QUADS, "C": _RED},
    "Stamp": {"Name": Name.NotApproved},
    "StrikeOut": {"QuadPoints": _QUADS, "C": _RED},
    "Text": {"Contents": "A note"},
    "Underline": {"QuadPoints": _QUADS, "C": _RED},
}
_BRING_THEIR_LOOK = (
    *_DRAWN_BY_VIEWERS, "Caret", "FileAttachment", "Link", "Movie", "RichMedia", "Redact", "Screen", "Sound", "3D",
    "Watermark", "PrinterMark", "Projection", "TrapNet", "Unheard",
)  # fmt: skip
_PUSH, _COMBO = 1 << 16, 1 << 17


def _states(pdf: pikepdf.Pdf, state: str) -> list[Dictionary]:
    looks = Dictionary(N=Dictionary(Yes=look(pdf), Off=pdf.make_stream(b"")))
    return [annotation("Widget", FT=Name.Btn, T="a", V=Name.Yes, AS=Name(f"/{state}"), AP=looks)]


def _two_of_one_name(pdf: pikepdf.Pdf) -> list[Dictionary]:
    other = annotation("Widget", **text_field("Another", Rect=[60, 60, 200, 90]))
    return [annotation("Widget", **text_field()), other]


CASES: dict[str, bytes] = {
    **{f"{kind}, its look left to viewers": file(without(kind, **more)) for kind, more in _DRAWN_BY_VIEWERS.items()},
    **{
        f"{kind}, turned by {turn}": file(without(kind, **_DRAWN_BY_VIEWERS[kind]), rotate=turn)
        for kind in ("FreeText", "Square", "Line", "Stamp")
        for turn in (90, 180, 270)
    },
    **{f"{kind} with its look": file(with_look(kind)) for kind in _BRING_THEIR_LOOK},
    **{f"stamp with the flags {flags}": file(with_look("Stamp", F=flags)) for flags in (0, 1, 5, 8, 16, 64, 128, 256)},
    "free text called invisible": file(without("FreeText", F=1, **_DRAWN_BY_VIEWERS["FreeText"])),
    "stamp that does not turn with its page": file(with_look("Stamp", F=20), rotate=90),
    "field of no form": file(without("Widget", **text_field())),
    "field of no form with its look": file(with_look("Widget", **text_field())),
    "field that the form does not list": file(without("Widget", **text_field()), form={}, listed=False),
    "fields of one name and no form": file(_two_of_one_name),
    "field without a look": file(without("Widget", **text_field()), form={}),
    "field whose look is out of date": file(with_look("Widget", **text_field("Newer")), form={"NeedAppearances": True}),
    "field whose look differs from its value": file(with_look("Widget", **text_field("Other")), form={}),
    "field without letters of its own": file(without("Widget", FT=Name.Tx, T="a", V=WORD), form={}),
    "field with a ground and no value": file(
        without("Widget", FT=Name.Tx, T="a", MK=Dictionary(BG=_RED, BC=[0, 0, 1])), form={}
    ),
    "button with a caption": file(
        without("Widget", FT=Name.Btn, Ff=_PUSH, T="a", MK=Dictionary(CA=WORD), DA=_LOOK), form={}
    ),
    "choice": file(without("Widget", FT=Name.Ch, Ff=_COMBO, T="a", V=WORD, Opt=Array([WORD, "No"]), DA=_LOOK), form={}),
    "list of choices": file(without("Widget", FT=Name.Ch, T="a", V=WORD, Opt=Array([WORD, "No"]), DA=_LOOK), form={}),
    "ticked box": file(lambda pdf: _states(pdf, "Yes"), form={}),
    "ticked box of no form": file(lambda pdf: _states(pdf, "Yes")),
    "box without a tick": file(lambda pdf: _states(pdf, "Off"), form={}),
    "ticked box without a look": file(
        without("Widget", FT=Name.Btn, T="a", V=Name.Yes, AS=Name.Yes, MK=Dictionary(CA="4")), form={}
    ),
    **{
        f"field turned by {turn}": file(without("Widget", **text_field()), form={"NeedAppearances": True}, rotate=turn)
        for turn in (90, 180, 270)
    },
}


def _quad(left: float, bottom: float, right: float, top: float) -> list[float]:
    """The corners of a piece of text in the order in which programs write them."""
    return [left, top, right, top, left, bottom, right, bottom]


_AREA = [40, 30, 200, 90]
_CLAUSE = _quad(40, 52, 200, 68)
_TWO_LINES = _quad(100, 52, 200, 68) + _quad(40, 32, 120, 48)
_TRIANGLE = [40, 30, 200, 30, 120, 90]
_WAVE = [50, 40, 80, 80, 120, 50, 190, 80]
_GREEN = [0, 0.6, 0]
_WIDE, _DASHED = Dictionary(W=6), Dictionary(W=2, S=Name.D, D=[6, 3])

ON_CLAUSES: dict[str, dict[str, Any]] = {
    "Polygon, half transparent": {"Vertices": _TRIANGLE, "C": _RED, "IC": _GREEN, "CA": 0.5, "BS": _WIDE},
    "Polygon, dashed": {"Vertices": _TRIANGLE, "C": _RED, "BS": _DASHED},
    "Polygon, cloudy": {"Vertices": _TRIANGLE, "C": _RED, "BE": Dictionary(S=Name.C, I=1)},
    "PolyLine with ends": {
        "Vertices": [50, 40, 120, 80, 190, 40],
        "C": _RED,
        "CA": 0.5,
        "LE": [Name.OpenArrow, Name.Circle],
    },
    "Line with an arrow": {"L": [60, 60, 180, 60], "C": _RED, "LE": [Name.ClosedArrow, Name.Diamond], "IC": [0, 0, 1]},
    "Line with a square": {"L": [60, 60, 180, 60], "C": _RED, "LE": [Name.Square, Name.Butt]},
    "Line with arrows outwards": {"L": [60, 60, 180, 60], "C": _RED, "LE": [Name.Slash, Name.ROpenArrow]},
    "Line with leaders": {"L": [60, 50, 180, 50], "C": _RED, "LL": 20, "LLE": 5},
    "Line, transparent and dashed": {"L": [60, 60, 180, 60], "C": _RED, "CA": 0.4, "BS": Dictionary(W=8, S=Name.D)},
    "Line without a width": {"L": [60, 60, 180, 60], "C": _RED, "BS": Dictionary(W=0)},
    "Square, half transparent": {"C": _RED, "IC": _GREEN, "CA": 0.5, "BS": _WIDE},
    "Square, dashed": {"C": _RED, "Border": [0, 0, 2, [4, 2]]},
    "Square without a colour": {},
    "Square without a border": {"C": _RED, "IC": [1, 1, 0.5], "BS": Dictionary(W=0)},
    "Circle, half transparent": {"C": _RED, "IC": _GREEN, "CA": 0.5, "BS": _WIDE},
    "Circle, plain": {"C": _RED},
    "Highlight": {"QuadPoints": _CLAUSE, "C": [1, 1, 0]},
    "Highlight beside its rectangle": {"QuadPoints": _CLAUSE, "C": [1, 1, 0], "Rect": [40, 10, 200, 30]},
    "Highlight of two lines": {"QuadPoints": _TWO_LINES, "C": [1, 1, 0], "CA": 0.5},
    "Highlight, slanted": {"QuadPoints": [40, 60, 200, 90, 45, 40, 205, 70], "C": [1, 1, 0]},
    "Highlight without a colour": {"QuadPoints": _CLAUSE},
    "Highlight as the standard orders points": {"QuadPoints": [40, 52, 200, 52, 200, 68, 40, 68], "C": [1, 1, 0]},
    "Underline": {"QuadPoints": _CLAUSE, "C": _RED},
    "Underline beside its rectangle": {"QuadPoints": _CLAUSE, "C": _RED, "Rect": [40, 10, 200, 30]},
    "StrikeOut": {"QuadPoints": _CLAUSE, "C": _RED},
    "StrikeOut of two lines": {"QuadPoints": _TWO_LINES, "C": _RED},
    "Squiggly": {"QuadPoints": _CLAUSE, "C": _RED},
    "Ink": {"InkList": [_WAVE], "C": _RED, "BS": Dictionary(W=3)},
    "Ink of several strokes": {"InkList": [[50, 40, 190, 80], [50, 80, 190, 40]], "C": _RED},
    "Ink of a single point": {"InkList": [[120, 60]], "C": _RED, "BS": Dictionary(W=8)},
    "Ink without a width": {"InkList": [_WAVE], "C": _RED, "BS": Dictionary(W=0)},
    "Ink, transparent": {"InkList": [_WAVE], "CA": 0.4, "BS": Dictionary(W=8)},
    "Ink beyond its rectangle": {"InkList": [_WAVE], "C": _RED, "Rect": [100, 40, 130, 80]},
    "FreeText": {"Contents": "Free text", "DA": String("/Helv 14 Tf 0 0 1 rg"), "C": [1, 1, 0.6]},
    "FreeText, half transparent": {"Contents": "Free text", "DA": _LOOK, "C": [1, 1, 0.6], "CA": 0.5},
    "Stamp, transparent": {"Name": Name.Draft, "CA": 0.4},
    "Stamp of another name": {"Name": Name.PaidInFull},
    "Caret": {"Rect": [110, 50, 125, 65], "C": _RED},
    "Text": {"Rect": [110, 50, 130, 70], "C": [1, 1, 0]},
    "Redact": {"QuadPoints": _CLAUSE, "IC": [0, 0, 0], "OC": _RED},
    "Link with a border": {"C": _RED, "BS": _DASHED},
}
"""Annotations that leave it to viewers how they look, on top of a text; a name begins with the kind."""

UNDRAWABLE = ("Highlight", "Ink", "PrinterMark", "Projection", "TrapNet", "Unheard", "Watermark")
"""Kinds of which no viewer shows anything if all they have is a place."""


def on_clauses(annotations: Annotations) -> bytes:
    """A small page with a text below the annotations."""
    with pikepdf.new() as pdf:
        clauses = lines("Clause one of the contract", "Clause two is longer", "Clause three", x=42, y=88, size=12)
        page = add_page(pdf, clauses, (0, 0, 240, 120))
        page["/Annots"] = Array([pdf.make_indirect(one) for one in annotations(pdf)])
        return saved(pdf)


def drawn_on_clauses(name: str) -> bytes:
    kind, entries = name.split(maxsplit=1)[0].rstrip(","), ON_CLAUSES[name]
    return on_clauses(without(kind, **{"Rect": _AREA, **entries}))
