"""The kinds of files that can become a PDF. The work itself is in `picture`, `webpage` and `office`."""

import importlib.util
import mimetypes
import sysconfig
from pathlib import Path
from typing import Literal, TypeAlias

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.sandbox import Fence, fence
from deedbox.pdf.intake import libreoffice as office
from deedbox.pdf.marks import fonts

Source: TypeAlias = Literal["pdf", "image", "html", "docx"]

HEAD_BYTES = 1024
"""So many bytes from the beginning of a file tell what it is."""
_DOCX = (".docx", ".docm", ".dotx", ".odt")
_HTML = (".html", ".htm", ".xhtml")
ENDINGS = (".pdf", *_DOCX, *_HTML, ".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
"""How the names of files end of which a PDF can be made."""
UNKNOWN = (
    "This file type cannot be signed. Upload a PDF, a Word document, an HTML page or an image (PNG, JPEG, WebP, TIFF)"
)

_INSTALL_WEASYPRINT = (
    "pip install weasyprint, and the Pango library that it uses (Debian: apt-get install libpango-1.0-0 "
    "libpangoft2-1.0-0 libharfbuzz-subset0; macOS: brew install pango)"
)
INSTALL: dict[Source, str] = {"docx": office.INSTALL, "html": _INSTALL_WEASYPRINT}
"""The commands that get what turns such a file into a PDF."""
NO_WEASYPRINT = (
    f"HTML cannot be turned into a PDF here: WeasyPrint or its library is not installed: {_INSTALL_WEASYPRINT}"
)


def require_converter(source: Source, *, unconfined: bool) -> None:
    """Raises BadRequest, which says what to install, if nothing here can turn such a file into a PDF."""
    if source == "docx" and office.program(unconfined=unconfined) is None:
        raise BadRequest(office.MISSING)
    if source == "html" and importlib.util.find_spec("weasyprint") is None:
        raise BadRequest(NO_WEASYPRINT)


def check_converter(source: Source, *, unconfined: bool) -> None:
    """Raises BadRequest, which says what to do, if nothing here can or may turn such a file into a PDF."""
    require_converter(source, unconfined=unconfined)
    if source in ("docx", "html") and not unconfined and fence.means() is None:
        raise BadRequest(office.UNFENCED.format(files="HTML pages" if source == "html" else "Word documents"))


def webpage_fence() -> Fence:
    """What weasyprint reads: Python and its packages, libraries, and the system's fonts."""
    weasyprint = importlib.util.find_spec("weasyprint")  # it may lie elsewhere: a user's packages, PYTHONPATH
    beside = [str(Path(weasyprint.origin).parents[1])] if weasyprint and weasyprint.origin else []
    python = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    here = str(Path(__file__).parents[2])
    return Fence(
        reads=(
            *dict.fromkeys((here, *python, *beside)),
            *office.LIBRARIES,
            *map(str, mimetypes.knownfiles),
            *fonts.OF_THE_SYSTEM,
            *map(str, fonts.folders()),
        )
    )


def source(name: str, head: bytes) -> Source:
    """What a file is, by its first bytes before its name; BadRequest if nothing can be made of it."""
    start = head[:HEAD_BYTES]
    lower = name.lower()
    if b"%PDF-" in start or lower.endswith(".pdf"):
        return "pdf"  # a file that is only called so is refused with what it is when it is taken in
    if _is_image(start):
        return "image"
    if start.startswith(b"PK\x03\x04") and lower.endswith(_DOCX):
        return "docx"
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html")) or lower.endswith(_HTML):
        return "html"
    raise BadRequest(UNKNOWN)


def _is_image(start: bytes) -> bool:
    if start.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*")):
        return True
    return start.startswith(b"RIFF") and start[8:12] == b"WEBP"
