"""Takes out of a file what must not be under a seal: what could change its look later, run, or open something else."""

import io
from collections.abc import Iterator
from typing import Any

import pikepdf
import pypdfium2 as pdfium
from pikepdf import Array, Dictionary
from pypdfium2 import raw

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import annotations
from deedbox.pdf.intake.annotations import ATTACHMENTS

_STILL = frozenset({"/GoTo", "/URI", "/Named"})
"""Actions that lead somewhere and change nothing."""
_ADDRESSES = (b"http://", b"https://", b"mailto:", b"tel:")
SCRIPTS = "JavaScript and other actions that run by themselves"
FORM = "form fields, which were made part of the page"
LAYERS = "the switches of its layers"
XFA_COPY = "the XFA copy of its form"
WEB_LINKS = "links to web addresses"
OPENING = "the view with which it opens, such as a page or the full screen"
OUTSIDE = "references to content outside of the file"
ALTERNATES = "other versions of images, for printing or the screen"


def has_signature(root: Any) -> bool:
    """True if a signature or a document time-stamp is in the file."""
    permissions = root.get("/Perms")
    if isinstance(permissions, Dictionary) and "/DocMDP" in permissions:
        return True
    return any(field.get("/V") is not None for field in _fields(root) if _inherited_type(field) == "/Sig")


def signatures(root: Any) -> list[Any]:
    """The signatures and document time-stamps that form fields or a certification lead to."""
    permissions = root.get("/Perms")
    certified = [permissions.get("/DocMDP")] if isinstance(permissions, Dictionary) else []
    signed = [field.get("/V") for field in _fields(root) if _inherited_type(field) == "/Sig"]
    found = [one for one in (*signed, *certified) if isinstance(one, Dictionary)]
    return list({(one.objgen if one.is_indirect else number): one for number, one in enumerate(found)}.values())


def is_dynamic_form(root: Any) -> bool:
    """True for a form whose pages exist only in programs that run XFA."""
    form = root.get("/AcroForm")
    if not isinstance(form, Dictionary) or "/XFA" not in form:
        return False
    return bool(root.get("/NeedsRendering")) or not _items(form.get("/Fields"))


def clean(pdf: pikepdf.Pdf, *, web_links: bool = True) -> tuple[str, ...]:
    """Removes scripts, attachments, media and forms; what comes back names, for the sender, what was removed."""
    still = _STILL if web_links else _STILL - {"/URI"}
    removed: dict[str, None] = {}
    _forget_signatures(pdf.Root)
    _clean_catalog(pdf.Root, removed)
    _clean_outlines(pdf.Root, still, removed)
    _clean_streams(pdf, removed)
    for page in pdf.pages:
        _clean_page(page.obj, still, removed)
        annotations.into_layers(pdf, page.obj)
    if "/AcroForm" in pdf.Root or any("/Annots" in page.obj for page in pdf.pages):
        _forget_needs(pdf.Root)
        pdf.flatten_annotations("screen")
    if "/AcroForm" in pdf.Root:
        del pdf.Root["/AcroForm"]
    for page in pdf.pages:
        _keep_links(page.obj)
    return tuple(removed)


def _forget_signatures(root: Any) -> None:
    """What is said of a signature's field may hang on more than the form: the signature itself must not stay."""
    for field in _fields(root):
        if _inherited_type(field) == "/Sig":
            for name in ("/V", "/Lock", "/SV"):
                if name in field:
                    del field[name]


def _forget_needs(root: Any) -> None:
    """Appearances were made where the form had none; with this sign in the form qpdf would leave its fields alone."""
    form = root.get("/AcroForm")
    if isinstance(form, Dictionary) and "/NeedAppearances" in form:
        del form["/NeedAppearances"]


def _clean_catalog(root: Any, removed: dict[str, None]) -> None:
    _drop(root, ("/AA", "/Requirements", "/URI"), SCRIPTS, removed)
    _drop(root, ("/AF",), ATTACHMENTS, removed)
    for key in ("/Perms", "/Legal", "/DSS", "/Extensions", "/NeedsRendering", "/SpiderInfo"):
        if key in root:
            del root[key]
    opening = root.get("/OpenAction")
    leads = isinstance(opening, Array) or _is_still(opening)
    _drop(root, ("/OpenAction",), OPENING if leads else SCRIPTS, removed)
    if root.get("/PageMode") == "/FullScreen":
        _drop(root, ("/PageMode",), OPENING, removed)
    names = root.get("/Names")
    if isinstance(names, Dictionary):
        _drop(names, ("/JavaScript", "/Renditions", "/AlternatePresentations"), SCRIPTS, removed)
        _drop(names, ("/EmbeddedFiles",), ATTACHMENTS, removed)
    layers = root.get("/OCProperties")
    if isinstance(layers, Dictionary):
        _fix_layers(layers, removed)


def _fix_layers(layers: Any, removed: dict[str, None]) -> None:
    """Layers stay as they are shown; no program offers to switch them, or does so by itself when it prints."""
    groups = _items(layers.get("/OCGs"))
    for group in groups:
        if isinstance(group, Dictionary) and "/Usage" in group:
            del group["/Usage"]
    usual = layers.get("/D")
    if isinstance(usual, Dictionary):
        _drop(usual, ("/AS", "/Order", "/RBGroups"), LAYERS, removed)
        usual["/Locked"] = Array(groups)
    _drop(layers, ("/Configs",), LAYERS, removed)


