"""Plain text: its characters and nothing else."""

from deedbox.search.extract.charset import decode
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.library.upload import Extraction


def read(data: bytes) -> Extraction:
    draft = TextBuilder()
    draft.add(clean(decode(data, "txt")))
    return draft.finish()
