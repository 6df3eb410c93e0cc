"""Programs of Debian that write documents for search to read; one that is not installed is named and left out."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.faults.producers import lease
from tests.faults.producers.programs import Failed, Maker, run

CHROMIUM = ("chromium", "chromium-headless-shell")
"""Names of the same program."""


def make_all(folder: Path, work: Path) -> Iterator[str]:
    """Makes what the programs here can make; yields a line for each that is missing or failed."""
    for programs, maker in MAKERS:
        if not any(shutil.which(name) for name in programs):
            yield f"{' or '.join(programs)}: not installed"
            continue
        place = work / maker.__name__
        place.mkdir(parents=True)
        try:
            maker(folder, place)
        except (Failed, OSError) as error:
            yield f"{maker.__name__}: {error}"


def _put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def pandoc(out: Path, work: Path) -> None:
    plain = _put(work / "lease.md", lease.MARKDOWN)
    for kind in ("docx", "odt", "rtf", "epub", "html"):
        run("pandoc", "--standalone", plain, "-o", out / f"pandoc--lease.{kind}", folder=work)
    for kind in ("docx", "odt", "epub"):
        source = _put(work / "share.md", lease.FRACTION)
        run("pandoc", "--mathml", source, "-o", out / f"pandoc--fraction.{kind}", folder=work)
    run("pandoc", _put(work / "note.md", lease.COMMENT), "-o", out / "pandoc--comment.docx", folder=work)
    run("pandoc", _put(work / "slides.md", lease.SLIDES), "-o", out / "pandoc--slides.pptx", folder=work)


def libreoffice(out: Path, work: Path) -> None:
    _put(work / "lists.html", lease.HTML_LISTS)
    _put(work / "framed.html", lease.HTML_FRAMED)
    _put(work / "rows.csv", lease.ROWS)
    run("pandoc", _put(work / "lease.md", lease.MARKDOWN), "-o", work / "lease.docx", folder=work)
    for name in ("lists.html", "framed.html"):
        _convert(out, work / name, "docx", "--infilter=HTML (StarWriter)", "docx:MS Word 2007 XML")
        _convert(out, out / f"libreoffice--{Path(name).stem}.docx", "pdf")
    for kind in ("odt", "rtf"):
        _convert(out, work / "lists.html", kind, "--infilter=HTML (StarWriter)")
        _convert(out, work / "lease.docx", kind)
    for kind in ("xlsx", "ods"):
        _convert(out, work / "rows.csv", kind)


def _convert(out: Path, source: Path, kind: str, option: str = "", target: str = "") -> None:
    stem = source.stem.removeprefix("libreoffice--")
    work = out / ".libreoffice"
    run(
        "soffice", f"-env:UserInstallation=file://{work}/profile", "--headless", *filter(None, [option]),
        "--convert-to", target or kind, "--outdir", work, source, folder=out,
    )  # fmt: skip
    (work / f"{source.stem}.{kind}").rename(out / f"libreoffice--{stem}.{kind}")


def chromium(out: Path, work: Path) -> None:
    pages = {
        "table": lease.HTML_TABLE, "framed": lease.HTML_FRAMED, "parties": lease.HTML_PARTIES,
        "spans": lease.HTML_SPANS, "arabic": lease.HTML_ARABIC, "statement": lease.HTML_STATEMENT,
        "lists": lease.HTML_LISTS, "headings": lease.HTML_HEADINGS, "hyphens": lease.HTML_HYPHENS,
    }  # fmt: skip
    program = next(name for name in CHROMIUM if shutil.which(name))
    for name, text in pages.items():
        page = _put(work / f"{name}.html", text)
        run(
            program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={work}/profile",
            "--no-pdf-header-footer", f"--print-to-pdf={out}/chromium--{name}.pdf", page, folder=work,
        )  # fmt: skip


MAKERS: list[tuple[tuple[str, ...], Maker]] = [
    (("pandoc",), pandoc),
    (("soffice",), libreoffice),
    (CHROMIUM, chromium),
]
