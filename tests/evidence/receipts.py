"""An answer with its receipt, made without a server by the authority of the tests."""

import hashlib
import json
from base64 import b64encode
from datetime import datetime
from typing import Any

from deedbox.evidence import receipt
from deedbox.evidence.receipt import ReceiptStatement
from deedbox.kernel.clock import instant
from deedbox.pdf.seal import jws
from deedbox.pdf.seal.pades import SealIdentity
from deedbox.pdf.seal.timestamp import Timestamper

TEXT = "The deposit is three months of rent, or 1.500 €.\n“Paid” on the first day."


def answer() -> dict[str, Any]:
    file = hashlib.sha256(b"lease").hexdigest()
    places = [{"doc_id": "upl_1", "filename": "Miete „Süd“.txt", "sha256": file, "page": None, "highlights": [[4, 11]]}]
    found = [
        {"chunk_id": f"upl_1_chunk_{number}", "text": f"{TEXT} {number}", "score": score, "metadata": places[0]}
        for number, score in enumerate((0.1 + 0.2, 1.0, -1.5e-7))
    ]
    return {"query": "how many months?", "count": 3, "elapsed_ms": 4.25, "results": found}


def receipted(
    identity: SealIdentity, unit: Timestamper, at: datetime, told: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    """The answer with a receipt over it, of that moment."""
    shown = told or answer()
    said: dict[str, Any] = {
        "format": receipt.FORMAT,
        "version": "1.0",
        "issued_at": instant(at),
        "query": shown["query"],
        "options": {"top_k": 5, "mode": "hybrid"},
        "reader": {"workspace_id": "wsp_1", "documents": True},
        "recipe": "a recipe",
        "watermark": 7,
        "results": [receipt.result(rank, one, None) for rank, one in enumerate(shown["results"], 1)],
        "answer_sha256": receipt.sha256(shown),
        **changes,
    }
    crls = [*identity.crl_ders, *unit.crl_ders]
    signed = jws.sign(receipt.encode(ReceiptStatement(**said)), receipt.TYPE, identity, crls)
    token = unit.token(jws.digest(signed), at)
    return {**shown, receipt.RECEIPT: signed, receipt.TIMESTAMP: b64encode(token).decode()}


def file(shown: dict[str, Any]) -> bytes:
    return json.dumps(shown).encode()
