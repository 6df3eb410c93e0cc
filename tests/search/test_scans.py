"""Scanned pages are read by OCR in index runs: each page once, found by its words, gone with its document."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from deedbox.kernel import jobs, limits
from deedbox.kernel.db import Database
from deedbox.kernel.sandbox import Stream
from deedbox.search.engine import INDEX_JOB
from deedbox.search.extract.kinds import KINDS
from deedbox.search.indexing import ingest
from deedbox.search.indexing.ingest import IndexOutcome, Ingest
from deedbox.search.indexing.recover import recover
from deedbox.search.library import library, store
from deedbox.search.library.upload import LibraryUpload
from deedbox.search.ocr.page_reader import Keep, PageReader
from deedbox.search.query import best_passages as query
from deedbox.search.query.best_passages import Passage, Question
from tests.conftest import HandClock
from tests.search.corpus import Corpus
from tests.search.extract.pdfs import lines, paged
from tests.search.pictures import HEIGHT, LEFT, STEP, TOP, WIDTH, file_of, picture, scan

pytestmark = pytest.mark.anyio

FONT = ImageFont.load_default(32)
RENT, NOTICE = "The tenant pays nine hundred pounds.", "Either party may give notice in writing."


class Counting(PageReader):
    """Knows which pages it was to read."""

    def __init__(self, models: Path) -> None:
        super().__init__(models)
        self.asked: list[int] = []

    async def read(self, data: Stream, of: str, numbers: Sequence[int], keep: Keep) -> None:
        self.asked += numbers
        await super().read(data, of, numbers, keep)


class Desk:
    """A corpus with files and index runs."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.db = corpus, corpus.db
        self.restart()

    def restart(self) -> None:
        corpus = self.corpus
        corpus.engine = corpus.opened()
        self.reader = corpus.engine.pages = Counting(corpus.folder / "models")
        self.texts = corpus.texts()
        handlers = {INDEX_JOB: Ingest(corpus.engine, self.texts).run}
        self.runner = jobs.Runner(corpus.db, corpus.clock, handlers, concurrency=1, worker=f"w{id(self.reader)}")

    async def add(self, data: bytes, kind: str) -> LibraryUpload:
        corpus, now = self.corpus, self.corpus.clock.now()
        async with corpus.blobs.receive(limits.UPLOAD_BYTES) as incoming:
            await incoming.write(data)
            received = await incoming.finish()
            async with self.texts.parsed(corpus.workspace, f"a.{kind}", KINDS[kind], received) as file:
                return await self.db.write(lambda tx: library.add(tx, corpus.workspace, file, now=now))

    async def plan(self) -> str:
        corpus = self.corpus
        return await self.db.write(lambda tx: ingest.plan(tx, corpus.engine, corpus.reader(), None))

    async def outcome(self, job_id: str) -> IndexOutcome | None:
        job = await self.db.read(lambda tx: jobs.find(tx, job_id))
        assert job is not None
        return ingest.step(job).outcome

    async def ask(self, text: str) -> Passage:
        question = Question(text, top_k=1, mode="keyword")
        return (await query.answer(self.corpus.engine, self.corpus.reader(), question))[0]

    async def pages(self) -> list[tuple[int, bool]]:
        """The pages that are kept, and whether any text was on each."""
        rows = await self.db.read(lambda tx: tx.all("select page, text from scanned_pages order by sha256, page"))
        return [(row[0], bool(row[1])) for row in rows]


@pytest.fixture
async def desk(db: Database, clock: HandClock, tmp_path: Path, ocr_dir: Path) -> AsyncIterator[Desk]:
    (tmp_path / "models").symlink_to(ocr_dir)
    corpus = Corpus(db, clock, tmp_path)
    await corpus.settle()
    made = Desk(corpus)
    yield made
    await made.corpus.engine.close()


