"""Takes letters out of content streams; a move of the pen takes their place, so that all others stay where they are."""

import copy
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pikepdf
from pikepdf import Array, ContentStreamInstruction, Dictionary, Name, Operator

from deedbox.pdf import limits
from deedbox.pdf.intake import text_font
from deedbox.pdf.intake.tags import TagLine
from deedbox.pdf.intake.text_font import TextFont
from deedbox.pdf.render import boxes
from deedbox.pdf.render.boxes import Matrix

_ONE: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_CLIPS = 4
"""From this mode of rendering on, letters cut out what is drawn after them."""
SPOKEN = ("/ActualText", "/Alt", "/E")
"""What stands for the text where it is read aloud or copied."""
_BAND = 12.0
"""Points, about a line of text."""
_Instructions: TypeAlias = list[Any]


def erase(pdf: pikepdf.Pdf, lines: Mapping[int, Sequence[TagLine]]) -> bool:
    """Takes the letters of these lines, by the number of their page, out of what the pages draw, and what is read in
    place of tags out of these pages; False if there was nothing to take."""
    changed = False
    for number, on_page in lines.items():
        page = pdf.pages[number - 1]
        rewrite = _Rewrite(pdf, _Lines(on_page), boxes.inherit(page.obj, "/Resources"), _State())
        rewrite.run(pikepdf.parse_content_stream(page))
        if rewrite.changed:
            page.obj["/Contents"] = pdf.make_stream(pikepdf.unparse_content_stream(rewrite.made))
            page.obj["/Resources"] = rewrite.settled()
            changed = True
    return changed


