"""A tokenizer.json out of a SentencePiece model: a list of pieces with their scores, and a map of characters.

The file is a message of protocol buffers. Of it are read the pieces (field 1: text 1, score 2, kind 3) and, of the
normalizer (field 3), the map of characters (2)."""

import struct
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from deedbox.kernel.errors import BadRequest

_PIECES, _NORMALIZER, _CHARACTERS = 1, 3, 2
_TEXT, _SCORE, _KIND = 1, 2, 3
_NORMAL, _UNKNOWN = 1, 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_BEGIN, _END = "<s>", "</s>"
_NEVER = " "
"""No word that is looked up has a space in it."""

Value: TypeAlias = int | memoryview


class _Piece(NamedTuple):
    text: str
    score: float
    kind: int


def tokenizer(model: bytes) -> bytes:
    """The tokenizer.json that reads as the SentencePiece model does; BadRequest if the file is none."""
    try:
        pieces, characters = _read(memoryview(model))
        return _made(pieces, characters).to_str().encode()
    except BadRequest:
        raise
    except Exception as error:  # tokenizers raises bare exceptions, and a damaged file anything
        raise BadRequest(f"The SentencePiece model cannot be read: {error}") from error


def _made(pieces: list[_Piece], characters: bytes) -> Tokenizer:
    names = [piece.text for piece in pieces]
    if not pieces or pieces[0].kind != _UNKNOWN or not {_BEGIN, _END} <= set(names):
        raise BadRequest("The SentencePiece model does not begin with <unk>, or has no <s> and </s>")
    # What is no ordinary piece stands for itself alone: no text may spell it.
    vocabulary = [(one.text if one.kind == _NORMAL else _NEVER + one.text, one.score) for one in pieces]
    made = Tokenizer(models.Unigram(vocabulary, unk_id=0, byte_fallback=False))
    # The map is asked letter by letter: signs of their own that it leaves beside a letter are joined to it afterwards.
    steps = [normalizers.NFC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    made.normalizer = normalizers.Sequence([normalizers.Precompiled(characters), *steps])
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    ends = [(name, names.index(name)) for name in (_BEGIN, _END)]
    made.post_processor = processors.TemplateProcessing(single=f"{_BEGIN} $A {_END}", special_tokens=ends)
    return made


def _read(model: memoryview) -> tuple[list[_Piece], bytes]:
    pieces, characters = [], b""
    for field, value in _fields(model):
        if field == _PIECES:
            pieces.append(_piece(dict(_fields(_message(value)))))
        elif field == _NORMALIZER:
            characters = bytes(_message(dict(_fields(_message(value)))[_CHARACTERS]))
    return pieces, characters


def _piece(fields: dict[int, Value]) -> _Piece:
    text, score = bytes(_message(fields[_TEXT])).decode(), struct.unpack("<f", _message(fields[_SCORE]))[0]
    kind = fields.get(_KIND, _NORMAL)
    if not isinstance(kind, int):
        raise ValueError("a piece of no kind")
    return _Piece(text, score, kind)


def _message(value: Value) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number where text belongs")
    return value


def _fields(message: memoryview) -> Iterator[tuple[int, Value]]:
    """The fields of a message, in their order: numbers, and the bytes of all else."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire = tag & 7
        if wire == _VARINT:
            number, at = _varint(message, at)
            yield tag >> 3, number
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(wire)
        if wire == _BYTES:
            length, at = _varint(message, at)
        if length is None or at + length > len(message):
            raise ValueError("a field that is not whole")
        yield tag >> 3, message[at : at + length]
        at += length


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
