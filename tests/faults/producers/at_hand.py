"""Producers that the test environment has itself: typst, which prints our marks, Pillow, and qpdf's own writer."""

import io
from collections.abc import Iterator

import typst
from PIL import Image

from tests.faults.producers import sources

_STANDARDS = ("1.4", "1.5", "1.6", "1.7", "2.0", "a-1b", "a-1a", "a-2b", "a-2u", "a-3b", "a-4", "ua-1")
_FORMULA = '#math.equation(alt: "an integral", block: true)[$integral x^2 dif x$]'
_BODIES = {
    "scripts": "\n\n".join(sources.SCRIPTS.values()),
    "long": f"#for n in range(90) [= Clause #n\n{sources.PARAGRAPH * 4}\n]",
    "sizes": "#for n in range(1, 6) { page(width: n * 4cm, height: 20cm / n, margin: 3mm, text(6pt, str(n))) }",
    "drawn": "#circle(fill: red.transparentize(50%)) #rotate(20deg, rect(fill: gradient.linear(red, blue)))",
}


def made() -> Iterator[tuple[str, bytes]]:
    """Names and files."""
    for standard in _STANDARDS:
        yield f"typst--{standard}", _typeset(f"{sources.PARAGRAPH} #pagebreak() {_FORMULA}", standard)
    for variant, body in _BODIES.items():
        yield f"typst--{variant}", _typeset(body, "1.7")
    for mode in ("RGB", "1", "CMYK", "P"):
        yield f"pillow--here-{mode.lower()}", _scanned(mode)


def _typeset(body: str, standard: str) -> bytes:
    head = f'#set document(title: "{sources.TITLE}", date: datetime(year: 2026, month: 1, day: 1))\n'
    text = f"{head}= {sources.TITLE}\n{body}"
    # The types name the standards one by one.
    return typst.compile(text.encode(), format="pdf", pdf_standards=standard)  # type: ignore[call-overload,no-any-return]


def _scanned(mode: str) -> bytes:
    pages = [Image.linear_gradient("L").resize((200 + 90 * number, 260)).convert(mode) for number in range(3)]
    target = io.BytesIO()
    pages[0].save(target, "PDF", save_all=True, append_images=pages[1:], resolution=72)
    return target.getvalue()
