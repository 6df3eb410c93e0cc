"""The receipt of an answer: a signed statement of what was asked and answered, and from which documents.

An answer with a receipt is one file. Two of its members are the receipt: `receipt`, a compact JWS, and
`receipt_timestamp`, an RFC 3161 token about it. What the JWS signs is the statement, in canonical JSON with fractions
(see `canonical`). The statement has the hash of all the rest of the file, likewise in canonical JSON: so white space
may change, and nothing else.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn, TypeAlias

import msgspec
from msgspec import Struct

from deedbox.evidence.canonical import Json, canonical
from deedbox.kernel import limits
from deedbox.kernel.clock import Instant
from deedbox.kernel.errors import BadRequest

FORMAT = "deedbox-receipt/1"
TYPE = "deedbox-receipt+jws"
"""The `typ` in the header of the JWS."""
RECEIPT, TIMESTAMP = "receipt", "receipt_timestamp"
Answer: TypeAlias = dict[str, Json]
"""What was answered, without its receipt."""


class ReceiptResult(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One passage that was answered."""

    rank: int
    chunk_id: str
    score: float
    text_sha256: str
    file_sha256: str
    verification_code: str | None
    """Of a file that was sealed here: the code of its document."""


class ReceiptStatement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: str
    version: str
    """Of Deedbox: another may rank otherwise."""
    issued_at: Instant
    query: str
    options: dict[str, Json]
    """Everything else that was asked for, as the server understood it."""
    reader: dict[str, Json]
    """For whom it was answered: not every document is there for everyone."""
    recipe: str
    """How the index was made: chunks and model."""
    watermark: int
    """The number of the last change that the index had seen."""
    results: list[ReceiptResult]
    answer_sha256: str


_STATEMENT = msgspec.json.Decoder(ReceiptStatement)


class Receipted(NamedTuple):
    """A file with an answer and its receipt, whether true or not."""

    receipt: str
    timestamp: str
    answer: Answer


def result(rank: int, passage: Answer, verification_code: str | None) -> ReceiptResult:
    """What a statement says of a passage of the answer."""
    return ReceiptResult(
        rank=rank,
        chunk_id=passage["chunk_id"],
        score=passage["score"],
        text_sha256=hashlib.sha256(passage["text"].encode()).hexdigest(),
        file_sha256=passage["metadata"]["sha256"],
        verification_code=verification_code,
    )


def encode(statement: ReceiptStatement) -> bytes:
    return canonical(msgspec.to_builtins(statement), fractions=True)


def parse(payload: bytes) -> ReceiptStatement:
    """What was signed; BadRequest if it is no statement of this format."""
    try:
        statement = _STATEMENT.decode(payload)
        whole = statement.format == FORMAT and encode(statement) == payload
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise BadRequest(f"What was signed is no statement of an answer: {error}") from error
    if not whole:
        raise BadRequest(f"What was signed is not written as {FORMAT!r} is.")
    return statement


def sha256(answer: Answer) -> str:
    """The hash by which a statement knows an answer; ValueError if canonical JSON cannot write it."""
    return hashlib.sha256(canonical(answer, fractions=True)).hexdigest()


def split(data: bytes) -> Receipted:
    """The parts of a file with an answer; BadRequest when it is none, or could be read in two ways."""
    if len(data) > limits.ANSWER_BYTES:
        raise BadRequest("The file is too large for an answer with its receipt.")
    try:
        read = json.loads(
            data, object_pairs_hook=_once_each, parse_float=_exact, parse_int=_whole, parse_constant=_refuse
        )
        canonical(read, fractions=True)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"This is not an answer with its receipt: {error}") from error
    answer: Answer = read if isinstance(read, dict) else {}
    proof, timestamp = answer.pop(RECEIPT, None), answer.pop(TIMESTAMP, None)
    if not isinstance(proof, str) or not isinstance(timestamp, str):
        raise BadRequest(
            f"This file has no receipt: its members {RECEIPT} and {TIMESTAMP} are missing."
            " Ask for one with POST /query?receipt=true, and keep the whole answer."
        )
    return Receipted(proof, timestamp, answer)


def problems(statement: ReceiptStatement, answer: Answer) -> list[str]:
    """Why the answer is not the one that was signed, in sentences; empty when it is."""
    if sha256(answer) == statement.answer_sha256:
        return []
    found = list(_named(statement, answer))[: limits.REPLAY_NAMED]
    return found or ["The answer is not the one that was signed."]


def _named(statement: ReceiptStatement, answer: Answer) -> Iterator[str]:
    """What can be named of it; a member that the statement does not tell is only known to be another."""
    if answer.get("query") != statement.query:
        yield "The query is not the one that was signed."
    shown = answer.get("results")
    results: Sequence[Any] = shown if isinstance(shown, list) else []
    if len(results) != len(statement.results):
        yield f"There are {len(results)} results, and {len(statement.results)} were signed."
        return
    for signed, passage in zip(statement.results, results, strict=True):
        if (why := _other(signed, passage)) is not None:
            yield f"Result {signed.rank}: {why} is not the one that was signed."


def _other(signed: ReceiptResult, passage: Any) -> str | None:
    try:
        now = result(signed.rank, passage, signed.verification_code)
    except (KeyError, TypeError, AttributeError):
        return "its form"
    words = {"chunk_id": "its id", "score": "its score", "text_sha256": "its text", "file_sha256": "its file"}
    return next((told for name, told in words.items() if getattr(now, name) != getattr(signed, name)), None)


def _once_each(pairs: list[tuple[str, Any]]) -> Answer:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("a member stands in it twice")
    return read


def _exact(digits: str) -> float:
    """The fraction, if these are all of its digits: others may read back as the same double."""
    number = float(digits)
    if Decimal(digits) != Decimal(repr(number)):
        raise ValueError("a number is not written as Deedbox writes it")
    return number


def _whole(digits: str) -> int:
    number = int(digits)
    if str(number) != digits:  # -0
        raise ValueError("a number is not written as Deedbox writes it")
    return number


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")
