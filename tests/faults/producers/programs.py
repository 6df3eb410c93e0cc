"""Programs of Debian that make PDFs, each with what it can do; one that is not installed is named and left out."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.faults.producers import sources

SECONDS = 180
Maker = Callable[[Path, Path], object]
MAKERS: list[tuple[tuple[str, ...], Maker]] = []


class Failed(Exception):
    """A program did not do what it was asked."""


def needs(*programs: str) -> Callable[[Maker], Maker]:
    """The function is given a folder for its PDFs and one to work in."""

    def register(maker: Maker) -> Maker:
        MAKERS.append((programs, maker))
        return maker

    return register


def run(*words: str | Path, folder: Path, given: bytes | None = None) -> bytes:
    """What the program writes."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, input=given, capture_output=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        raise Failed(f"{words[0]}: {(done.stderr or done.stdout)[-300:].decode(errors='replace')}")
    return done.stdout


def make_all(folder: Path, work: Path) -> Iterator[str]:
    """Makes what the programs here can make; yields a line for each that is missing or failed."""
    for programs, maker in MAKERS:
        missing = [name for name in programs if shutil.which(name) is None]
        if missing:
            yield f"{', '.join(missing)}: not installed"
            continue
        place = work / maker.__name__
        place.mkdir(parents=True)
        try:
            maker(folder, place)
        except (Failed, OSError, subprocess.TimeoutExpired) as error:
            yield f"{maker.__name__}: {error}"


def _put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _office(out: Path, work: Path, source: Path, variant: str, kind: str, **wishes: object) -> None:
    options = {
        name: {"type": "boolean" if isinstance(value, bool) else "long", "value": str(value).lower()}
        for name, value in wishes.items()
    }
    profile = f"-env:UserInstallation=file://{work}/profile"
    target = f"pdf:{kind}_pdf_Export:{json.dumps(options)}"
    run("soffice", profile, "--headless", "--convert-to", target, "--outdir", work, source, folder=work)
    (work / f"{source.stem}.pdf").rename(out / f"libreoffice-{kind}--{variant}.pdf")


@needs("soffice")
def libreoffice_writer(out: Path, work: Path) -> None:
    text = {"width": "21cm", "height": "29.7cm", "title": sources.TITLE, "text": sources.PARAGRAPH * 5, "more": ""}
    plain = _put(work / "plain.fodt", sources.FLAT_TEXT % text)
    scripts = "".join(f"<text:p>{words}</text:p>" for words in sources.SCRIPTS.values())
    wide = _put(work / "scripts.fodt", sources.FLAT_TEXT % {**text, "width": "40cm", "height": "15cm", "more": scripts})
    for variant, wish in {"1.7": 17, "1.6": 16, "1.5": 15, "pdfa-1": 1, "pdfa-2": 2, "pdfa-3": 3}.items():
        _office(out, work, plain, variant, "writer", SelectPdfVersion=wish)
    _office(out, work, wide, "scripts", "writer")
    _office(out, work, plain, "tagged", "writer", UseTaggedPDF=True, ExportBookmarks=True)
    _office(out, work, plain, "accessible", "writer", PDFUACompliance=True)
    _office(out, work, _put(work / "page.html", sources.html(body=sources.FORM_HTML)), "form", "writer_web")


@needs("soffice")
def libreoffice_others(out: Path, work: Path) -> None:
    rows = "\n".join(f"{number};Instalment;{number * 110}" for number in range(400))
    _office(out, work, _put(work / "rows.csv", rows), "rows", "calc")
    _office(out, work, _put(work / "rows.csv", rows), "pdfa-2", "calc", SelectPdfVersion=2)
    for kind in ("presentation", "drawing"):
        filled = sources.FLAT_SLIDES % {"kind": kind, "title": sources.TITLE}
        end, office = ("fodp", "impress") if kind == "presentation" else ("fodg", "draw")
        _office(out, work, _put(work / f"flat.{end}", filled), "flat", office)
        _office(out, work, work / f"flat.{end}", "notes", office, ExportNotesPages=True, UseTaggedPDF=True)


