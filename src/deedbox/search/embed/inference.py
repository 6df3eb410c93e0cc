"""Runs a model. It works in a sandbox: `load` before the limits close on it, then `embed` and `split`."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from deedbox.kernel.errors import DeedboxError
from deedbox.search.chunk import Span, token_spans
from deedbox.search.embed.models import GRAPH, TOKENIZER, fingerprint
from deedbox.search.upload import Extraction

Vector = NDArray[np.float32]


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
        """A unit vector for each text; one for texts without any token too, of the special tokens alone."""
        # The longest first: no thread is left alone with it at the end.
        order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
        made = dict(zip(order, self._threads.map(self._vector, [texts[number] for number in order]), strict=True))
        return [made[number] for number in range(len(texts))]

    def spans(self, extraction: Extraction, size: int, overlap: int) -> list[Span]:
        """Where the chunks of a text begin and end; none has more tokens than the model reads at once."""
        return token_spans(extraction, self._tokenizer, min(size, self.room), overlap)

    def _vector(self, text: str) -> Vector:
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        windows = max(1, -(-len(ids) // self.room))
        edges = [len(ids) * number // windows for number in range(windows + 1)]
        found = [self._run(ids[begin:end]) for begin, end in pairwise(edges)]
        # Opposite windows could cancel out to nothing; then the first one speaks.
        mean = np.mean(found, axis=0)
        return unit(mean if np.linalg.norm(mean) > 1e-6 else found[0])

    def _run(self, ids: list[int]) -> Vector:
        tokens = np.array([[*self._before, *ids, *self._after]], np.int64)
        found: Vector = self._session.run(None, {self._input: tokens})[0][0]
        return unit(found)


def unit(vector: Vector) -> Vector:
    """The vector at length 1; an error if it has none, so that no NaN goes on."""
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0:
        raise DeedboxError("The embedding model gave no vector for this text; install the model again or use another")
    return (vector / length).astype(np.float32)


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
    embed(["The first run.", "It wakes every thread."] * threads)
    split("The first run.", [], 16, 4)


def embed(texts: list[str]) -> bytes:
    """A row of float32, little-endian, for each text, one after the other."""
    return np.array(_loaded[0].vectors(texts), "<f4").tobytes()


def split(text: str, headings: list[int], size: int, overlap: int) -> list[Span]:
    """Where the chunks begin and end, given the offsets of the headings."""
    return _loaded[0].spans(Extraction(text, None, [(offset, "") for offset in headings]), size, overlap)
