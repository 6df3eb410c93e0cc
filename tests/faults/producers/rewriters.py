# mypy: disable-error-code="no-untyped-call"
"""Programs and libraries that write a PDF of another producer anew, each in its own way."""

import io
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pikepdf
import pypdfium2 as pdfium
from pikepdf import ObjectStreamMode, StreamDecodeLevel

from tests.faults.producers.programs import Failed, run

EACH = 3
"""Originals that each way of rewriting is given; other ways get other ones."""

_QPDF = {
    "linearized": ["--linearize"],
    "object-streams": ["--object-streams=generate"],
    "no-object-streams": ["--object-streams=disable"],
    "qdf": ["--qdf"],
    "recompressed": ["--recompress-flate", "--compression-level=9"],
    "uncompressed": ["--stream-data=uncompress"],
    "coalesced": ["--coalesce-contents", "--newline-before-endstream"],
    "turned": ["--rotate=+90:1", "--rotate=180:z"],
    "as-1.3": ["--force-version=1.3", "--object-streams=disable"],
    "as-2.0": ["--min-version=2.0"],
    "externalized": ["--externalize-inline-images", "--ii-min-bytes=1"],
    "flattened": ["--flatten-annotations=all", "--generate-appearances"],
}
_MUTOOL = {
    "clean": ["-gggg", "-z"], "decompressed": ["-d"], "sanitized": ["-s", "-g"], "ascii": ["-a", "-d"],
}  # fmt: skip
_GHOSTSCRIPT = {"distilled": [], "distilled-1.3": ["-dCompatibilityLevel=1.3"], "distilled-pdfa": ["-dPDFA=2"]}

Way = tuple[str, str, Callable[[Path, Path, Path], object]]
"""The program, what it does, and how: from a file to a file, with a folder to work in."""


def ways() -> Iterator[Way]:
    """Every way of rewriting; the program's name is what must be installed, unless it is a library."""
    for variant, options in _QPDF.items():
        yield "qpdf", variant, lambda a, b, w, o=options: run("qpdf", "--warning-exit-0", *o, a, b, folder=w)  # type: ignore[misc]
    yield "qpdf", "decrypted", _decrypted
    yield "qpdf", "twice", lambda a, b, w: run("qpdf", "--empty", "--pages", a, a, "1", "--", b, folder=w)
    yield "qpdf", "overlaid", lambda a, b, w: run("qpdf", a, "--overlay", a, "--to=1", "--", b, folder=w)
    for variant, options in _MUTOOL.items():
        yield "mutool", variant, lambda a, b, w, o=options: run("mutool", "clean", *o, a, b, folder=w)  # type: ignore[misc]
    yield "mutool", "poster", lambda a, b, w: run("mutool", "poster", "-x", "2", a, b, folder=w)
    for variant, options in _GHOSTSCRIPT.items():
        words = ("gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", *options)
        yield "gs", variant, lambda a, b, w, o=words: run(*o, f"-sOutputFile={b}", a, folder=w)  # type: ignore[misc]
    yield "pdftk", "turned", lambda a, b, w: run("pdftk", a, "cat", "1-endeast", "output", b, folder=w)
    yield "pdftk", "uncompressed", lambda a, b, w: run("pdftk", a, "output", b, "uncompress", folder=w)
    yield "pdftk", "need-appearances", lambda a, b, w: run("pdftk", a, "output", b, "need_appearances", folder=w)
    yield "pdfunite", "twice", lambda a, b, w: run("pdfunite", a, a, b, folder=w)
    yield "pdfseparate", "first", lambda a, b, w: run("pdfseparate", "-l", "1", a, b, folder=w)
    yield "pdftocairo", "redrawn", lambda a, b, w: run("pdftocairo", "-pdf", a, b, folder=w)
    yield "pdfium", "saved", _saved_by_pdfium
    yield "pdfium", "imported", _imported_by_pdfium
    yield "pikepdf", "object-streams", partial(_saved, object_stream_mode=ObjectStreamMode.generate)
    yield "pikepdf", "linearized", partial(_saved, linearize=True)
    yield "pikepdf", "decoded", partial(_saved, stream_decode_level=StreamDecodeLevel.specialized)
    yield "pikepdf", "with-old-revisions", _with_old_revisions


def rewritten(originals: list[Path], folder: Path, work: Path, installed: Callable[[str], bool]) -> Iterator[str]:
    """Each way with some of the originals; yields a line for each that is missing or failed."""
    chance = random.Random(4)
    for program, variant, way in ways():
        chosen = chance.sample(originals, min(EACH, len(originals)))
        if program not in ("pdfium", "pikepdf") and not installed(program):
            yield f"{program}: not installed"
            continue
        for original in chosen:
            target = folder / f"{program}--{variant}-of-{original.stem}.pdf"
            try:
                way(original, target, work)
            except (Failed, pikepdf.PdfError, pdfium.PdfiumError) as error:
                target.unlink(missing_ok=True)
                yield f"{program} {variant} of {original.stem}: {error}"


def _decrypted(source: Path, target: Path, work: Path) -> None:
    locked = work / "locked.pdf"
    run("qpdf", "--encrypt", "user", "owner", "256", "--", source, locked, folder=work)
    run("qpdf", "--password=user", "--decrypt", locked, target, folder=work)


def _saved(source: Path, target: Path, _: Path, **options: object) -> None:
    with pikepdf.open(source) as pdf:
        pdf.save(target, **options)  # type: ignore[arg-type]


def _saved_by_pdfium(source: Path, target: Path, _: Path) -> None:
    document = pdfium.PdfDocument(source)
    document.save(target)
    document.close()


def _imported_by_pdfium(source: Path, target: Path, _: Path) -> None:
    document, made = pdfium.PdfDocument(source), pdfium.PdfDocument.new()
    made.import_pages(document)
    made.save(target)
    document.close()


def _with_old_revisions(source: Path, target: Path, _: Path) -> None:
    """Two updates behind the file: what they replace is still in it."""
    from pyhanko.pdf_utils.generic import pdf_string
    from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter

    data = source.read_bytes()
    for language in ("fr", "en"):
        writer = IncrementalPdfFileWriter(io.BytesIO(data), strict=False)
        writer.root["/Lang"] = pdf_string(language)
        writer.update_root()
        made = io.BytesIO()
        writer.write(made)
        data = made.getvalue()
    target.write_bytes(data)
