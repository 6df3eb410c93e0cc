"""Stored PDFs made into one, in their order."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from deedbox.kernel.blobs import Blob, Blobs
from deedbox.kernel.blobs.stream import open_stream
from deedbox.kernel.sandbox import Stream
from deedbox.pdf.pdf_sandbox import PdfSandbox, Write


async def join(blobs: Blobs, workshop: PdfSandbox, pdfs: Sequence[Blob], write: Write) -> None:
    """Writes one PDF with the pages of all; BadRequest if they are too many."""
    sizes = [pdf.size_bytes for pdf in pdfs]
    async with aclosing(_one_after_another(blobs, pdfs)) as pieces:
        await workshop.join(Stream(sum(sizes), pieces), sizes, write)


async def _one_after_another(blobs: Blobs, pdfs: Sequence[Blob]) -> AsyncGenerator[bytes, None]:
    for pdf in pdfs:
        async with open_stream(blobs, pdf) as data:
            async for piece in data.pieces:
                yield piece
