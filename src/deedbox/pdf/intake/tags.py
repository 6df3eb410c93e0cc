"""Text tags: `{{signature:Buyer}}`, `{{text:Buyer:City;required=false;w=120}}`, found with their place on the page."""

import ctypes
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake.free_space import FreeSpace, Wanted
from deedbox.pdf.marks.field_text import CAPITALS, USUAL, FieldSpace, least_height_by_hand
from deedbox.pdf.marks.marks import KINDS, Kind, PageRect, Tag
from deedbox.pdf.marks.radio_options import required_size
from deedbox.pdf.render.boxes import Box, PageView

_SETTING_LETTER = r"(?:[^{}]|\{[^{}]{1,40}\})"
"""Of a setting: a letter, or what a pattern has in braces, as in `[A-Z]{2}`."""
TAG = re.compile(
    rf"\{{\{{\s*([a-z_]+)\s*:([^{{}};]{{1,{limits.TEXT_TAG_CHARS}}}(?:;{_SETTING_LETTER}{{0,{limits.TEXT_TAG_CHARS}}})?)\}}\}}"
)
_SLACK, _SLACK_AT_LINE_END = 0.12, 0.5
"""Parts of the size by which letters of a tag may lie beyond its first and last: less than half a letter, but where
the tag goes on in another line and nothing is beside it."""
BY_HAND: tuple[Kind, ...] = ("signature", "initials")
_SPARE = 1.02
"""What the rectangle of options is larger than they need: places are rounded on their way."""
_SPACES = 8
"""After so many spaces, nothing follows a tag."""
_WORD_SPACE = 0.25
"""Of the size; words are further from each other."""
SIZES: dict[str, tuple[float, float]] = {
    "signature": (180, 48), "initials": (60, 36), "date_signed": (90, 18), "date": (90, 18), "name": (150, 18),
    "email": (170, 18), "text": (150, 18), "number": (80, 18), "checkbox": (14, 14), "select": (120, 18),
    "radio": (14, 14), "attachment": (150, 18),
}  # fmt: skip
"""Width and height of a field in points, where its tag does not say, on a line of letters of the usual size."""


_SETTINGS = ("required", "w", "h", "options", "read_only", "group", "max_length", "pattern")


class _Asked(NamedTuple):
    kind: Kind
    role: str
    label: str
    required: bool
    options: tuple[str, ...]
    w: float | None
    h: float | None
    read_only: bool
    group: str | None
    max_length: int | None
    pattern: str | None


class TagLine(NamedTuple):
    """One line of a tag in user space: where its first and last letters begin, how it runs, and how large they are.

    The slack says how far beyond them letters are still the tag's."""

    first: tuple[float, float]
    last: tuple[float, float]
    direction: tuple[float, float]
    size: float
    slack: tuple[float, float]

    def has(self, origin: tuple[float, float], direction: tuple[float, float], size: float) -> bool:
        """Whether a letter of this size that begins there and runs so is one of the line's."""
        along, up = self.direction
        x, y = origin[0] - self.first[0], origin[1] - self.first[1]
        length = (self.last[0] - self.first[0]) * along + (self.last[1] - self.first[1]) * up
        return (
            direction[0] * along + direction[1] * up > 0.98
            and 0.5 * self.size < size < 2 * self.size
            and abs(y * along - x * up) < 0.35 * self.size
            and -self.slack[0] <= x * along + y * up <= length + self.slack[1]
        )


class FoundTag(NamedTuple):
    """A tag, and where its own text lies."""

    tag: Tag
    lines: tuple[TagLine, ...]


def find(document: pdfium.PdfDocument, views: list[PageView]) -> tuple[FoundTag, ...]:
    """The tags in reading order; BadRequest if one asks for something unknown.

    A very long document is looked through at its beginning and its end only.
    """
    found: list[FoundTag] = []
    each_end = limits.TEXT_TAG_PAGES // 2
    for number, view in enumerate(views, 1):
        if number <= each_end or number > len(views) - each_end:
            found += _on_page(document, number, view)
        if len(found) > limits.TEXT_TAGS:
            raise BadRequest(f"This PDF has more than {limits.TEXT_TAGS:,} text tags")
    return tuple(found)


