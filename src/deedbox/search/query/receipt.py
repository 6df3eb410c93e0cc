"""The receipt of an answer: what was asked and answered, signed with what the workspace seals with."""

import asyncio
from base64 import b64encode
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from deedbox import VERSION
from deedbox.authority import Certificates, pkcs11
from deedbox.evidence import receipt
from deedbox.evidence.receipt import Answer, ReceiptStatement
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Database, Tx
from deedbox.pdf.seal import jws
from deedbox.search.library import store
from deedbox.search.library.reader import SearchReader
from deedbox.search.query.best_passages import Answered, Question

_NOT_ASKED = ("text", "caller", "patient")
"""What of a question is told elsewhere, or decides nothing."""


class AnswerReceipt(NamedTuple):
    receipt: str
    """A compact JWS."""
    timestamp: str
    """A time-stamp token about it, in base64."""


class ReceiptQuery(NamedTuple):
    reader: SearchReader
    question: Question
    found: Answered


async def issue(
    db: Database, certificates: Certificates, asked: ReceiptQuery, answer: Answer, now: datetime
) -> AnswerReceipt:
    """The receipt of the answer, whose members are those that the caller gets."""
    codes = await db.read(lambda tx: _codes(tx, asked))
    identity = await certificates.seal_identity(asked.reader.workspace_id)
    unit = await certificates.timestamper()
    # Long answers take a moment to be written and hashed.
    payload = await asyncio.to_thread(_payload, asked, answer, codes, now)
    crls = [*identity.crl_ders, *unit.crl_ders]
    signed = await pkcs11.with_key(identity, lambda: jws.sign(payload, receipt.TYPE, identity, crls))
    token = unit.token(jws.digest(signed), now)
    return AnswerReceipt(signed, b64encode(token).decode())


def asked_of(statement: ReceiptStatement) -> tuple[SearchReader, Question]:
    """Who asked what, by the statement; ValidationError if another version asked as this one does not know."""
    reader = msgspec.convert(statement.reader, SearchReader)
    return reader, msgspec.convert({**statement.options, "text": statement.query, "patient": True}, Question)


def _codes(tx: Tx, asked: ReceiptQuery) -> dict[str, str]:
    # Whoever may not read documents is not told their codes either.
    uploads = {passage.upload.id for passage in asked.found.passages} if asked.reader.documents else set()
    return store.verification_codes(tx, asked.reader.workspace_id, uploads)


def _payload(asked: ReceiptQuery, answer: Answer, codes: dict[str, str], now: datetime) -> bytes:
    passages: list[Answer] = answer["results"]
    options = _plain(asked.question)
    statement = ReceiptStatement(
        format=receipt.FORMAT,
        version=VERSION,
        issued_at=instant(now),
        query=answer["query"],
        options={name: value for name, value in options.items() if name not in _NOT_ASKED},
        reader=_plain(asked.reader),
        recipe=asked.found.recipe,
        watermark=asked.found.watermark,
        results=[
            receipt.result(rank, passage, codes.get(found.upload.id))
            for rank, (passage, found) in enumerate(zip(passages, asked.found.passages, strict=True), 1)
        ],
        answer_sha256=receipt.sha256(answer),
    )
    return receipt.encode(statement)


def _plain(value: Any) -> dict[str, Any]:
    """The struct as JSON has it; sets in order, so that the same question is told the same way."""
    plain: dict[str, Any] = msgspec.to_builtins(value, order="deterministic")
    return plain
