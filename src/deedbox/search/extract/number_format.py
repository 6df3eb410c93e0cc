"""Numbers as a workbook displays them: 0.075 with the format `0.0 %` is 7.5 %. Dates are written as ISO has them."""

import re
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple

from deedbox.search.limits import HIGHLIGHT_WORDS

BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm",
    17: "mmm-yy", 18: "h:mm", 19: "h:mm:ss", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm", 37: "#,##0;(#,##0)",
    38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)", 41: "#,##0", 42: "$#,##0",
    43: "#,##0.00", 44: "$#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss",
}  # fmt: skip
"""The formats that a file names by number only."""
_PART = re.compile(
    r'"([^"]*)"?|\\(.)|_.|\*.|\[\$([^\]-]*)[^\]]*\]|\[(h+|m+|s+)\]|\[[^\]]*\]|(.)', re.IGNORECASE | re.DOTALL
)
_SECTION = re.compile(r'(?:"[^"]*"?|\\.|\[[^\]]*\]|[^;"\\\[])*', re.DOTALL)
_DIGITS = re.compile(r"[#0?](?:[#0?,]*[#0?])?(?:\.[#0?]*)?,*|\.[#0?]+")
_DATE, _DAY = re.compile(r"[dmyhs]", re.IGNORECASE), re.compile(r"[dy]|m{3}", re.IGNORECASE)
_LARGEST = 1e15
_EPOCH, _EPOCH_1904 = datetime.fromisoformat("1899-12-30"), datetime.fromisoformat("1904-01-01")
_LAST_DAY = 2_958_465
"""The end of the year 9999."""


class _Format(NamedTuple):
    before: str
    digits: str
    """Of the number; empty if only text is shown."""
    after: str
    is_percent: bool
    date: str
    """`day`, `time` or `elapsed`; empty for a number."""


def shown(value: float, code: str, *, from_1904: bool = False) -> str:
    """The number as the format shows it; plainly where the format is not understood."""
    sections = _sections(code)
    negative = value < 0 and len(sections) > 1
    chosen = sections[1] if negative else sections[2] if value == 0 and len(sections) > 2 else sections[0]
    if chosen.date:
        return _moment(value, chosen.date, _EPOCH_1904 if from_1904 else _EPOCH)
    if not chosen.digits or abs(value) >= _LARGEST or value != value:  # noqa: PLR0124 (not a number)
        return f"{chosen.before}{chosen.after}".strip() or plain(value)
    number = _number(abs(value) if negative else value, chosen)
    sign = "-" if number.startswith("-") else ""
    return " ".join(f"{sign}{chosen.before}{number.removeprefix('-')}{chosen.after}".split())


def plain(value: float) -> str:
    """The number without a format."""
    if abs(value) < _LARGEST and value.is_integer():
        return str(int(value))
    return f"{value:.10g}" if 1e-4 <= abs(value) < 1e9 else repr(value)


@lru_cache(HIGHLIGHT_WORDS)
def _sections(code: str) -> list[_Format]:
    parts = [part for part in _SECTION.findall(code) if part]
    return [_section(part) for part in parts[:4]] or [_section("")]


def _section(code: str) -> _Format:
    bare, mask = "", ""
    elapsed = False
    for quoted, escaped, currency, counter, letter in _PART.findall(code):
        text = quoted or escaped or currency or counter or letter
        elapsed = elapsed or bool(counter)
        bare += text or " "
        mask += "x" * len(text) if quoted or escaped or currency else text or " "
    lowered = mask.lower().replace("am/pm", "").replace("general", "")
    digits = _DIGITS.search(mask)
    if _DATE.search(lowered) and "e+" not in lowered:
        return _Format("", "", "", False, "elapsed" if elapsed else "day" if _DAY.search(lowered) else "time")
    if "general" in mask.lower() or digits is None or "/" in mask or "e+" in lowered:
        is_text = digits is None and "general" not in mask.lower() and "@" not in mask
        return _Format(bare if is_text else "", "", "", False, "")
    begin, end = digits.span()
    before, after = bare[:begin], bare[end:]
    return _Format(before, digits.group(), after, "%" in mask, "")


def _number(value: float, chosen: _Format) -> str:
    digits = chosen.digits.rstrip(",")
    scaled = Decimal(repr(value)) * (100 if chosen.is_percent else 1)
    scaled = scaled.scaleb(-3 * (len(chosen.digits) - len(digits)))
    whole, _, part = digits.partition(".")
    rounded = scaled.quantize(Decimal(1).scaleb(-len(part)), ROUND_HALF_UP)
    sign, rounded = ("-", -rounded) if rounded < 0 else ("", abs(rounded))
    integer, _, fraction = f"{rounded:{',' if ',' in whole else ''}f}".partition(".")
    least = len(part.rstrip("#?"))
    fraction = fraction[:least] + fraction[least:].rstrip("0")
    integer = integer.rjust(whole.count("0"), "0") if "," not in whole else integer
    if integer == "0" and "0" not in whole and fraction:
        integer = ""
    return f"{sign}{integer}{'.' if fraction else ''}{fraction}"


def _moment(value: float, kind: str, epoch: datetime) -> str:
    if not 0 <= value <= _LAST_DAY:
        return plain(value)
    passed = timedelta(seconds=round(value * 86400))
    if kind == "elapsed":
        hours, rest = divmod(int(passed.total_seconds()), 3600)
        return f"{hours}:{rest // 60:02}:{rest % 60:02}"
    moment = epoch + passed
    if kind == "time" and value < 1:
        return moment.time().isoformat()
    return moment.date().isoformat() if moment.time() == time() else moment.isoformat(" ")