def _clean_outlines(root: Any, still: frozenset[str], removed: dict[str, None]) -> None:
    outlines = root.get("/Outlines")
    waiting = [outlines.get("/First")] if isinstance(outlines, Dictionary) else []
    for _ in range(limits.OUTLINE_ITEMS):
        if not waiting:
            return
        item = waiting.pop()
        if isinstance(item, Dictionary):
            _still(item, still, removed)
            waiting += [item.get("/Next"), item.get("/First")]
    # More bookmarks than anyone reads, or a circle of them.
    del root["/Outlines"]


def _clean_streams(pdf: pikepdf.Pdf, removed: dict[str, None]) -> None:
    """Images, forms and data are what the file holds of them, whatever a printer or a viewer could fetch instead."""
    for stream in pdf.objects:
        if isinstance(stream, pikepdf.Stream):
            _drop(stream, ("/F", "/FFilter", "/FDecodeParms", "/Ref", "/OPI"), OUTSIDE, removed)
            _drop(stream, ("/Alternates",), ALTERNATES, removed)
            _drop(stream, ("/AF",), ATTACHMENTS, removed)


def _clean_page(page: Any, still: frozenset[str], removed: dict[str, None]) -> None:
    _drop(page, ("/AA", "/PresSteps"), SCRIPTS, removed)
    _drop(page, ("/AF",), ATTACHMENTS, removed)
    for annotation in _items(page.get("/Annots")):
        if isinstance(annotation, Dictionary):
            _still(annotation, still, removed)


def _still(item: Any, still: frozenset[str], removed: dict[str, None]) -> None:
    """Removes every action of an annotation or a bookmark, but for one of these kinds, which leads somewhere."""
    _drop(item, ("/AA",), SCRIPTS, removed)
    if "/A" in item and not _is_still(item.get("/A")):
        _drop(item, ("/A",), SCRIPTS, removed)
    elif "/A" in item and str(item.A.get("/S")) not in still:
        _drop(item, ("/A",), WEB_LINKS, removed)
    elif "/A" in item and "/Next" in item.A:
        _drop(item.A, ("/Next",), SCRIPTS, removed)
    if "/PA" in item:
        del item["/PA"]


def _is_still(action: Any) -> bool:
    if not isinstance(action, Dictionary) or str(action.get("/S")) not in _STILL:
        return False
    if action.get("/S") != "/URI":
        return True
    address = action.get("/URI")
    return isinstance(address, pikepdf.String) and bytes(address).strip().lower().startswith(_ADDRESSES)


def form_parts(root: Any) -> tuple[str, ...]:
    """What of a form is in the file and will not be after `clean`, in words for the sender."""
    form = root.get("/AcroForm")
    copy = isinstance(form, Dictionary) and "/XFA" in form
    return (*((FORM,) if any(True for _ in _fields(root)) else ()), *((XFA_COPY,) if copy else ()))


def with_appearances(data: bytes) -> bytes:
    """The file in which form and annotations bring along how they look, just as PDFium draws them in page images."""
    document = pdfium.PdfDocument(data)
    document.init_forms()
    try:
        for number in range(len(document)):
            page = document[number]
            if raw.FPDFPage_GetAnnotCount(page) > 0:
                # It makes up how something looks when it shows the page, were it ever so small.
                page.render(scale=1 / max(*page.get_size(), 1))
            page.close()
        drawn = io.BytesIO()
        document.save(drawn)
        return drawn.getvalue()
    finally:
        document.close()


def _keep_links(page: Any) -> None:
    """After flattening only links are left to be annotations."""
    if "/Annots" not in page:
        return
    links = [link for link in _items(page.Annots) if isinstance(link, Dictionary) and link.get("/Subtype") == "/Link"]
    if links:
        page["/Annots"] = Array(links)
    else:
        del page["/Annots"]


def _fields(root: Any) -> Iterator[Any]:
    """Every field of the form, those in groups too; at most so many, and none twice."""
    form = root.get("/AcroForm")
    waiting = _items(form.get("/Fields")) if isinstance(form, Dictionary) else []
    seen: set[tuple[int, int]] = set()
    while waiting:
        field = waiting.pop()
        if not isinstance(field, Dictionary) or (field.is_indirect and field.objgen in seen):
            continue
        if len(seen) >= limits.FORM_FIELDS:
            raise BadRequest(f"This PDF has more than {limits.FORM_FIELDS:,} form fields")
        seen.add(field.objgen if field.is_indirect else (0, -len(seen)))
        yield field
        waiting += _items(field.get("/Kids"))


def _inherited_type(field: Any) -> str:
    for _ in range(limits.PAGE_TREE_DEPTH):
        if (kind := field.get("/FT")) is not None:
            return str(kind)
        field = field.get("/Parent")
        if not isinstance(field, Dictionary):
            break
    return ""


def _items(value: Any) -> list[Any]:
    if isinstance(value, Array):
        return list(value)
    return [] if value is None else [value] if isinstance(value, pikepdf.Stream) else []


def _drop(owner: Any, keys: tuple[str, ...], what: str, removed: dict[str, None]) -> None:
    for key in keys:
        if key in owner:
            del owner[key]
            removed[what] = None
