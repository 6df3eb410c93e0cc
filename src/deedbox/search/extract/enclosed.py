"""Files within a file: of an archive, or attached to a message. Each is read as if it had been uploaded."""

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.kinds import kind_of
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.limits import ENCLOSED_DEPTH

DEEP = f"The files in this file enclose one another more than {ENCLOSED_DEPTH} deep"


def write(draft: TextBuilder, name: str, data: bytes, depth: int) -> None:
    """The name as a heading, then the text; the name alone for a file that cannot be read by itself."""
    from deedbox.search.extract import extract_nested_file  # it knows the readers, of which two come here

    if depth > ENCLOSED_DEPTH:
        raise BadRequest(DEEP)
    name = " ".join(clean(name).split())
    if draft.length:
        draft.add("\n\n")
    draft.head(name)
    draft.add(f"{name}\n\n")
    try:
        found = extract_nested_file(data, kind_of(name).name, depth)
    except BadRequest as refused:
        if refused.message == DEEP:
            raise
        return
    draft.include(found)