@needs("chromium")
def chromium(out: Path, work: Path) -> None:
    pages = {
        "plain": sources.html(), "scripts": sources.html(body=sources.scripts_html()),
        "form": sources.html(body=sources.FORM_HTML), "long": sources.html(body=sources.LONG_HTML),
        "svg": sources.html(body=sources.SVG), "landscape": sources.html("@page { size: A4 landscape }"),
        "small": sources.html("@page { size: 9cm 7cm; margin: 5mm }"),
        "blend": sources.html(body='<p style="mix-blend-mode: multiply; background: #fa0; filter: blur(1px)">Soft</p>'),
        "dark": sources.html("html { background: #222; color: #eee; -webkit-print-color-adjust: exact }"),
    }  # fmt: skip
    for variant, text in pages.items():
        page = _put(work / f"{variant}.html", text)
        target = out / f"chromium--{variant}.pdf"
        words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={work}/profile"]
        run(*words, "--no-pdf-header-footer", f"--print-to-pdf={target}", page.as_uri(), folder=work)


@needs("wkhtmltopdf")
def wkhtmltopdf(out: Path, work: Path) -> None:
    page = _put(work / "page.html", sources.html(body=sources.scripts_html() + sources.SVG))
    for variant, options in {
        "plain": [], "grey": ["--grayscale", "--lowquality"], "a6": ["--page-size", "A6", "--orientation", "Landscape"],
    }.items():  # fmt: skip
        words = ("env", "QT_QPA_PLATFORM=offscreen", "wkhtmltopdf", "-q", *options)
        run(*words, page, out / f"wkhtmltopdf--{variant}.pdf", folder=work)


_HYPERREF = r"\usepackage{hyperref}"
_LATEX = {
    "plain": sources.latex(), "links": sources.latex(_HYPERREF, r"\tableofcontents \url{https://mail.example/}"),
    "form": sources.latex(
        _HYPERREF,
        r"\begin{Form}\TextField[name=n,value=Ana]{Name} \CheckBox[name=c,checked]{Agreed}"
        r"\ChoiceMenu[name=m,default=a]{Way}{a,b}\end{Form}",
    ),
    "graphics": sources.latex(
        r"\usepackage{graphicx,color}",
        r"\rotatebox{30}{Turned} \scalebox{3}{Large} \colorbox{yellow}{Marked} \newpage \pagenumbering{roman} Last",
    ),
    "letter": sources.latex(options="letterpaper,landscape,twocolumn"),
}  # fmt: skip


def _tex(program: str, out: Path, work: Path, variants: dict[str, str], *options: str) -> None:
    for variant, text in variants.items():
        source = _put(work / f"{variant}.tex", text)
        for _ in range(2):
            run(program, "-interaction=nonstopmode", "-halt-on-error", *options, source.name, folder=work)
        (work / f"{variant}.pdf").rename(out / f"{program}--{variant}.pdf")


@needs("pdflatex")
def pdftex(out: Path, work: Path) -> None:
    settings = {
        f"1.{minor}-{level}": rf"\pdfminorversion={minor}\pdfobjcompresslevel={level}" + sources.latex()
        for minor, level in ((3, 0), (4, 0), (5, 2), (5, 3), (7, 2))
    }
    settings["2.0"] = r"\pdfmajorversion=2\pdfminorversion=0 " + sources.latex()
    settings["uncompressed"] = r"\pdfcompresslevel=0\pdfobjcompresslevel=0 " + sources.latex()
    settings["long"] = sources.latex(_HYPERREF, rf"\section{{More}} {sources.PARAGRAPH} \newpage " * 60)
    _tex("pdflatex", out, work, _LATEX | settings)


@needs("xelatex")
def xetex(out: Path, work: Path) -> None:
    _tex("xelatex", out, work, _LATEX)


@needs("lualatex")
def luatex(out: Path, work: Path) -> None:
    _tex("lualatex", out, work, {name: text for name, text in _LATEX.items() if name != "form"})


@needs("latex", "dvips", "dvipdfmx", "ps2pdf")
def dvi(out: Path, work: Path) -> None:
    _put(work / "a.tex", sources.latex())
    run("latex", "-interaction=nonstopmode", "a.tex", folder=work)
    run("dvipdfmx", "-o", out / "dvipdfmx--plain.pdf", "a.dvi", folder=work)
    run("dvipdfmx", "-V", "3", "-z", "0", "-o", out / "dvipdfmx--1.3.pdf", "a.dvi", folder=work)
    run("dvips", "-q", "-o", "a.ps", "a.dvi", folder=work)
    run("ps2pdf", "a.ps", out / "ghostscript--dvips.pdf", folder=work)


