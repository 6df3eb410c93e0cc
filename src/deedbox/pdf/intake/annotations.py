"""What annotations and form fields show is given a form that can be made part of the page: nothing seen gets lost."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pikepdf
from pikepdf import Array, Dictionary, Name

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import annotation_appearances as drawing

_INVISIBLE, _HIDDEN, _NO_VIEW = 1, 2, 32
_PUSH_BUTTON = 1 << 16
_MOVING = {"/Screen", "/Movie", "/Sound", "/RichMedia", "/3D"}
_FOR_PRINTERS = {"/PrinterMark", "/TrapNet", "/Projection"}
_STANDARD = drawing.KINDS | _MOVING | _FOR_PRINTERS | {"/FileAttachment", "/Link", "/Widget", "/Watermark"}
_NOTED = (drawing.KINDS | {"/FileAttachment"}) - {"/FreeText", "/Line"}
"""Kinds whose text opens beside the page."""

ATTACHMENTS = "attached files"
MEDIA = "sound, film and 3D objects"
UNDRAWN = "annotations that do not say how they look"
HIDDEN = "hidden annotations and form fields"
NOTES = "the text of notes, which opens beside the page"


class Settled(NamedTuple):
    removed: tuple[str, ...]
    undrawn: bool
    """PDFium has to draw something before all of it can be made part of the page."""
    written: tuple[tuple[int, str], ...]
    """Page, from 0, and text of fields whose letters PDFium may be unable to draw; they must be found there at last."""


def settle(pdf: pikepdf.Pdf) -> Settled:
    """Every annotation says how it looks, or is of a kind that PDFium draws; BadRequest if one can be neither."""
    form = pdf.Root.get("/AcroForm")
    redrawn = isinstance(form, Dictionary) and bool(form.get("/NeedAppearances"))
    removed: dict[str, None] = {}
    written: list[tuple[int, str]] = []
    fields, undrawn, count = _Fields(pdf), False, 0
    for number, page in enumerate(pdf.pages):
        kept: list[Any] = []
        for annotation in _annotations(page.obj):
            count += 1
            if count > limits.ANNOTATIONS:
                raise BadRequest(f"This PDF has more than {limits.ANNOTATIONS:,} annotations")
            one = _Annotation(pdf, number, pdf.make_indirect(annotation))
            kept += one.settled(removed)
            if one.kind == "/Widget" and one.is_shown:
                fields.adopt(one.it)
                written += one.text_kept(redrawn)
            undrawn = undrawn or (one.is_shown and one.is_left_to_pdfium(redrawn))
        if "/Annots" in page.obj:
            page.obj["/Annots"] = Array(kept)
    return Settled(tuple(removed), undrawn, tuple(written))


def into_layers(pdf: pikepdf.Pdf, page: Any) -> None:
    """What an annotation shows is in the layer that the annotation is in: hidden with it, or shown with it."""
    for annotation in _annotations(page):
        layer, look = annotation.get("/OC"), _look(annotation)
        if isinstance(layer, Dictionary) and isinstance(look, pikepdf.Stream):
            # Others may look the same and be in another layer.
            own = pdf.make_stream(look.read_raw_bytes())
            for name, value in look.items():
                if name != "/Length":
                    own[name] = value
            own["/OC"] = layer
            annotation["/AP"] = Dictionary(N=own)
            if "/AS" in annotation:
                del annotation["/AS"]


class _Annotation:
    def __init__(self, pdf: pikepdf.Pdf, page: int, it: Any) -> None:
        self._pdf, self._page, self.it = pdf, page, it
        self.kind = str(it.get("/Subtype"))
        flags = it.get("/F")
        self._flags = flags if isinstance(flags, int) else 0
        if self._flags & _INVISIBLE and self.kind in _STANDARD:
            # It is about kinds that a viewer does not know, and some programs set it everywhere.
            self._flags &= ~_INVISIBLE
            it["/F"] = self._flags
        if "/AP" in it and _look(it) is None and not _has_states(it):
            del it["/AP"]

    @property
    def is_shown(self) -> bool:
        return not self._flags & (_INVISIBLE | _HIDDEN | _NO_VIEW) and self.kind != "/Popup"

    def settled(self, removed: dict[str, None]) -> list[Any]:
        """What takes the annotation's place: itself, or only what it shows, or nothing."""
        if self.kind in _NOTED and drawing.plain(self.it.get("/Contents")).strip():
            removed[NOTES] = None
        if self.kind == "/FileAttachment" or self.kind in _MOVING:
            removed[ATTACHMENTS if self.kind == "/FileAttachment" else MEDIA] = None
            return [self._look_alone()] if "/AP" in self.it and "/Rect" in self.it else []
        if self.kind == "/Popup" or "/Subtype" not in self.it:
            if self.kind == "/Popup" and "/AP" in self.it:
                removed[NOTES] = None
            return []
        if not self.is_shown:
            removed[HIDDEN] = None
        elif self.kind == "/Link" and "/AP" in self.it and "/Rect" in self.it:
            look = self._look_alone()
            del self.it["/AP"]
            return [look, self.it]
        elif self.kind not in ("/Widget", "/Link") and "/AP" not in self.it and not self._drawn():
            removed[UNDRAWN] = None
        return [self.it]

    def is_left_to_pdfium(self, redrawn: bool) -> bool:
        if self.kind != "/Widget" or _inherited(self.it, "/FT") == "/Sig":
            return False
        return redrawn or ("/AP" not in self.it and ("/MK" in self.it or _inherited(self.it, "/V") is not None))

    def text_kept(self, redrawn: bool) -> list[tuple[int, str]]:
        """What the field says, if PDFium would have to draw letters for which a sandbox has no font.

        Then the look that the field brings along is taken; BadRequest if it brings none."""
        texts = [text for text in _said(self.it) if not _is_western(text)]
        if not texts or not (redrawn or "/AP" not in self.it):
            return []
        if "/AP" not in self.it:
            raise self._refusal(texts[0])
        self.it["/Subtype"] = Name.Stamp
        self.kind = "/Stamp"
        return [(self._page, texts[0])]

    def _drawn(self) -> bool:
        text = drawing.plain(self.it.get("/Contents"))
        rich = self.it.get("/RC")
        if self.kind == "/FreeText" and not text.strip() and rich is not None:
            raise self._refusal("")
        if len(text) > limits.DRAWN_TEXT_CHARS:
            raise self._refusal(text)
        try:
            return drawing.draw(self._pdf, self.it)
        except UnicodeEncodeError as error:
            raise self._refusal(text) from error

    def _look_alone(self) -> Any:
        """An annotation that shows the same and does nothing."""
        kept = Dictionary(Type=Name.Annot, Subtype=Name.Stamp, Rect=self.it.get("/Rect"), AP=self.it.AP, F=self._flags)
        for name in ("/AS", "/OC"):
            if name in self.it:
                kept[name] = self.it[name]
        return self._pdf.make_indirect(kept)

    def _refusal(self, text: str) -> BadRequest:
        return cannot_draw(self._page, text)