async def test_pages_without_text_are_found_by_what_they_show(desk: Desk) -> None:
    pdf = await desk.add(scan("A typed page.", picture(RENT, NOTICE), picture()), "pdf")
    image = await desk.add(file_of(picture("Invoice 4711 for two desks")), "png")
    await desk.add(paged(lines("Nothing but typed: a garden.")), "pdf")
    assert (pdf.pages, image.text_length, image.pages) == (3, 0, 1)
    job_id = await desk.plan()
    await desk.runner.run_due()
    assert await desk.outcome(job_id) == IndexOutcome(processed=3, skipped=0, chunks=4, failed=[])

    rent, garden, invoice = [await desk.ask(text) for text in ("tenant", "garden", "invoice")]
    assert (rent.chunk.text, rent.chunk.page, rent.chunk.ocr) == (f"A typed page.\n{RENT}", 1, True)
    assert (garden.chunk.page, garden.chunk.ocr, garden.boxes) == (1, False, [])
    assert (invoice.upload.id, invoice.chunk.text, invoice.chunk.ocr) == (image.id, "Invoice 4711 for two desks", True)
    notice = await desk.ask("writing")
    [box] = notice.boxes
    assert box.page == 2
    assert LEFT / WIDTH < box.left < box.right < 1
    assert abs((box.top + box.bottom) / 2 - (TOP + STEP + 20) / HEIGHT) < 0.01

    whole = await desk.texts.text(pdf)
    assert whole.text == f"A typed page.\n{RENT}\n\n{NOTICE}\n"
    assert (whole.page_starts, whole.scanned) == ([0, 14, len(whole.text)], [2])
    assert (await desk.corpus.upload(pdf.id)).text_length == len(whole.text)
    await desk.db.write(lambda tx: store.drop_text(tx, pdf.workspace_id, pdf.sha256, pdf.media_type))
    assert await desk.texts.text(pdf) == whole  # what was read from pictures is put into it again
    assert sorted(desk.reader.asked) == [1, 2, 3]
    for upload in (pdf, image):
        await desk.corpus.delete(upload.id)
    assert await desk.pages() == []


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
async def test_a_scan_that_was_laid_in_turned_is_read_upright(desk: Desk, turn: int) -> None:
    page = picture(RENT, NOTICE).rotate(turn, expand=True)
    pdf = await desk.add(scan("", page), "pdf")
    await desk.plan()
    await desk.runner.run_due()
    assert (await desk.texts.text(pdf)).text == f"{RENT}\n\n{NOTICE}\n"
    [box] = (await desk.ask("party")).boxes
    # The box is drawn on the page as it is displayed, and the page then held upright.
    marked, (width, height) = Image.new("L", page.size), page.size
    corners = (box.left * width, box.top * height, box.right * width, box.bottom * height)
    ImageDraw.Draw(marked).rectangle(corners, 255)
    left, top, right, bottom = marked.rotate(-turn, expand=True).getbbox() or (0, 0, 0, 0)
    begin, end = (LEFT + FONT.getlength(text) for text in ("Either ", "Either party"))
    assert (abs(left - begin) < 20, abs(right - end) < 20) == (True, True), (left, right, begin, end)
    assert abs((top + bottom) / 2 - (TOP + STEP + 20)) < 10
    assert bottom - top < STEP / 2


async def test_a_killed_run_goes_on_after_the_pages_that_are_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.add(scan("", picture(RENT), picture(NOTICE), picture("The third page")), "pdf")
    job_id = await desk.plan()
    running = asyncio.create_task(desk.runner.run_due())
    while not await desk.pages():
        await asyncio.sleep(0.01)
    with monkeypatch.context() as patch:
        patch.setattr(store, "unclaim", lambda *_: None)  # a killed process tidies nothing up
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    await desk.corpus.engine.close()
    kept = [page for page, _ in await desk.pages()]
    assert kept[0] == 1
    desk.restart()
    await recover(desk.corpus.engine, alone=True)
    desk.corpus.clock.forward(limits.JOB_LEASE_SECONDS + 1)
    await desk.runner.run_due()
    assert await desk.outcome(job_id) == IndexOutcome(processed=1, skipped=0, chunks=1, failed=[])
    assert set(desk.reader.asked).isdisjoint(kept[:1])
    assert await desk.pages() == [(1, True), (2, True), (3, True)]
    assert (await desk.ask("tenant")).chunk.text == f"{RENT}\n{NOTICE}\nThe third page"