@needs("gs", "ps2pdf")
def ghostscript(out: Path, work: Path) -> None:
    source = _put(work / "a.ps", sources.POSTSCRIPT)
    for program in ("ps2pdf12", "ps2pdf13", "ps2pdf14"):
        run(program, source, out / f"ghostscript--{program}.pdf", folder=work)
    for variant, options in {
        "1.7": ["-dCompatibilityLevel=1.7"], "2.0": ["-dCompatibilityLevel=2.0"], "pdfa-1": ["-dPDFA=1"],
        "pdfa-2": ["-dPDFA=2"], "pdfa-3": ["-dPDFA=3"], "screen": ["-dPDFSETTINGS=/screen"],
        "prepress": ["-dPDFSETTINGS=/prepress"], "web": ["-dFastWebView=true"],
        "plain-streams": ["-dCompressPages=false", "-dCompressFonts=false"], "outlined": ["-dNoOutputFonts"],
        "cmyk": ["-sColorConversionStrategy=CMYK", "-sProcessColorModel=DeviceCMYK"],
    }.items():  # fmt: skip
        target = f"-sOutputFile={out}/ghostscript--{variant}.pdf"
        run("gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", *options, target, source, folder=work)
    for device in ("pdfimage8", "pdfimage24", "pdfimage32"):
        target = f"-sOutputFile={out}/ghostscript--{device}.pdf"
        run("gs", "-q", "-dBATCH", "-dNOPAUSE", f"-sDEVICE={device}", "-r60", target, source, folder=work)


@needs("groff", "ps2pdf")
def groff(out: Path, work: Path) -> None:
    for variant, words in {
        "man": ["-man"],
        "landscape": ["-man", "-P-l"],
        "letter": ["-man", "-dpaper=letter"],
    }.items():
        made = run("groff", "-Tps", *words, folder=work, given=sources.TROFF.encode())
        (work / "a.ps").write_bytes(made)
        run("ps2pdf", "a.ps", out / f"groff--{variant}-ps.pdf", folder=work)
    (out / "groff--man-pdf.pdf").write_bytes(run("groff", "-Tpdf", "-man", folder=work, given=sources.TROFF.encode()))


@needs("enscript", "ps2pdf")
def enscript(out: Path, work: Path) -> None:
    text = _put(work / "a.txt", (sources.PARAGRAPH + "\n") * 90)
    for variant, options in {"plain": [], "two-up": ["-2r"], "fancy": ["-G", "-C", "--color"]}.items():
        run("enscript", "-q", *options, "-p", "a.ps", text, folder=work)
        run("ps2pdf", "a.ps", out / f"enscript--{variant}.pdf", folder=work)


@needs("paps", "ps2pdf")
def paps(out: Path, work: Path) -> None:
    text = _put(work / "a.txt", "\n".join(sources.SCRIPTS.values()))
    (work / "a.ps").write_bytes(run("paps", text, folder=work))
    run("ps2pdf", "a.ps", out / "paps--scripts.pdf", folder=work)


@needs("rsvg-convert")
def rsvg(out: Path, work: Path) -> None:
    source = _put(work / "a.svg", sources.SVG)
    run("rsvg-convert", "-f", "pdf", "-o", out / "rsvg--plain.pdf", source, folder=work)
    run("rsvg-convert", "-f", "pdf", "-z", "2", "-o", out / "rsvg--zoomed.pdf", source, source, folder=work)


@needs("pango-view")
def pango(out: Path, work: Path) -> None:
    text = _put(work / "a.txt", "\n".join(sources.SCRIPTS.values()))
    for variant, options in {"scripts": [], "right-to-left": ["--rtl"], "turned": ["--rotate=30"]}.items():
        run("pango-view", "-q", *options, f"--output={out}/pango--{variant}.pdf", text, folder=work)


