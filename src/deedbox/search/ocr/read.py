"""Reads pictures of pages. It works in a sandbox: `load` before the limits close on it, then `read`."""

import hashlib
import io
import os
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import msgspec
import onnxruntime
from PIL import Image, ImageDraw

from deedbox.search.ocr import ScannedPage
from deedbox.search.ocr.detect import LineBox, Pixels, prepare, rows
from deedbox.search.ocr.model import DETECTION, RECOGNITION, SHA256
from deedbox.search.ocr.page_text import page_text
from deedbox.search.ocr.picture import DAMAGED, FORMATS, is_blank, open_pages
from deedbox.search.ocr.recognise import LineReading, cut_out, decode_line
from deedbox.search.ocr.turns import best_turn, legibility, longest, turned_back

_INPUT = "x"


class LoadedModels:
    """The two models in memory. A picture is searched for lines by all threads together, each line is read by one."""

    def __init__(self, detection: bytes, recognition: bytes, threads: int) -> None:
        self._detection = _session(detection, threads)
        self._recognition = _session(recognition, 1)
        letters = self._recognition.get_modelmeta().custom_metadata_map["character"].split("\n")
        # The first is no letter, the last one that is not in the list is the space.
        self._letters = ["", *letters, " "]
        self._threads = ThreadPoolExecutor(threads)
        # All of them start now, for a sandbox starts none once it is closed: each waits until the last is there.
        together = Barrier(threads)
        list(self._threads.map(lambda _: together.wait(), range(threads)))

    def page(self, number: int, picture: Image.Image) -> ScannedPage:
        """The text of the picture, and where its words stand."""
        if is_blank(picture):
            return ScannedPage(number, "", [])
        found = self._rows(picture)
        if not found:
            return ScannedPage(number, "", [])
        read = self._read(picture, [line for row in found for line in row])
        told = longest(read)
        turn = best_turn(
            legibility([(line, read[line]) for line in told]), lambda turn: self._legibility(picture.transpose(turn))
        )
        if turn is not None:
            picture = picture.transpose(turn)
            found = self._rows(picture)
            read = self._read(picture, [line for row in found for line in row])
        page = page_text(number, [[(line, read[line]) for line in row] for row in found], picture.size)
        return page if turn is None else turned_back(page, turn)

    def _legibility(self, picture: Image.Image) -> float:
        told = longest(line for row in self._rows(picture) for line in row)
        return legibility(list(self._read(picture, told).items()))

    def _rows(self, picture: Image.Image) -> list[list[LineBox]]:
        values, across, down = prepare(picture)
        likely: Pixels = self._detection.run(None, {_INPUT: values})[0][0, 0]
        return rows(likely, across, down)

    def _read(self, picture: Image.Image, lines: list[LineBox]) -> dict[LineBox, LineReading]:
        return dict(zip(lines, self._threads.map(lambda line: self._line(picture, line), lines), strict=True))

    def _line(self, picture: Image.Image, line: LineBox) -> LineReading:
        values, share = cut_out(picture, line)
        chances: Pixels = self._recognition.run(None, {_INPUT: values})[0][0]
        return decode_line(chances, self._letters, share)


def _session(graph: bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    # Threads that wait for one another by computing take half as much again.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


_loaded: list[LoadedModels] = []


def load(folder: str, threads: int, nice: int) -> None:
    """Loads the models; ValueError if they are not those that are known."""
    os.nice(nice)
    graphs = {name: Path(folder, name).read_bytes() for name in SHA256}
    for name, graph in graphs.items():
        if hashlib.sha256(graph).hexdigest() != SHA256[name]:
            raise ValueError(f"{name} in {folder} was changed; run deedbox model install ocr")
    _loaded[:] = [LoadedModels(graphs[DETECTION], graphs[RECOGNITION], threads)]
    # What libraries load at their first use must be loaded before the sandbox closes.
    sample = Image.new("RGB", (512, 160), "white")
    ImageDraw.Draw(sample).text((20, 50), "The first page that is read", "black", font_size=32)
    for kind, name in FORMATS.items():
        made = io.BytesIO()
        sample.save(made, name)
        if not any(b"first" in page for page in read(made.getvalue(), kind, [1])):
            raise ValueError(f"the models in {folder} do not read the first page")


def read(data: bytes, kind: str, numbers: list[int]) -> Generator[bytes, None, None]:
    """Yields each of these pages as soon as it is read; one that cannot be shown has no text."""
    with open_pages(data, kind) as pages:
        for number in numbers:
            try:
                picture = pages(number)
            except DAMAGED:
                found = ScannedPage(number, "", [])
            else:
                found = _loaded[0].page(number, picture)
            yield msgspec.msgpack.encode(found)
