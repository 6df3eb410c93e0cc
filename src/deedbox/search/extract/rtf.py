"""A document in Rich Text Format, as its characters, without those that it hides."""

import re

from striprtf.striprtf import destinations, remove_pict_groups, rtf_to_text

from deedbox.kernel.errors import BadRequest
from deedbox.search.extract.text import TextBuilder, clean
from deedbox.search.extract.word_xml import damage_error
from deedbox.search.library.upload import Extraction

_HIDING = re.compile(r"\\v(?![a-z0-9])|\\v[1-9]")
_PART = re.compile(
    r"\\(?P<word>[a-z]{1,32})(?P<number>-?\d{1,10})? ?|(?P<hex>\\'[0-9a-f]{2})|\\(?P<sign>[^a-z])"
    r"|(?P<brace>[{}])|[\r\n]+|(?P<letter>.)",
    re.IGNORECASE,
)
_LETTERS = frozenset(
    "u emdash endash emspace enspace qmspace bullet lquote rquote ldblquote rdblquote tab".split()  # noqa: SIM905
)


def read(data: bytes) -> Extraction:
    try:
        # The bytes themselves are ASCII, and name the characters beyond it.
        shown, hidden = _shown(data.decode("cp1252", "replace"))
        text: str = rtf_to_text(shown, errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise BadRequest(damage_error("RTF document")) from error
    draft = TextBuilder()
    draft.hide(hidden)
    for line in clean(text).strip().replace("\n|", "|").split("\n"):
        draft.add(_row(line) + "\n")
    return draft.finish()


def _shown(text: str) -> tuple[str, int]:
    """The document without its hidden characters, and how many they are."""
    if not _HIDING.search(text):
        return text, 0
    kept, count = list[str](), 0
    groups, hidden, aside, fallback, skipping = list[tuple[bool, bool, int]](), False, False, 1, 0
    text = remove_pict_groups(text)  # type: ignore[no-untyped-call]
    for part in _PART.finditer(text):
        word, number = part["word"], part["number"]
        if part["brace"] == "{":
            groups.append((hidden, aside, fallback))
        elif part["brace"]:
            hidden, aside, fallback = groups.pop() if groups else (False, False, 1)
        elif part["sign"] == "*" or word in destinations:
            aside = True
        elif word == "v":
            hidden = number is None or int(number) != 0
        elif word == "plain":
            hidden = False
        elif word == "uc":
            fallback = int(number or 1)
        is_letter = bool(part["hex"] or part["letter"] or (part["sign"] or "*") not in "*\r\n" or word in _LETTERS)
        if not is_letter:
            skipping = 0
        elif hidden and not aside:
            count += skipping == 0 or word == "u"
            # After \u come so many characters for programs that do not know it.
            skipping = fallback if word == "u" else max(0, skipping - 1)
            continue
        kept.append(part.group())
    return "".join(kept), count


def _row(line: str) -> str:
    """A row of a table, of which the library ends each cell with a bar, or the line as it is."""
    return " | ".join(map(str.strip, line[:-1].split("|"))) if line.endswith("|") else line
