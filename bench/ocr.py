"""A contract's page by OCR, sandbox and pipe included: as it was typeset, and turned by 1.2° with noise on it.

The page is set by typst, drawn at 200 dots an inch, and read. Errors are the letters to be changed, added or left out
until the text is the page's own, in a hundred of its letters; spaces and line ends count as one space.

Usage: python -m bench.ocr [--rounds 5] [--words 420] [--small]"""

import asyncio
import io
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import typst
from PIL import Image

from bench.measure import ROOT, median
from bench.options import Options, tell
from deedbox.kernel.clock import computing_seconds, stopwatch
from deedbox.kernel.sandbox import Stream
from deedbox.pdf.marks.fonts import folders
from deedbox.search.ocr import ScannedPage, install, model
from deedbox.search.ocr.page_reader import PageReader

DPI, TURN, NOISE, SPECKS = 200, 1.2, 18, 0.004
CLAUSES = (
    "This agreement is made on 14 March 2026 between the Client, registered under number 08154273, whose office is at"
    " 27 Quayside Road, and the Contractor, of Unit 4, Mill Street.",
    "1.1 The Contractor shall design, make and install the furniture described in Schedule 1, with reasonable skill and"
    " care, and shall complete the installation no later than 30 September 2026.",
    "1.2 The Contractor may not subcontract any part of the services without the prior written consent of the Client,"
    " which shall not be unreasonably withheld or delayed.",
    "2.1 The Client pays a fixed price of £48,750.00 plus value added tax at 20%, in three instalments: 30% on"
    " signature, 40% on delivery of the materials, and 30% within fourteen days of completion.",
    "2.2 An invoice that is not paid when due bears interest at 4.5% a year above the base rate. Invoices are sent to"
    " accounts\\@client.example and quote the order number HL-2026/0317.",
    "3.1 Materials remain the property of the Contractor until they are paid for in full. Risk passes to the Client on"
    " delivery, except for damage caused by the Contractor's own employees or agents.",
    "4.1 Nothing in this agreement limits liability for death or personal injury caused by negligence, or for fraud."
    " Subject to that, the liability of either party is limited to £100,000 in any period of twelve months.",
    "4.2 Neither party is liable for a delay caused by events beyond its reasonable control (fire, flood, strikes, acts"
    " of government), provided that it tells the other party within five working days.",
    "5.1 Either party may end this agreement at once by written notice if the other commits a material breach and does"
    " not remedy it within thirty days.",
)


def typeset(words: int) -> tuple[Image.Image, str]:
    """A page of about so many words as a picture, and its text."""
    said, clauses = 0, list[str]()
    while said < words:
        clauses.append(CLAUSES[len(clauses) % len(CLAUSES)])
        said += len(clauses[-1].split())
    head = '#set page("a4", margin: 2cm)\n#set text(font: "Noto Sans", size: 10pt)\n#set par(justify: true)\n'
    source = (head + "\n\n".join(clauses)).encode()
    fonts = typst.Fonts(include_system_fonts=False, font_paths=[str(path) for path in folders()])
    made = typst.Compiler(font_paths=fonts).compile(input={"main.typ": source}, format="pdf")  # type: ignore[type-var]
    page = pdfium.PdfDocument(made)[0]
    return page.render(scale=DPI / 72).to_pil().convert("RGB"), page.get_textpage().get_text_bounded()


def turned(page: Image.Image) -> Image.Image:
    chance = np.random.default_rng(1)
    pixels = np.asarray(page.rotate(TURN, Image.Resampling.BICUBIC, fillcolor="white")).astype(float)
    pixels += chance.normal(0, NOISE, pixels.shape[:2])[:, :, None]
    pixels[chance.random(pixels.shape[:2]) < SPECKS] = 0
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def errors(read: str, truth: str) -> float:
    """In a hundred letters."""
    read, truth = " ".join(read.split()), " ".join(truth.split())
    row = list(range(len(truth) + 1))
    for number, letter in enumerate(read, 1):
        before, row = row, [number]
        for place, other in enumerate(truth, 1):
            row.append(min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != other)))
    return 100 * row[-1] / len(truth)


class Reading:
    """One reader, and how it does on pictures."""

    def __init__(self, models: Path) -> None:
        self._reader = PageReader(models)

    async def read(self, page: Image.Image) -> tuple[str, float, float]:
        """The text, and the seconds it took: on the clock, and of computing."""
        file, found = io.BytesIO(), list[ScannedPage]()
        page.save(file, "PNG")

        async def pieces() -> AsyncIterator[bytes]:
            yield file.getvalue()

        async def keep(read: ScannedPage) -> None:
            found.append(read)

        begun, computed = stopwatch(), self._computed()
        await self._reader.read(Stream(len(file.getvalue()), pieces()), "png", [1], keep)
        return found[0].text, stopwatch() - begun, self._computed() - computed

    def _computed(self) -> float:
        return sum(computing_seconds(child.pid) for child in self._reader._sandbox._idle)

    def memory(self) -> int:
        """The most that the sandbox held, in MB."""
        [child] = self._reader._sandbox._idle
        status = Path(f"/proc/{child.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) // 1024

    async def close(self) -> None:
        await self._reader.close()


async def measure(models: Path, words: int, rounds: int) -> dict[str, str]:
    page, truth = typeset(words)
    reading, figures = Reading(models), dict[str, str]()
    await reading.read(page)  # starts the sandbox, which a server does once
    for name, picture in (("straight", page), ("turned", turned(page))):
        results = [await reading.read(picture) for _ in range(rounds)]
        wrong = errors(results[0][0], truth)
        seconds, computed = median([result[1] for result in results]), median([result[2] for result in results])
        print(f"  {name:9} errors {wrong:.2f} %   {seconds:.2f} s a page   {computed:.2f} s of computing")
        figures |= {f"{name}_errors": f"{wrong:.2f} %", f"{name}_seconds": f"{seconds:.1f}"}
        figures[f"{name}_computing"] = f"{computed:.1f}"
    figures["memory"] = f"{reading.memory()} MB"
    print(f"  memory of the sandbox at its most: {figures['memory']}")
    await reading.close()
    return figures


def main() -> None:
    options = Options(__doc__)
    options.size("rounds", 5, small=1)
    options.size("words", 420, small=40)
    wish = options.wish()
    kept = ROOT / ".cache" / "models"
    with tempfile.TemporaryDirectory() as folder:
        models = kept if model.is_present(kept) else Path(folder)
        if models != kept:
            install.install(models, lambda *_: None)
        print(f"OCR of a contract's page at {DPI} dpi, {wish.words} words, median of {wish.rounds}:")
        tell(wish, **asyncio.run(measure(models, wish.words, wish.rounds)))


if __name__ == "__main__":
    main()
