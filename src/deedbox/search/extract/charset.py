"""From bytes to text: by byte order mark, NUL and escape patterns, UTF-8, a declaration, and only then by a guess."""

import codecs
import re

from charset_normalizer import from_bytes

from deedbox.kernel.limits import CHARSET_SAMPLE_BYTES
from deedbox.search.extract.kinds import wrong_kind

GUESSED = [
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "koi8_r", "koi8_u",
    "cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp949",
]  # fmt: skip
_DECLARED = [
    *GUESSED, "shift_jis", "gbk", "big5hkscs", "cp874", "cp866", "mac_roman",
    *(f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
]  # fmt: skip
# What pages declare is seldom what they mean: browsers read these labels as their Windows supersets.
_SUPERSETS = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030"}
_MARKS = [
    (codecs.BOM_UTF8, "utf_8"),
    (codecs.BOM_UTF32_LE, "utf_32_le"),
    (codecs.BOM_UTF32_BE, "utf_32_be"),
    (codecs.BOM_UTF16_LE, "utf_16_le"),
    (codecs.BOM_UTF16_BE, "utf_16_be"),
]
_ESCAPES = {b"\x1b$B": "iso2022_jp_2", b"\x1b$@": "iso2022_jp_2", b"\x1b(J": "iso2022_jp_2", b"\x1b$)C": "iso2022_kr"}
_ARCHIVED_NAMES = "cp437"
"""In which a ZIP archive has its names, unless it says otherwise."""
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x0e\x0f\x1b")) + b"\x7f"
_CONTROL_SHARE = 200
# Letters and signs where Western languages have them: "õ" only before "e", "ì" and "ò" only at the end of a word.
_WESTERN = re.compile(
    "(?:[\x01-\x7f]|[äöüßÄÖÜéèêëàâçîïôûùúóíáñåæøãœ](?![äöüéèêëàâçîïôûùúóíáñåæøãœ]{2})|[ÉÈÊËÀÂÇÎÏÔÛÙÚÓÍÁÑÅÆØÃŒ]|õ(?=e)"
    "|[ìò](?!\\w)|(?<!\\w)[¿¡]|(?<![a-zA-Z])[€£§°«»“”„‚‘–—…·®©™\xa0]|[€§°»”“’–—…®©™ªº\xa0])*+"
)
_HIGH = re.compile(rb"[^\n]{0,400}[\x80-\xff][^\n]{0,400}")


def load() -> None:
    """Loads every codec that a file may need: a sandbox cannot load them later."""
    marked = (name for _, name in _MARKS)
    for name in {*GUESSED, *_DECLARED, *_SUPERSETS, *_ESCAPES.values(), *marked, _ARCHIVED_NAMES}:
        codecs.lookup(name)
    decode("Ein Stück Prosa, wie es oft auf Müllkästen steht: über alles größer.".encode("cp1252"), "txt")


def decode(data: bytes, kind: str, declared: str | None = None) -> str:
    """The text in the bytes; BadRequest if they are no text."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _checked(data[len(mark) :].decode(name, "replace"), kind)
    if wide := _wide(data):
        return _checked(data.decode(wide, "replace"), kind)
    _refuse_binary(data, kind)
    for escape, name in _ESCAPES.items():
        if escape in data:
            return data.decode(name, "replace")
    return _utf8(data) or data.decode(_declared(declared) or _guess(data), "replace")


def _wide(data: bytes) -> str | None:
    """UTF-16 without a mark: the NULs of Western text stand on one side of each pair."""
    head = data[: CHARSET_SAMPLE_BYTES & ~1]
    pairs = len(head) // 2
    even, odd = head[::2].count(0), head[1::2].count(0)
    if pairs >= 2 and odd > 0.7 * pairs and even <= 0.02 * pairs:
        return "utf_16_le"
    if pairs >= 2 and even > 0.7 * pairs and odd <= 0.02 * pairs:
        return "utf_16_be"
    return None


def _checked(text: str, kind: str) -> str:
    """The text; BadRequest if only the mark at its beginning is text."""
    sample = text[:CHARSET_SAMPLE_BYTES]
    wrong = sample.count("\ufffd") + sum(map(sample.count, "\x00\x01\x02\x03\x04\x05\x06\x07\x08"))
    if wrong * 10 > len(sample):
        raise wrong_kind(kind, "not text")
    return text


def _refuse_binary(data: bytes, kind: str) -> None:
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls * _CONTROL_SHARE > len(data):
        raise wrong_kind(kind, "not text")


def _utf8(data: bytes) -> str | None:
    """The text if it is UTF-8, or UTF-8 with a few bytes damaged; None if it is something else."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        around = data[max(0, error.start - CHARSET_SAMPLE_BYTES // 2) :][:CHARSET_SAMPLE_BYTES]
    sample = around.decode("utf-8", "replace")
    wrong = sample.count("\ufffd")
    intact = len(re.findall("[\x80-\ufffc\U00010000-\U0010ffff]", sample))
    return data.decode("utf-8", "replace") if intact > 5 * wrong else None


def _declared(label: str | None) -> str | None:
    """The codec for a declared label; None for one that is unknown or is no charset for text."""
    try:
        name = codecs.lookup(label or "").name
    except (LookupError, ValueError, OSError):  # OSError: a sandbox refuses to read a codec that is not loaded
        return None
    name = _SUPERSETS.get(name, name)
    return name if name in {codecs.lookup(known).name for known in _DECLARED} else None


def _guess(data: bytes) -> str:
    """The likeliest charset, judged by the lines with letters beyond ASCII; Western Windows in doubt."""
    sample = bytearray()
    for line in _HIGH.finditer(data):
        sample += line.group() + b"\n"
        if len(sample) >= CHARSET_SAMPLE_BYTES:
            break
    # A statistical guess takes a short Western text for any of its neighbours, so this is asked first.
    if _WESTERN.fullmatch(sample.decode("cp1252", "replace")):
        return "cp1252"
    best = from_bytes(bytes(sample), cp_isolation=GUESSED).best()
    return best.encoding if best else "cp1252"
