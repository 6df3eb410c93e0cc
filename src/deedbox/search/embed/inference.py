"""Runs a model. It works in a sandbox: `load` before the limits close on it, then `embed` and `split`."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from deedbox.search.embed.models import GRAPH, TOKENIZER, fingerprint
from deedbox.search.embed.turns import Read, WindowPart
from deedbox.search.embed.vectors import Vector, of_windows, unit
from deedbox.search.indexing.chunk import Span, token_spans
from deedbox.search.library.upload import Extraction


class LoadedModel:
    """A model in memory. One text is one run: the 8-bit scale of a run, and so the vector, depends on all that is in
    it. The cores are used by threads, each with a text of its own."""

    def __init__(self, graph: bytes, tokenizer: bytes, window: int, threads: int) -> None:
        self._tokenizer = Tokenizer.from_buffer(tokenizer)
        # Tokenizer files often carry limits of their training.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        mask = self._tokenizer.encode("a").special_tokens_mask
        ids = self._tokenizer.encode("a").ids
        self._before = ids[: mask.index(0)]
        self._after = ids[len(ids) - mask[::-1].index(0) :]
        self.room = window - len(self._before) - len(self._after)
        """Tokens of a text that the model reads at once."""
        self._session = _session(graph)
        self._input = self._session.get_inputs()[0].name
        self._threads = ThreadPoolExecutor(threads)
        # All of them start now, for a sandbox starts none once it is closed: each waits until the last is there.
        together = Barrier(threads)
        list(self._threads.map(lambda _: together.wait(), range(threads)))

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """A unit vector for each text, whole."""
        whole = self.read([WindowPart(text, 0, len(text) + 1) for text in texts])
        return [of_windows([np.frombuffer(row, "<f4") for row in rows]) for _, rows in whole]

    def read(self, parts: Sequence[WindowPart]) -> list[Read]:
        """The windows that are asked for, a unit vector for each; texts without any token have one too, of the
        special tokens alone."""
        windows = list(self._threads.map(self._windows, [text for text, _, _ in parts]))
        asked = [every[first : first + most] for every, (_, first, most) in zip(windows, parts, strict=True)]
        made = self._threads.map(self._run, [window for some in asked for window in some])
        return [
            (len(every), [next(made).astype("<f4").tobytes() for _ in some])
            for every, some in zip(windows, asked, strict=True)
        ]

    def length(self, text: str) -> int:
        """The tokens of a text, special ones not counted."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def spans(self, extraction: Extraction, size: int, overlap: int, prefix: str = "") -> list[Span]:
        """Where the chunks of a text begin and end; none has, with the prefix, more tokens than the model reads at
        once."""
        return token_spans(extraction, self._tokenizer, min(size, self.room - self.length(prefix)), overlap)

    def _windows(self, text: str) -> list[list[int]]:
        """The tokens of the text, in as many windows as it needs, of the same length."""
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        count = max(1, -(-len(ids) // self.room))
        edges = [len(ids) * number // count for number in range(count + 1)]
        return [ids[begin:end] for begin, end in pairwise(edges)]

    def _run(self, ids: list[int]) -> Vector:
        tokens = np.array([[*self._before, *ids, *self._after]], np.int64)
        found: Vector = self._session.run(None, {self._input: tokens})[0][0]
        return unit(found)


def _session(graph: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


_loaded: list[LoadedModel] = []


def load(folder: str, expected: str, window: int, threads: int, nice: int) -> None:
    """Loads the model; ValueError if its files are no longer those that were expected."""
    os.nice(nice)
    graph, tokenizer = (Path(folder, name).read_bytes() for name in (GRAPH, TOKENIZER))
    if fingerprint(graph, tokenizer) != expected:
        raise ValueError(f"the model in {folder} was changed; restart the server")
    _loaded[:] = [LoadedModel(graph, tokenizer, window, threads)]
    # What libraries load at their first use must be loaded before the sandbox closes.
    embed([WindowPart("The first run. It wakes every thread.", 0, 1)] * 2 * threads)
    split("The first run.", [], 16, 4, "")


def embed(parts: list[WindowPart]) -> list[Read]:
    """The windows that are asked for of each text."""
    return _loaded[0].read(parts)


def split(text: str, headings: list[int], size: int, overlap: int, prefix: str) -> list[Span]:
    """Where the chunks begin and end, given the offsets of the headings, and what will stand before each."""
    return _loaded[0].spans(Extraction(text, None, [(offset, "") for offset in headings]), size, overlap, prefix)
