"""A document in Rich Text Format, as its characters."""

from striprtf.striprtf import rtf_to_text

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.text import Draft, clean
from deedbox.search.extract.word_xml import damaged
from deedbox.search.upload import Extraction


def read(data: bytes) -> Extraction:
    try:
        # The bytes themselves are ASCII, and name the characters beyond it.
        text: str = rtf_to_text(data.decode("cp1252", "replace"), errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise BadRequest(damaged("RTF document")) from error
    draft = Draft()
    for line in clean(text).strip().replace("\n|", "|").split("\n"):
        draft.add(_row(line) + "\n")
    return draft.finish()


def _row(line: str) -> str:
    """A row of a table, of which the library ends each cell with a bar, or the line as it is."""
    return " | ".join(map(str.strip, line[:-1].split("|"))) if line.endswith("|") else line