def read(text: str) -> _Asked | None:
    """What a tag asks for; None if its first word is no kind of field, so that it is no tag at all."""
    match = TAG.fullmatch(text)
    kind = next((kind for kind in KINDS if match and kind == match[1]), None)
    if match is None or kind is None:
        return None
    head, *settings = (part.strip() for part in match[2].split(";"))
    role, _, label = (part.strip() for part in head.partition(":"))
    given = dict(_setting(text, setting) for setting in settings if setting)
    if not role or max(map(len, (role, label, given.get("group", "")))) > shared_limits.FIELD_LABEL_CHARS:
        raise BadRequest(
            f"The text tag {text} must name a role, and names have at most {shared_limits.FIELD_LABEL_CHARS} letters"
        )
    options = tuple(option.strip() for option in given.get("options", "").split("|") if option.strip())
    if len(options) > shared_limits.FIELD_OPTIONS or (kind == "select" and not options):
        raise BadRequest(
            f"The text tag {text}: a select needs at most {shared_limits.FIELD_OPTIONS} options, as in options=Yes|No"
        )
    if options and kind not in ("select", "radio"):
        raise BadRequest(f"The text tag {text}: only a select and a radio have options")
    return _Asked(
        # A date without a label beside a signature is the day of signing; any other date is asked for.
        kind="date_signed" if kind == "date" and not label else kind,
        role=role,
        label=label,
        required=_truth(text, "required", given.get("required", "true")),
        options=options,
        w=_points(text, given.get("w")),
        h=_points(text, given.get("h")),
        read_only=_truth(text, "read_only", given.get("read_only", "false")),
        group=given.get("group") or None,
        max_length=_count(text, given.get("max_length")),
        pattern=given.get("pattern") or None,
    )


def _setting(text: str, setting: str) -> tuple[str, str]:
    name, sign, value = (part.strip() for part in setting.partition("="))
    if not sign or name not in _SETTINGS:
        known = f"{', '.join(_SETTINGS[:-1])} and {_SETTINGS[-1]}"
        raise BadRequest(f"The text tag {text} has an unknown setting {setting!r}: {known} are known")
    return name, value


