"""Chunks without the model's tokenizer: tokens are estimated from the letters."""

import re

import numpy as np

from deedbox.search.indexing.chunk import Span, spans

# Up to four letters or digits of a word, any sign by itself, and each character of the scripts without spaces.
_TOKEN = re.compile(r"[⺀-\U0003ffff]|[^\W⺀-\U0003ffff]{1,4}|[^\w\s]")


def split(text: str, headings: list[int], size: int, overlap: int) -> list[Span]:
    """Where the chunks begin and end; the estimate is rather too high than too low."""
    starts = np.fromiter((match.start() for match in _TOKEN.finditer(text)), np.int64)
    return spans(text, starts, [(offset, "") for offset in headings], size, overlap)
