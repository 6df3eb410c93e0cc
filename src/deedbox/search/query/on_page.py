"""Where a passage stands on its page: the lines of the page that it is made of."""

from collections.abc import Sequence

from deedbox.pdf.render.lines import TextLine

_SHORT = 4
"""Letters. A line of fewer says too little to be known by them: it is of the passage if both its neighbours are."""
_PART = 8
"""Letters of a line that must be of the passage where it begins or ends within the line."""


def lines_of(passage: str, lines: Sequence[TextLine]) -> list[TextLine]:
    """The lines of a page that hold the passage, as far as their letters tell.

    Its text was read by other means than the lines: spaces, hyphens and the order of columns may differ."""
    said = _letters(passage)
    known = [_holds(said, _letters(line.text)) for line in lines]
    return [line for number, line in enumerate(lines) if _is_of(known, number) and line.right > line.left]


def _is_of(known: Sequence[bool | None], number: int) -> bool:
    told = known[number]
    if told is not None:
        return told
    around = [known[each] for each in (number - 1, number + 1) if 0 <= each < len(known)]
    return bool(around) and all(around)


def _holds(said: str, line: str) -> bool | None:
    """Whether the line is of the passage; None where it is too short to tell."""
    if len(line) < _SHORT:
        return None
    if line in said:
        return True
    # The passage may begin or end within the line.
    least = min(_PART, len(said))
    return any(said.startswith(line[at:]) for at in range(1, len(line) - least + 1)) or any(
        said.endswith(line[:at]) for at in range(least, len(line))
    )


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