def _truth(text: str, name: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise BadRequest(f"The text tag {text}: {name} is true or false")
    return value == "true"


def _count(text: str, value: str | None) -> int | None:
    if value is None:
        return None
    if not re.fullmatch(r"[1-9]\d{0,5}", value) or int(value) > shared_limits.FIELD_VALUE_CHARS:
        raise BadRequest(f"The text tag {text}: max_length is a number from 1 to {shared_limits.FIELD_VALUE_CHARS}")
    return int(value)


def _points(text: str, value: str | None) -> float | None:
    if value is None:
        return None
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", value) or float(value) < limits.PAGE_POINTS_MIN:
        raise BadRequest(f"The text tag {text}: w and h are points, from {limits.PAGE_POINTS_MIN} to 9999")
    return float(value)


def _on_page(document: pdfium.PdfDocument, number: int, view: PageView) -> Iterator[FoundTag]:
    page = document[number - 1]
    shown = page.get_textpage()
    try:
        if "{{" not in shown.get_text_range():
            return
        space: FreeSpace | None = None
        for one in _tags(_letters(shown)):
            asked = read(one.text)
            if asked is not None and one.letters:
                space = space or FreeSpace.of(page, view)
                yield FoundTag(_tag(one, asked, number, view, space), _lines(one.letters))
    finally:
        shown.close()
        page.close()


class Letter(NamedTuple):
    """A letter as PDFium finds it on a page, in user space."""

    text: str
    origin: tuple[float, float]
    middle: tuple[float, float]
    length: float
    """Of what is to be seen of it, along its line."""
    direction: tuple[float, float]
    size: float
    box: Box

    @property
    def start(self) -> float:
        """Where on its line it begins to be seen."""
        return self.middle[0] * self.direction[0] + self.middle[1] * self.direction[1] - self.length / 2

    @property
    def end(self) -> float:
        return self.start + self.length


def outside_of_tags(page: pdfium.PdfPage) -> list[Letter]:
    """The letters of a page that belong to no tag, without spaces."""
    shown = page.get_textpage()
    try:
        letters = _letters(shown)
        tagged = {id(letter) for one in _tags(letters) for letter in one.letters}
        return [one for one in letters if one is not None and one.text != " " and id(one) not in tagged]
    finally:
        shown.close()


class _Written(NamedTuple):
    """The text of a tag, the letters that draw it, and how far it is from its beginning to what follows on its line."""

    text: str
    letters: list[Letter]
    room: float

    @property
    def length(self) -> float:
        """Of its first line."""
        line = [one for one in self.letters if _on_one_line(self.letters[0], one)]
        return max(one.end for one in line) - self.letters[0].start


def _tags(letters: list[Letter | None]) -> Iterator[_Written]:
    text = "".join(" " if letter is None else letter.text for letter in letters)
    for match in TAG.finditer(text):
        clean = " ".join(match[0].split())
        if read(clean) is not None:
            own = [one for one in letters[match.start() : match.end()] if one is not None and one.text != " "]
            after = next((one for one in letters[match.end() : match.end() + _SPACES] if one is not None), None)
            yield _Written(clean, own, _room(own, after))


def _room(own: list[Letter], after: Letter | None) -> float:
    if not own or after is None or not _on_one_line(own[-1], after) or after.start < own[-1].start:
        return math.inf
    return after.start - own[0].start - _WORD_SPACE * own[0].size


def _letters(shown: Any) -> list[Letter | None]:
    """In PDFium's order; None for a space, but not for one that it sees between letters that are only set wide."""
    letters = [_letter(shown, index) for index in range(shown.count_chars())]
    return [
        letter
        for index, letter in enumerate(letters)
        if letter is not None or not raw.FPDFText_IsGenerated(shown, index) or not _is_narrow(letters, index)
    ]


def _is_narrow(letters: list[Letter | None], index: int) -> bool:
    before, after = letters[index - 1] if index else None, letters[index + 1] if index + 1 < len(letters) else None
    if before is None or after is None or not _on_one_line(before, after):
        return False
    return after.start - before.end < _WORD_SPACE * before.size


def _letter(shown: Any, index: int) -> Letter | None:
    code = raw.FPDFText_GetUnicode(shown, index)
    # A tag that runs over the end of a line has a line end in it, or nothing but the mark of a parted word.
    if code in (0, 2, 9, 10, 13, 32) or code > 0x10FFFF:
        return None
    left, right, bottom, top, x, y = (ctypes.c_double() for _ in range(6))
    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetCharBox(shown, index, left, right, bottom, top)
    raw.FPDFText_GetCharOrigin(shown, index, x, y)
    raw.FPDFText_GetMatrix(shown, index, matrix)
    length = math.hypot(matrix.a, matrix.b) or 1.0
    direction = matrix.a / length, matrix.b / length
    return Letter(
        text=chr(code),
        origin=(x.value, y.value),
        middle=((left.value + right.value) / 2, (bottom.value + top.value) / 2),
        length=abs((right.value - left.value) * direction[0]) + abs((top.value - bottom.value) * direction[1]),
        direction=direction,
        size=raw.FPDFText_GetFontSize(shown, index) * math.hypot(matrix.c, matrix.d),
        box=(left.value, bottom.value, right.value, top.value),
    )


def _lines(letters: list[Letter]) -> tuple[TagLine, ...]:
    """The lines on which these letters stand, in their order."""
    lines: list[list[Letter]] = []
    for letter in letters:
        if lines and _on_one_line(lines[-1][0], letter):
            lines[-1].append(letter)
        else:
            lines.append([letter])
    ends = len(lines) - 1
    return tuple(
        _line(line, (_SLACK if at == 0 else _SLACK_AT_LINE_END, _SLACK if at == ends else _SLACK_AT_LINE_END))
        for at, line in enumerate(lines)
    )


def _on_one_line(one: Letter, other: Letter) -> bool:
    along, up = one.direction
    x, y = other.origin[0] - one.origin[0], other.origin[1] - one.origin[1]
    parallel = other.direction[0] * along + other.direction[1] * up > 0.98
    return parallel and abs(y * along - x * up) < 0.35 * max(one.size, other.size)


def _line(letters: list[Letter], slack: tuple[float, float]) -> TagLine:
    along, up = letters[0].direction
    x, y = letters[0].origin
    size = max(letter.size for letter in letters)
    places = [(one.origin[0] - x) * along + (one.origin[1] - y) * up for one in letters]
    first, last = min(places), max(places)
    return TagLine(
        first=(x + first * along, y + first * up),
        last=(x + last * along, y + last * up),
        direction=(along, up),
        size=size,
        slack=(slack[0] * size, slack[1] * size),
    )


def _tag(written: _Written, asked: _Asked, number: int, view: PageView, space: FreeSpace) -> Tag:
    line = _lines(written.letters)[0]
    size = line.size if shared_limits.FONT_SIZE_MIN <= line.size <= shared_limits.FONT_SIZE_MAX else USUAL
    left, top, right, bottom = _box(written, line, asked, size, view, space)
    space.take((left, top, right, bottom))
    w, h = (right - left) / view.width, (bottom - top) / view.height
    # It stands on the line of its tag, and stays on the page.
    x, y = min(max(left / view.width, 0.0), 1 - w), min(max(top / view.height, 0.0), 1 - h)
    return Tag(
        text=written.text,
        kind=asked.kind,
        role=asked.role,
        label=asked.label,
        required=asked.required,
        options=asked.options,
        place=PageRect(number, x, y, w, h),
        font_size=round(size, 2),
        read_only=asked.read_only,
        group=asked.group,
        max_length=asked.max_length,
        pattern=asked.pattern,
    )


def _box(written: _Written, line: TagLine, asked: _Asked, size: float, view: PageView, space: FreeSpace) -> Box:
    """The field of a tag on the displayed page, in points: left, top, right, bottom."""
    by_hand = asked.kind in BY_HAND
    usual_w, usual_h = _usual(asked, size)
    # Without `w`, a field ends where the next text or rule begins.
    wide = min(asked.w or max(min(usual_w, written.room), size), view.width)
    high = min(asked.h or usual_h, view.height)
    x, _, _, y = view.fractions((*line.first, *line.first))
    left, baseline = x * view.width, y * view.height
    least_w = wide if asked.w else min(wide, max(written.length, size))
    own = [_shown(letter.box, view) for letter in written.letters]
    if by_hand:
        least_h = high if asked.h else min(high, least_height_by_hand(asked.kind))
        return space.grown(left, baseline, size, own, Wanted(wide, high, least_w, least_h))
    room = FieldSpace(max(space.width(left, baseline, size, own, wide), least_w), high, size)
    top = baseline - _above(asked.kind, room)
    return left, top, left + room.w, top + room.h


def _usual(asked: _Asked, size: float) -> tuple[float, float]:
    """Width and height in points, on a line of letters of this size."""
    if asked.kind == "radio" and asked.options:
        # Beside each other on the line of the tag.
        w, h = required_size(asked.options, size, "beside")
        return w * _SPARE, h * _SPARE
    w, h = SIZES[asked.kind]
    return (w, h) if asked.kind in BY_HAND else (w * size / USUAL, h * size / USUAL)


def _shown(box: Box, view: PageView) -> Box:
    left, top, right, bottom = view.fractions(box)
    return left * view.width, top * view.height, right * view.width, bottom * view.height


def _above(kind: Kind, room: FieldSpace) -> float:
    """How much of a field lies above the line that it stands on."""
    if kind in ("checkbox", "radio"):
        return (room.h + CAPITALS * (room.size or USUAL)) / 2
    return room.baseline
