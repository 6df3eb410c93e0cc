"""Numbers of lists as their programs write them: 7, g, VII."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MOST_LETTERS = 26 * 4
_MOST_ROMAN = 3999
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


def numeral(count: int, form: str) -> str:
    """The count as the form writes it; what few documents have is written as a plain number."""
    if form in ("lowerLetter", "upperLetter") and 0 < count <= _MOST_LETTERS:
        letters = _LETTERS[(count - 1) % 26] * ((count - 1) // 26 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form in ("lowerAlpha", "upperAlpha") and count > 0:
        return _alphabetic(count).upper() if form == "upperAlpha" else _alphabetic(count)
    if form in ("lowerRoman", "upperRoman") and 0 < count <= _MOST_ROMAN:
        return _roman(count).upper() if form == "upperRoman" else _roman(count)
    if form == "decimalZero":
        return f"{count:02}"
    return "" if form in ("none", "bullet") else str(count)


def _alphabetic(count: int) -> str:
    """As browsers write it: after z comes aa, and then ab, where Word writes bb."""
    written = ""
    while count:
        count, letter = divmod(count - 1, 26)
        written = _LETTERS[letter] + written
    return written


def _roman(count: int) -> str:
    written = ""
    for worth, letters in _ROMAN:
        written += letters * (count // worth)
        count %= worth
    return written
