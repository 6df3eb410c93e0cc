"""What the fonts of this installation cannot print is refused where it is entered, never when it is to be sealed."""

from deedbox.kernel.errors import BadRequest
from deedbox.pdf import glyphs


def check(what: str, text: str) -> None:
    """Raises BadRequest, which names the characters, if the text would come out with boxes in it."""
    if missing := glyphs.unprintable(text):
        raise BadRequest(f"{what} cannot be printed: there is no font here for {glyphs.described(missing)}")
