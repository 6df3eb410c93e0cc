"""What the PDF work of one document costs in process, without server, sandboxes, disk and database: the limit."""

import secrets
import time
from collections.abc import Callable, Generator
from typing import Any

import msgspec

from bench.seal import NOW, make_hierarchy, ours
from deedbox.kernel.clock import instant
from deedbox.pdf.intake import take_in as intake
from deedbox.pdf.marks import certificate, signature_block
from deedbox.pdf.marks import draw as mark
from deedbox.pdf.marks.certificate_facts import (
    CertifiedEvent,
    CertifiedFile,
    CertifiedSigner,
    CompletionCertificate,
    LabeledText,
)
from deedbox.pdf.marks.marks import Mark, Marks, PageRect
from deedbox.pdf.verify import verify_pdf as verify

_AT = instant(NOW)
_EVENTS = 12


def _whole(steps: Generator[bytes, None, Any]) -> bytes:
    return b"".join(steps)


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value, builtin_types=(bytes,))


def _marks(signers: int) -> Marks:
    places = [PageRect(1, 0.1, 0.7 + 0.1 * number, 0.35, 0.06) for number in range(signers)]
    caption = ("Ann Example", _AT, "1234ABCD")
    return Marks(tuple(Mark("signature", place, text="Ann Example", caption=caption) for place in places))


def _completion(signers: int) -> CompletionCertificate:
    """Of another document each time: typst does not lay out again what it has just laid out."""
    at = f"{secrets.randbelow(60):02}:{secrets.randbelow(60):02} UTC"
    people = tuple(
        CertifiedSigner(
            f"sgn_{secrets.token_hex(13)}", "Ann Example", "ann@example.com", identity="Personal link", signed_at=at,
            steps=(LabeledText("Invited", at), LabeledText("Opened", at)),
            consent="I agree.",
            signature_text="Ann Example",
        )
        for _ in range(signers)
    )  # fmt: skip
    hashes = [secrets.token_hex(32) for _ in range(_EVENTS)]
    events = tuple(CertifiedEvent(at, "signer.signed", "Ann Example", hash=one) for one in hashes)
    file = CertifiedFile("lease.pdf", 3, secrets.token_hex(32), secrets.token_hex(32))
    return CompletionCertificate(
        f"Lease {secrets.token_hex(2)}", f"doc_{secrets.token_hex(13)}", "AAAA-BBBB",
        f"https://deedbox.example/verify/{secrets.token_hex(4)}", _AT, at, (file,), people, events, hashes[-1],
        created_at=at, sent_at=at, seal_level="B-LT", seal_certificate="0" * 64, seal_timestamp=at,
    )  # fmt: skip


class BareWork:
    """The same steps as the server's, one after the other, and the CPU time of each."""

    def __init__(self, pdf: bytes, signers: int) -> None:
        issued = make_hierarchy()
        intake.prepare()
        mark.prepare()
        certificate.prepare()
        prepared = _whole(intake.take_in(pdf))
        marks = _plain(_marks(signers))
        marked = _whole(mark.mark_pages(prepared, marks))
        seal = ours(marked, issued)
        sealed = seal()
        self._steps: dict[str, Callable[[], object]] = {
            "take in": lambda: _whole(intake.take_in(pdf)),
            "place": lambda: _whole(signature_block.place(prepared, signers)),
            "mark": lambda: _whole(mark.mark_pages(prepared, marks)),
            "seal": seal,
            "verify": lambda: verify.verify(sealed, [issued.root.der], [], _AT),
            "certify": lambda: _whole(certificate.certify(sealed, _plain(_completion(signers)))),
        }

    def once(self) -> dict[str, float]:
        """Milliseconds of CPU of each step."""
        spent = {}
        for name, step in self._steps.items():
            begun = time.process_time()
            step()
            spent[name] = (time.process_time() - begun) * 1000
        return spent