def cannot_draw(page: int, text: str) -> BadRequest:
    """The refusal of a file whose text on this page, counted from 0, would get lost."""
    shown = f" ({' '.join(text.split())[:40]!r})" if text.strip() else ""
    return BadRequest(
        f"Page {page + 1} of this PDF has a text{shown} in a form field or annotation that does not say how it looks,"
        " and that cannot be drawn here. Print the file into a new PDF and upload that."
    )


class _Fields:
    """The fields of the form, into which those are taken that stand on a page only: PDFium draws no others."""

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self._pdf, self._added = pdf, 0
        form = pdf.Root.get("/AcroForm")
        listed = form.get("/Fields") if isinstance(form, Dictionary) else None
        self._known = {one.objgen for one in listed if _is_indirect(one)} if isinstance(listed, Array) else set()

    def adopt(self, widget: Any) -> None:
        top = widget
        for _ in range(limits.PAGE_TREE_DEPTH):
            above = top.get("/Parent")
            if not isinstance(above, Dictionary) or not above.is_indirect:
                break
            top = above
        if top.objgen in self._known:
            return
        self._known.add(top.objgen)
        self._added += 1
        # Fields of one name share one value; these have nothing to do with each other.
        top["/T"] = pikepdf.String(f"on a page only {self._added}")
        self._list().append(top)

    def _list(self) -> Any:
        root = self._pdf.Root
        if not isinstance(root.get("/AcroForm"), Dictionary):
            font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)
            resources = Dictionary(Font=Dictionary(Helv=self._pdf.make_indirect(font)))
            root["/AcroForm"] = Dictionary(Fields=Array([]), DR=resources, DA=pikepdf.String("/Helv 0 Tf 0 g"))
        if not isinstance(root.AcroForm.get("/Fields"), Array):
            root.AcroForm["/Fields"] = Array([])
        return root.AcroForm.Fields


def _annotations(page: Any) -> Iterator[Any]:
    found = page.get("/Annots")
    return (one for one in (list(found) if isinstance(found, Array) else []) if isinstance(one, Dictionary))


def _look(annotation: Any) -> Any:
    """The stream that the annotation shows, or None."""
    looks = annotation.get("/AP")
    normal = looks.get("/N") if isinstance(looks, Dictionary) else None
    if isinstance(normal, Dictionary) and not isinstance(normal, pikepdf.Stream):
        state = annotation.get("/AS")
        normal = normal.get(str(state)) if isinstance(state, Name) else None
    return normal if isinstance(normal, pikepdf.Stream) else None


def _has_states(annotation: Any) -> bool:
    looks = annotation.get("/AP")
    return isinstance(looks, Dictionary) and isinstance(looks.get("/N"), Dictionary)


def _inherited(field: Any, name: str) -> Any:
    for _ in range(limits.PAGE_TREE_DEPTH):
        if (value := field.get(name)) is not None:
            return value
        field = field.get("/Parent")
        if not isinstance(field, Dictionary):
            break
    return None


def _said(field: Any) -> Iterator[str]:
    """Every text that a field may show: its value, how its choices are called, the caption of a button."""
    kind, value = _inherited(field, "/FT"), _inherited(field, "/V")
    if kind == "/Tx":
        yield drawing.plain(value)
    if kind == "/Ch":
        choices = _inherited(field, "/Opt")
        pairs = [list(one) if isinstance(one, Array) else [one, one] for one in choices] if choices is not None else []
        chosen = list(value) if isinstance(value, Array) else [value]
        called = [pair[-1] for pair in pairs if pair and pair[0] in chosen]
        yield from map(drawing.plain, (*called, *chosen, *(pair[-1] for pair in pairs if pair)))
    if kind == "/Btn" and isinstance(look := field.get("/MK"), Dictionary):
        flags = _inherited(field, "/Ff")
        if isinstance(flags, int) and flags & _PUSH_BUTTON:
            yield drawing.plain(look.get("/CA"))


def _is_indirect(value: Any) -> bool:
    return isinstance(value, pikepdf.Object) and value.is_indirect


def _is_western(text: str) -> bool:
    try:
        text.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True