@needs("fop")
def fop(out: Path, work: Path) -> None:
    source = _put(work / "a.fo", sources.FO % (sources.TITLE, sources.PARAGRAPH))
    run("fop", "-q", "-fo", source, "-pdf", out / "fop--plain.pdf", folder=work)
    run("fop", "-q", "-a", "-fo", source, "-pdf", out / "fop--accessible.pdf", folder=work)


@needs("abiword")
def abiword(out: Path, work: Path) -> None:
    source = _put(work / "a.html", sources.html(body=sources.scripts_html()))
    run("abiword", "--to=pdf", f"--to-name={out}/abiword--plain.pdf", source, folder=work)


@needs("ssconvert")
def gnumeric(out: Path, work: Path) -> None:
    source = _put(work / "a.csv", "\n".join(f"{number},Instalment,{number * 110}" for number in range(200)))
    run("ssconvert", source, out / "gnumeric--rows.pdf", folder=work)


@needs("inkscape")
def inkscape(out: Path, work: Path) -> None:
    source = _put(work / "a.svg", sources.SVG)
    for variant, options in {"1.4": ["--export-pdf-version=1.4"], "paths": ["--export-text-to-path"]}.items():
        run("inkscape", *options, f"--export-filename={out}/inkscape--{variant}.pdf", source, folder=work)


@needs("dot")
def graphviz(out: Path, work: Path) -> None:
    run("dot", "-Tpdf", "-o", out / "graphviz--graph.pdf", folder=work, given=b"digraph { seller -> buyer -> boat }")
    run("dot", "-Tpdf", "-Grotate=90", "-o", out / "graphviz--rotated.pdf", folder=work, given=b"digraph { a -> b }")


@needs("gnuplot")
def gnuplot(out: Path, work: Path) -> None:
    script = f"set term pdfcairo; set output '{out}/gnuplot--plain.pdf'; plot sin(x); plot cos(x)"
    run("gnuplot", "-e", script, folder=work)


@needs("perl")
def perl(out: Path, work: Path) -> None:
    script = f"""use PDF::API2; my $pdf = PDF::API2->new(); for my $n (1..3) {{ my $page = $pdf->page();
    $page->size('A5'); my $text = $page->text(); $text->font($pdf->font('Helvetica'), 20);
    $text->position(60, 400); $text->text("Page $n"); $page->rotation(90 * $n); }}
    $pdf->save('{out}/pdf-api2--rotated.pdf');"""
    run("perl", "-e", script, folder=work)


@needs("ruby")
def prawn(out: Path, work: Path) -> None:
    script = f"""require 'prawn'; Prawn::Document.generate('{out}/prawn--plain.pdf', page_size: 'A4') do
    text '{sources.PARAGRAPH}'; transparent(0.4) {{ fill_circle [200, 300], 90 }}
    start_new_page layout: :landscape; text 'Last'; outline.define {{ page title: 'Last', destination: 2 }} end
    Prawn::Document.generate('{out}/prawn--compressed.pdf', compress: true, info: {{ Title: 'x' }}) {{ text 'One' }}"""
    run("ruby", "-e", script, folder=work)


@needs("php")
def php(out: Path, work: Path) -> None:
    script = f"""require 'fpdf/fpdf.php'; $p = new FPDF(); $p->AddPage(); $p->SetFont('Arial', '', 16);
    $p->Cell(40, 10, 'Agreement'); $p->AddPage('L'); $p->Output('F', '{out}/fpdf--plain.pdf');"""
    run("php", "-r", script, folder=work)
    script = f"""require 'tcpdf/tcpdf.php'; foreach ([false, 1, 3] as $a) {{
    $p = new TCPDF('P', 'mm', 'A4', true, 'UTF-8', false, $a); $p->AddPage();
    $p->writeHTML('<h1>Agreement</h1><p>{sources.PARAGRAPH}</p>'); if (!$a) {{ $p->TextField('name', 50, 6);
    $p->Bookmark('One'); $p->setAlpha(0.4); $p->Rect(20, 90, 60, 40, 'F'); }}
    $p->AddPage('L', 'A6'); $p->Output('{out}/tcpdf--' . ($a ? "pdfa-$a" : 'form') . '.pdf', 'F'); }}"""
    run("php", "-d", "error_reporting=0", "-r", script, folder=work)
