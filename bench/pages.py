"""Pages a second from a PDF to its text, sandbox and pipe included, beside a bare loop over pypdfium2 in one process.

Usage: python -m bench.pages [--pages 500] [--rounds 5] [--small]"""

import asyncio
import random

import pypdfium2 as pdfium

from bench.measure import median
from bench.options import Options, tell
from deedbox.kernel.clock import stopwatch
from deedbox.search.extract import Extractor

AIM = 0.8
LINES = 48
PROSE = "the lessee lessor shall pay rent term notice of days after receipt and in writing under this agreement"


def make_pdf(pages: int) -> bytes:
    """A PDF with that many full pages of prose, no two alike."""
    luck, words = random.Random(pages), PROSE.split()
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(pages))
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    tree = b"<</Type/Pages/Kids[%b]/Count %d/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>>>" % (kids, pages)
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", tree, font]
    for number in range(pages):
        lines = (" ".join(luck.choices(words, k=14)).encode() for _ in range(LINES))
        content = b"BT /F 10 Tf 14 TL 50 740 Td %b ET" % b" ".join(b"(%b) '" % line for line in lines)
        objects.append(b"<</Type/Page/Parent 2 0 R/Contents %d 0 R>>" % (5 + 2 * number))
        objects.append(b"<</Length %d>>stream\n%b\nendstream" % (len(content), content))
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    size, table = len(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return bytes(out + b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, table))


def bare(data: bytes) -> int:
    """Characters by the plainest loop that reads every page."""
    document, characters = pdfium.PdfDocument(data), 0
    for page in document:
        text = page.get_textpage()
        characters += len(text.get_text_bounded())
        text.close()
        page.close()
    document.close()
    return characters


async def measure(pages: int, rounds: int) -> tuple[list[float], list[float]]:
    data, extractor = make_pdf(pages), Extractor(processes=1)
    await extractor.extract(make_pdf(1), "pdf")  # starts the sandbox, which a server does once
    bare(make_pdf(1))
    ours, theirs = [], []
    for _ in range(rounds):
        begun = stopwatch()
        found = await extractor.extract(data, "pdf")
        ours.append(pages / (stopwatch() - begun))
        begun = stopwatch()
        characters = bare(data)
        theirs.append(pages / (stopwatch() - begun))
        if len(found.page_starts or ()) != pages or len(found.text) < 0.9 * characters:
            raise SystemExit("the extraction lost text")
    await extractor.close()
    return ours, theirs


def main() -> None:
    options = Options(__doc__)
    options.size("pages", 500, small=5)
    options.size("rounds", 5, small=1)
    wish = options.wish()
    ours, theirs = asyncio.run(measure(wish.pages, wish.rounds))
    share = median([own / other for own, other in zip(ours, theirs, strict=True)])
    print(f"PDF to text, {wish.pages} full pages, median of {wish.rounds} rounds:")
    print(f"  deedbox, in its sandbox  {median(ours):6.0f} pages/s   ratio = {share:.2f}  (aim at least {AIM})")
    print(f"  bare pypdfium2           {median(theirs):6.0f} pages/s")
    tell(wish, rate=f"{median(ours):.0f}", share=f"{share:.2f} ×")


if __name__ == "__main__":
    main()
