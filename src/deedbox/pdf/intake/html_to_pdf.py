"""Runs in a sandbox: an HTML page as a PDF, by weasyprint where it is installed. It fetches nothing."""

import importlib
from collections.abc import Generator
from functools import cache
from typing import Any

from deedbox.kernel.errors import BadRequest
from deedbox.pdf.intake.convert import NO_WEASYPRINT
from deedbox.pdf.intake.take_in import pieces
from deedbox.pdf.marks import fonts

_SPECIMEN = """<!DOCTYPE html><h1>Aa <b>Bb</b> <i>Cc</i> <code>Dd</code> <u>Ăặ Ωω Жж عمر नमस्ते สวัสดี 王 かな 한글</u></h1>
<table><tr><th>1<td>2</table><ul><li>3</ul><a href="https://deedbox.example">4</a>
<img alt="5" src="data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==">
<p style="font-family: serif; page-break-before: always">6</p>"""

try:
    _weasyprint: Any = importlib.import_module("weasyprint")
    _fonts: Any = importlib.import_module("weasyprint.text.fonts")
except (ImportError, OSError):  # OSError: the library is there, and Pango is not
    _weasyprint = _fonts = None


def prepare() -> None:
    """Loads fonts and what else a first page needs, while a sandbox still may."""
    if _weasyprint is not None:
        _pdf(_SPECIMEN)


def as_pdf(data: bytes) -> Generator[bytes, None, int]:
    """Yields the PDF in pieces; what comes back is its size. What the page wants to load from elsewhere is missing."""
    if _weasyprint is None:
        raise BadRequest(NO_WEASYPRINT)
    made = _pdf(_text(data))
    yield from pieces(made)
    return len(made)


def _pdf(text: str) -> bytes:
    page = _weasyprint.HTML(string=text, url_fetcher=_fetcher(), media_type="print")
    made: bytes = page.write_pdf(font_config=_all_fonts())
    return made


@cache
def _all_fonts() -> Any:
    """Fonts of the system and of this installation.

    Those that a page brings along are left out: they would have to be written to a disk."""
    configuration = _fonts.FontConfiguration()
    configuration.add_font_face = lambda *_, **__: None
    for path in fonts.files():
        _fonts.fontconfig.FcConfigAppFontAddFile(configuration._config, str(path).encode())
    font_map = _fonts.ffi.cast("PangoFcFontMap *", configuration.font_map)
    _fonts.pangoft2.pango_fc_font_map_config_changed(font_map)
    return configuration


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _fetcher() -> Any:
    """A page can bring its images with it, and can reach nothing."""
    if hasattr(_weasyprint.urls, "URLFetcher"):
        return _weasyprint.urls.URLFetcher(allowed_protocols=("data",), allow_redirects=False)
    return _only_data


def _only_data(url: str, *args: Any, **options: Any) -> Any:
    """What older versions of weasyprint have instead of a fetcher."""
    if not url.lower().startswith("data:"):
        raise ValueError("only data: addresses are read")
    return _weasyprint.default_url_fetcher(url, *args, **options)