class _Lines:
    """The lines of a page, by bands across it, so that each letter is compared with few of them."""

    def __init__(self, lines: Sequence[TagLine]) -> None:
        self._bands: dict[int, list[tuple[float, float, TagLine]]] = defaultdict(list)
        for line in lines:
            reach = line.size + max(line.slack)
            (left, right), (low, high) = (sorted(ends) for ends in zip(line.first, line.last, strict=True))
            for band in range(int((low - reach) // _BAND), int((high + reach) // _BAND) + 1):
                self._bands[band].append((left - reach, right + reach, line))

    def near(self, point: tuple[float, float]) -> list[TagLine]:
        x, y = point
        return [line for left, right, line in self._bands.get(int(y // _BAND), ()) if left <= x <= right]


@dataclass
class _State:
    """As much of the graphics state as moves text."""

    space: Matrix = _ONE
    font: TextFont | None = None
    size: float = 0.0
    letter_space: float = 0.0
    word_space: float = 0.0
    stretch: float = 1.0
    leading: float = 0.0
    rise: float = 0.0
    mode: int = 0


class _Rewrite:
    """One content stream on its way through; what it draws through forms is followed into them."""

    def __init__(self, pdf: pikepdf.Pdf, lines: _Lines, resources: Any, state: _State, depth: int = 0) -> None:
        self._pdf, self._lines, self._depth = pdf, lines, depth
        self.resources = resources if isinstance(resources, Dictionary) else Dictionary()
        self._state, self._saved = state, list[_State]()
        self._text, self._line = _ONE, _ONE
        self._fonts: dict[str, TextFont | None] = {}
        self._spans: list[int] = []
        self._drawn, self._replaced = set[str](), set[str]()
        self.made: _Instructions = []
        self.changed = False

    def run(self, instructions: Iterable[Any]) -> None:
        for instruction in instructions:
            name = str(instruction.operator)
            act = _ACTS.get(name)
            before = len(self.made)
            self.made.append(instruction)
            if act is not None:
                try:
                    act(self, list(instruction.operands))
                except (TypeError, ValueError, IndexError, AttributeError, KeyError):
                    del self.made[before:]  # what has the wrong operands, viewers pass over
                    self.made.append(instruction)

    # The graphics state.

    def save(self, _: list[Any]) -> None:
        self._saved.append(copy.copy(self._state))

    def restore(self, _: list[Any]) -> None:
        if self._saved:
            self._state = self._saved.pop()

    def transform(self, operands: list[Any]) -> None:
        self._state.space = times(_matrix(operands), self._state.space)

    def set_font(self, operands: list[Any]) -> None:
        name = str(operands[0])
        if name not in self._fonts:
            fonts = self.resources.get("/Font")
            font = fonts.get(name) if isinstance(fonts, Dictionary) else None
            self._fonts[name] = None if font is None else text_font.read(font)
        self._state.font, self._state.size = self._fonts[name], float(operands[1])

    def set_many(self, operands: list[Any]) -> None:
        settings = self.resources.ExtGState[str(operands[0])]
        if "/Font" in settings:
            self._state.font, self._state.size = text_font.read(settings.Font[0]), float(settings.Font[1])

    def set_letter_space(self, operands: list[Any]) -> None:
        self._state.letter_space = float(operands[0])

    def set_word_space(self, operands: list[Any]) -> None:
        self._state.word_space = float(operands[0])

    def set_stretch(self, operands: list[Any]) -> None:
        self._state.stretch = float(operands[0]) / 100

    def set_leading(self, operands: list[Any]) -> None:
        self._state.leading = float(operands[0])

    def set_rise(self, operands: list[Any]) -> None:
        self._state.rise = float(operands[0])

    def set_mode(self, operands: list[Any]) -> None:
        self._state.mode = int(operands[0])

    # Where text stands.

    def begin_text(self, _: list[Any]) -> None:
        self._text = self._line = _ONE

    def move(self, operands: list[Any]) -> None:
        self._text = self._line = times((1, 0, 0, 1, float(operands[0]), float(operands[1])), self._line)

    def move_and_lead(self, operands: list[Any]) -> None:
        self._state.leading = -float(operands[1])
        self.move(operands)

    def next_line(self, _: list[Any]) -> None:
        self.move([0, -self._state.leading])

    def place(self, operands: list[Any]) -> None:
        self._text = self._line = _matrix(operands)

    # What is shown.

    def show(self, operands: list[Any]) -> None:
        self._show([operands[0]])

    def show_spaced(self, operands: list[Any]) -> None:
        self._show(list(operands[0]))

    def show_on_next_line(self, operands: list[Any]) -> None:
        self.made.pop()
        self.made.append(_instruction("T*"))
        self.next_line([])
        self.made.append(_instruction("Tj", operands[0]))
        self.show(operands)

    def show_on_next_line_spaced(self, operands: list[Any]) -> None:
        self.made.pop()
        self.made += [_instruction("Tw", operands[0]), _instruction("Tc", operands[1]), _instruction("'", operands[2])]
        self._state.word_space, self._state.letter_space = float(operands[0]), float(operands[1])
        self.show_on_next_line(operands[2:])

    def _show(self, parts: list[Any]) -> None:
        kept = list[Any]()
        taken = False
        for part in parts:
            if isinstance(part, pikepdf.String):
                for code, advance, is_tag in self._letters(bytes(part)):
                    taken |= is_tag
                    _add(kept, advance if is_tag else code)
            else:
                self._advance(-float(part) / 1000 * self._state.size * self._state.stretch)
                _add(kept, float(part))
        if taken:
            self.made[-1] = _instruction("TJ", Array([_operand(part) for part in kept]))
            self.changed = True
            self._silence(self._spans)

    def _letters(self, text: bytes) -> Iterator[tuple[bytes, float, bool]]:
        """Each code of a string, the number that moves the pen as far as it does, and whether it is a tag's."""
        state = self._state
        if state.font is None:
            yield text, 0.0, False
            return
        for code in state.font.codes(text):
            space = state.letter_space + (state.word_space if state.font.is_space(code) else 0)
            width = state.font.width(code) / 1000 * state.size
            is_tag = state.mode < _CLIPS and self._is_tag()
            self._advance((width + space) * state.stretch)
            yield code, -1000 * (width + space) / state.size if state.size else 0.0, is_tag

    def _is_tag(self) -> bool:
        shown = times(self._text, self._state.space)
        size = abs(self._state.size) * math.hypot(shown[2], shown[3])
        length = math.hypot(shown[0], shown[1])
        if not size or not length:
            return False
        origin = _at(shown, 0, self._state.rise)
        sign = math.copysign(1, self._state.size * self._state.stretch)
        direction = sign * shown[0] / length, sign * shown[1] / length
        return any(line.has(origin, direction, size) for line in self._lines.near(origin))

    def _advance(self, across: float) -> None:
        self._text = times((1, 0, 0, 1, across, 0), self._text)

    # What text stands for, and forms.

    def open_span(self, operands: list[Any]) -> None:
        self._spans.append(len(self.made) - 1)
        if any("{{" in str(text) for text in self._spoken(operands).values()):
            self._silence(self._spans[-1:])

    def close_span(self, _: list[Any]) -> None:
        if self._spans:
            self._spans.pop()

    def _silence(self, spans: Sequence[int]) -> None:
        """These spans no longer say what is read in place of their letters."""
        for at in spans:
            operands = list(self.made[at].operands)
            if self._spoken(operands):
                kept = {key: value for key, value in self._properties(operands).items() if key not in SPOKEN}
                self.made[at] = _instruction("BDC", operands[0], Dictionary(kept))
                self.changed = True

    def _spoken(self, operands: list[Any]) -> dict[str, Any]:
        return {key: value for key, value in self._properties(operands).items() if key in SPOKEN}

    def _properties(self, operands: list[Any]) -> dict[str, Any]:
        known = operands[1] if len(operands) > 1 else None
        if isinstance(known, Name):
            known = self.resources.get("/Properties", Dictionary()).get(str(known))
        return dict(known.items()) if isinstance(known, Dictionary) else {}

    def draw(self, operands: list[Any]) -> None:
        name = str(operands[0])
        form = self.resources.XObject[name]
        if form.get("/Subtype") != "/Form" or self._depth >= limits.FORM_DEPTH:
            return
        inner = copy.copy(self._state)
        inner.space = times(_matrix(form.get("/Matrix", _ONE)), inner.space)
        own = form.get("/Resources")
        rewrite = _Rewrite(self._pdf, self._lines, own or self.resources, inner, self._depth + 1)
        rewrite.run(pikepdf.parse_content_stream(form))
        if rewrite.changed:
            self.made[-1] = _instruction("Do", Name(self._offer(name, form, rewrite)))
            self._replaced.add(name)
            self.changed = True
        else:
            self._drawn.add(name)

    def settled(self) -> Dictionary:
        """The resources without the forms that others have taken the place of."""
        if gone := self._replaced - self._drawn:
            forms = {name: form for name, form in self.resources.XObject.items() if name not in gone}
            self.resources["/XObject"] = Dictionary(forms)
        return self.resources

    def _offer(self, name: str, form: Any, rewrite: "_Rewrite") -> str:
        """A name for the form as it is here; elsewhere it may be drawn with a tag that is no tag there."""
        made = self._pdf.make_stream(pikepdf.unparse_content_stream(rewrite.made))
        for key, value in form.items():
            if key not in ("/Length", "/Filter", "/DecodeParms", "/Resources"):
                made[key] = value
        made["/Resources"] = rewrite.settled()
        forms = Dictionary(dict(self.resources.XObject.items()))
        number = 1
        while f"{name}-{number}" in forms:
            number += 1
        forms[f"{name}-{number}"] = self._pdf.make_indirect(made)
        self.resources = Dictionary(dict(self.resources.items()) | {"/XObject": forms})
        return f"{name}-{number}"


_ACTS = {
    "q": _Rewrite.save, "Q": _Rewrite.restore, "cm": _Rewrite.transform, "gs": _Rewrite.set_many,
    "Tf": _Rewrite.set_font,
    "Tc": _Rewrite.set_letter_space, "Tw": _Rewrite.set_word_space, "Tz": _Rewrite.set_stretch,
    "TL": _Rewrite.set_leading, "Ts": _Rewrite.set_rise, "Tr": _Rewrite.set_mode, "BT": _Rewrite.begin_text,
    "Td": _Rewrite.move, "TD": _Rewrite.move_and_lead, "T*": _Rewrite.next_line, "Tm": _Rewrite.place,
    "Tj": _Rewrite.show, "TJ": _Rewrite.show_spaced, "'": _Rewrite.show_on_next_line,
    '"': _Rewrite.show_on_next_line_spaced, "BDC": _Rewrite.open_span, "BMC": _Rewrite.open_span,
    "EMC": _Rewrite.close_span, "Do": _Rewrite.draw,
}  # fmt: skip


def times(one: Matrix, other: Matrix) -> Matrix:
    """The matrix that does first the one, then the other."""
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _at(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _matrix(numbers: Any) -> Matrix:
    a, b, c, d, e, f = (float(number) for number in numbers)
    return a, b, c, d, e, f


def _instruction(operator: str, *operands: Any) -> ContentStreamInstruction:
    return ContentStreamInstruction(list(operands), Operator(operator))


def _add(parts: list[bytes | float], part: bytes | float) -> None:
    """To the last part if that is of its kind: letters to letters, moves to moves."""
    if parts and isinstance(parts[-1], bytes) == isinstance(part, bytes):
        parts[-1] += part  # type: ignore[operator]
    else:
        parts.append(part)


def _operand(part: bytes | float) -> Any:
    return pikepdf.String(part) if isinstance(part, bytes) else round(part, 3)
