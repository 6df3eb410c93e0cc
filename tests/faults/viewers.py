"""The pages of a PDF as three viewers show them: PDFium, MuPDF and poppler, each with a parser of its own."""

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pypdfium2

_DPI = 36
VIEWERS = ("pdfium", "mupdf", "poppler")


def need() -> None:
    """Fails, and names what is missing: without all three there is nothing to compare."""
    missing = [program for program in ("mutool", "pdftoppm") if shutil.which(program) is None]
    assert not missing, f"{missing} are missing: run scripts/test-deps"


def shown(pdf: bytes, path: Path) -> dict[str, str]:
    """For each viewer a hash of all pages; of its refusal if it shows none."""
    path.write_bytes(pdf)
    mupdf = ["mutool", "draw", "-q", "-r", str(_DPI), "-F", "pnm", "-o", "-", str(path)]
    poppler = ["pdftoppm", "-q", "-r", str(_DPI), str(path)]
    return {"pdfium": _by_pdfium(pdf), "mupdf": _by_program(mupdf), "poppler": _by_program(poppler)}


def _by_program(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, check=False)
    return sha256(done.stdout).hexdigest() if done.stdout else "nothing"


def _by_pdfium(pdf: bytes) -> str:
    try:
        document = pypdfium2.PdfDocument(pdf)
    except pypdfium2.PdfiumError:
        return "nothing"
    counted = sha256()
    with document:
        for number in range(len(document)):
            bitmap = document[number].render(scale=_DPI / 72)
            counted.update(b"%d %d\n" % (bitmap.width, bitmap.height) + bytes(bitmap.buffer))
    return counted.hexdigest()
