"""The fields of a fillable PDF, taken off its pages: what was to be typed into the form is asked of those who sign."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pikepdf
from msgspec.structs import replace
from pikepdf import Array, Dictionary

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import annotation_appearances as drawing
from deedbox.pdf.marks.marks import FormField, Kind, PageRect
from deedbox.pdf.render import boxes
from deedbox.pdf.render.boxes import PageView

_HIDDEN = 2 | 32
_READ_ONLY, _REQUIRED = 1, 2
_RADIO, _PUSH_BUTTON = 1 << 15, 1 << 16
_SIDE_MIN = 3.0
"""Points: what is smaller, nobody is meant to fill."""
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s+Tf")


def take_off(pdf: pikepdf.Pdf) -> tuple[FormField, ...]:
    """The fields, in the order in which the pages name them; their boxes are gone from the pages.

    Buttons, signed fields and what nobody may change stay, and show what they show."""
    found: list[FormField] = []
    for number, page in enumerate(pdf.pages, 1):
        listed = page.obj.get("/Annots")
        if not isinstance(listed, Array):
            continue
        kept, view = [], boxes.of_page(page.obj)
        for annotation in list(listed):
            field = _field(annotation, number, view) if isinstance(annotation, Dictionary) else None
            if field is None:
                kept.append(annotation)
            else:
                found.append(field)
        if len(found) > shared_limits.DOCUMENT_FIELDS:
            raise BadRequest(f"This PDF has more than {shared_limits.DOCUMENT_FIELDS:,} form fields")
        page.obj["/Annots"] = Array(kept)
    return tuple(_told_apart(found))


def _told_apart(found: Sequence[FormField]) -> Iterator[FormField]:
    """The fields; of radio buttons of one group that stand for the same, the later ones are numbered."""
    seen: Counter[tuple[str, str]] = Counter()
    for field in found:
        if field.group is None:
            yield field
            continue
        seen[field.group, field.name] += 1
        count = seen[field.group, field.name]
        yield (
            field
            if count == 1
            else replace(field, name=f"{field.name[: shared_limits.FIELD_LABEL_CHARS - 5]} {count}", value="")
        )


def _field(widget: Any, number: int, view: PageView) -> FormField | None:
    flags, hidden = _number(_inherited(widget, "/Ff")), _number(widget.get("/F")) & _HIDDEN
    kind, place = _kind(widget, flags), _place(widget, number, view)
    if widget.get("/Subtype") != "/Widget" or hidden or flags & _READ_ONLY or kind is None or place is None:
        return None
    options = _options(widget) if kind == "select" else ()
    if kind == "select" and not 0 < len(options) <= shared_limits.FIELD_OPTIONS:
        kind, options = "text", ()
    return FormField(
        name=_state(widget) if kind == "radio" else _name(widget)[: shared_limits.FIELD_LABEL_CHARS],
        kind=kind,
        place=place,
        required=bool(flags & _REQUIRED) or kind == "signature",
        value=_value(widget, kind, options),
        options=options,
        font_size=_font_size(widget),
        max_length=_most_letters(widget) if kind == "text" else None,
        group=_name(widget)[: shared_limits.FIELD_GROUP_CHARS] if kind == "radio" else None,
    )


def _kind(widget: Any, flags: int) -> Kind | None:
    kind = _inherited(widget, "/FT")
    if kind == "/Btn":
        return None if flags & _PUSH_BUTTON else "radio" if flags & _RADIO and _state(widget) else "checkbox"
    if kind == "/Sig":
        return "signature" if _inherited(widget, "/V") is None else None
    return "text" if kind == "/Tx" else "select" if kind == "/Ch" else None


def _place(widget: Any, number: int, view: PageView) -> PageRect | None:
    box = widget.get("/Rect")
    try:
        edges = [float(edge) for edge in box] if isinstance(box, Array) else []
    except (TypeError, ValueError):
        return None
    if len(edges) != 4:
        return None
    left, top, right, bottom = (
        min(max(edge, 0.0), 1.0) for edge in view.fractions((edges[0], edges[1], edges[2], edges[3]))
    )
    w, h = right - left, bottom - top
    if w * view.width < _SIDE_MIN or h * view.height < _SIDE_MIN:
        return None
    return PageRect(number, left, top, w, h)


def _name(widget: Any) -> str:
    """The names of the field and of those above it, with dots between them."""
    names = [drawing.plain(one.get("/T")).strip() for one in _upwards(widget)]
    return ".".join(name for name in reversed(names) if name)


def _state(widget: Any) -> str:
    """What a radio button stands for: the name of its look when it is chosen."""
    looks = widget.get("/AP")
    normal = looks.get("/N") if isinstance(looks, Dictionary) else None
    if not isinstance(normal, Dictionary) or isinstance(normal, pikepdf.Stream):
        return ""
    states = [state.removeprefix("/") for state, _ in normal.items()]
    return next((state for state in states if state and state != "Off"), "")[: shared_limits.FIELD_LABEL_CHARS]


def _options(widget: Any) -> tuple[str, ...]:
    given = _inherited(widget, "/Opt")
    pairs = [list(one) if isinstance(one, Array) else [one] for one in given] if isinstance(given, Array) else []
    texts = [drawing.plain(pair[-1]).strip() for pair in pairs if pair]
    return tuple(dict.fromkeys(text for text in texts if 0 < len(text) <= shared_limits.FIELD_VALUE_CHARS))


def _value(widget: Any, kind: Kind, options: tuple[str, ...]) -> str:
    """What stands in the field, as such a field keeps it; empty if nothing does."""
    value = _inherited(widget, "/V")
    if kind in ("checkbox", "radio"):
        return "true" if str(widget.get("/AS", value or "/Off")) not in ("/Off", "None") else ""
    text = "" if kind == "signature" else drawing.plain(value).strip()
    if kind == "select" and text not in options:
        return ""
    return text if len(text) <= shared_limits.FIELD_VALUE_CHARS else ""


def _font_size(widget: Any) -> float | None:
    told = _SIZE.search(drawing.plain(_inherited(widget, "/DA")))
    size = float(told[1]) if told else 0.0
    return size if shared_limits.FONT_SIZE_MIN <= size <= shared_limits.FONT_SIZE_MAX else None


def _most_letters(widget: Any) -> int | None:
    most = _number(_inherited(widget, "/MaxLen"))
    return most if 0 < most <= shared_limits.FIELD_VALUE_CHARS else None


def _upwards(field: Any) -> Iterator[Any]:
    for _ in range(limits.PAGE_TREE_DEPTH):
        yield field
        field = field.get("/Parent")
        if not isinstance(field, Dictionary):
            break


def _inherited(field: Any, name: str) -> Any:
    return next((value for one in _upwards(field) if (value := one.get(name)) is not None), None)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
