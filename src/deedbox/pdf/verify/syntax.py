"""PDF objects in the one form in which revisions are accepted here: what two readers could read in two ways is refused.

One space or one end of line between tokens, and nothing else: no comment, no other white space, no second entry of the
same name in a dictionary, no sign that needs guessing. qpdf, pyHanko and our own writer all write like this."""

import re
from typing import Any, NamedTuple, TypeAlias

from deedbox.pdf import limits
from deedbox.pdf.seal.der import Malformed

Value: TypeAlias = Any
"""A Name, a Reference, text as bytes, a Number, a bool, None, a list or a dict by names without their slash."""

_NAME = re.compile(rb"/((?:[!\"$&'*-.0-;=?-Z\\^-z|~]|#[0-9A-Fa-f]{2})+)")
_CODE = re.compile(rb"#([0-9A-Fa-f]{2})")
_NUMERIC = re.compile(
    rb"(?:(0|[1-9]\d{0,9}) (0|[1-9]\d{0,4}) R|[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20}))(?=[ \n\]>/]|\Z)"
)
"""A reference, whose two numbers are its groups, or else a number."""
_WHOLE = re.compile(r"0|[1-9]\d{0,18}")
_HEX = re.compile(rb"<((?:[0-9a-f]{2})*|(?:[0-9A-F]{2})*)>")
_TEXT = re.compile(rb"\(((?:[^()\\\x00-\x1f\x7f-\x9f]|\\[nrtbf()\\]|\\[0-3][0-7]{2})*)\)")
_WORD = re.compile(rb"(true|false|null)(?=[ \n\]>/]|\Z)")
_RANGE = re.compile(rb"\[0 (\d{1,12}) (\d{1,12}) (\d{1,12}) *\](?: +(?=\n))?")
_ESCAPED = re.compile(rb"\\([nrtbf()\\]|[0-7]{3})")
_HEADER = re.compile(rb"(0|[1-9]\d{0,9}) (0|[1-9]\d{0,4}) obj\n")
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_WORDS = {b"true": True, b"false": False, b"null": None}
_SPACE = (0x20, 0x0A)


class Name(str):
    """A name without its slash."""

    __slots__ = ()


class Number(NamedTuple):
    """A number as it is written: 90 and 90.0 are one to us, but not to every viewer; and neither is ever true."""

    written: str


class ObjectReference(NamedTuple):
    number: int
    generation: int


class Object(NamedTuple):
    """An indirect object: its value, its stream if it has one, and the bytes that it takes."""

    value: Value
    stream: bytes | None
    written: bytes


def object_at(data: bytes, at: int) -> tuple[ObjectReference, Object, int]:
    """The object whose header begins there, and where the next one begins; Malformed if it is not in this form."""
    header = _HEADER.match(data, at)
    if header is None:
        raise Malformed("An object does not begin as objects are written here")
    value, end = value_at(data, header.end())
    stream = None
    if data.startswith(b"\nstream\n", end):
        begin = end + len(b"\nstream\n")
        size = integer(value.get("Length")) if isinstance(value, dict) else -1
        end = begin + size
        if size < 0 or not data.startswith(b"\nendstream", end):
            raise Malformed("A stream is not as long as it says")
        stream, end = data[begin:end], end + len(b"\nendstream")
    if not data.startswith(b"\nendobj\n", end):
        raise Malformed("An object does not end as objects are written here")
    end += len(b"\nendobj\n")
    return ObjectReference(int(header[1]), int(header[2])), Object(value, stream, data[at:end]), end


def value_at(data: bytes, at: int, depth: int = 0) -> tuple[Value, int]:
    """The value that begins there, and where it ends."""
    if depth > limits.PDF_DEPTH:
        raise Malformed("Values are nested too deeply")
    first = data[at : at + 1]
    if first == b"<" and data.startswith(b"<<", at):
        return _dictionary(data, at + 2, depth)
    if first == b"[":
        return _array(data, at + 1, depth)
    pattern, made = _SCALARS.get(first, _NUMERIC_SCALAR)
    if found := pattern.match(data, at):
        return made(found), found.end()
    raise Malformed("A value is not written as values are written here")


def integer(value: Value) -> int:
    """The value, if it is a whole number that is not negative; else -1."""
    return int(value.written) if isinstance(value, Number) and _WHOLE.fullmatch(value.written) else -1


def number(value: int) -> Number:
    """The number as our writers write it."""
    return Number(str(value))


def array(value: Value) -> list[Value]:
    """The value; Malformed if it is no array."""
    if not isinstance(value, list):
        raise Malformed("A list is missing, or is none")
    return value


def text(value: Value) -> str:
    """What a text string says; Malformed if the value is none."""
    if not isinstance(value, bytes):
        raise Malformed("A text is missing, or is none")
    try:
        return value[2:].decode("utf-16-be") if value.startswith(b"\xfe\xff") else value.decode("ascii")
    except UnicodeDecodeError as error:
        raise Malformed("A text cannot be read") from error


def _dictionary(data: bytes, at: int, depth: int) -> tuple[dict[str, Value], int]:
    found: dict[str, Value] = {}
    at = _spaced(data, at)
    while (key := _NAME.match(data, at)) is not None:
        name, at = _name(key), _spaced(data, key.end())
        if name in found:
            raise Malformed("A dictionary has two entries of the same name")
        ranges = _RANGE.match(data, at) if name == "ByteRange" else None
        if ranges is not None:
            found[name], at = [number(0), *(number(int(one)) for one in ranges.groups())], ranges.end()
        else:
            found[name], at = value_at(data, at, depth + 1)
        at = _spaced(data, at)
    if not data.startswith(b">>", at):
        raise Malformed("A dictionary's entry has no name")
    return found, at + 2


def _array(data: bytes, at: int, depth: int) -> tuple[list[Value], int]:
    found: list[Value] = []
    at += data[at : at + 1] in (b" ", b"\n")
    while not data.startswith(b"]", at):
        value, at = value_at(data, at, depth + 1)
        found.append(value)
        if not data.startswith(b"]", at):
            at = _spaced(data, at)
    return found, at + 1


def _spaced(data: bytes, at: int) -> int:
    if at >= len(data) or data[at] not in _SPACE:
        raise Malformed("There is not one space or end of line where one has to be")
    return at + 1


def _name(found: re.Match[bytes]) -> Name:
    written = found[1]
    if b"#" not in written:
        return Name(written.decode("ascii"))
    codes = [bytes.fromhex(code.decode()) for code in _CODE.findall(written)]
    if any(_NAME.fullmatch(b"/" + code) for code in codes):
        raise Malformed("A name has a code for a sign that needs none")
    return Name(_CODE.sub(lambda code: bytes.fromhex(code[1].decode()), written).decode("latin-1"))


def _numeric(found: re.Match[bytes]) -> Value:
    number, generation = found.groups()
    return Number(found[0].decode()) if number is None else ObjectReference(int(number), int(generation))


def _word(found: re.Match[bytes]) -> bool | None:
    return _WORDS[found[1]]


def _string(found: re.Match[bytes]) -> bytes:
    def plain(escape: re.Match[bytes]) -> bytes:
        code = escape[1]
        return bytes([int(code, 8)]) if len(code) == 3 else _LETTERS.get(code, code)

    return _ESCAPED.sub(plain, found[1]) if b"\\" in found[1] else found[1]


def _digits(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[1].decode())


_NUMERIC_SCALAR: tuple[re.Pattern[bytes], Any] = (_NUMERIC, _numeric)
_SCALARS: dict[bytes, tuple[re.Pattern[bytes], Any]] = {
    b"/": (_NAME, _name),
    b"<": (_HEX, _digits),
    b"(": (_TEXT, _string),
    b"t": (_WORD, _word),
    b"f": (_WORD, _word),
    b"n": (_WORD, _word),
}
"""How the values are written that begin with such a sign; every other is numeric."""
