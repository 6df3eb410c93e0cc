"""Runs in a sandbox: the signatures that a file from outside brings along, checked before they are flattened."""

from typing import Any

from deedbox.kernel import limits
from deedbox.kernel.clock import moment
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.examine import Examined, described, examined
from deedbox.pdf.signatures import structure
from deedbox.pdf.signed_data import reading
from deedbox.pdf.signed_input import EarlierSignature
from deedbox.pdf.trust import Trust

UNREADABLE = (
    "This PDF is already signed, and its signatures cannot be checked: {why}"
    " Upload it as it was before it was signed, or print it into a new PDF."
)
_CHANGED = "After it something was added to the file that it does not allow."
_UNJUDGED = "Something was added to the file after it, and whether it allows that cannot be said."


def signatures(data: bytes, now: str, password: str | None = None) -> list[EarlierSignature]:
    """Every signature and document time-stamp of the file; BadRequest if one cannot be read, or there is none."""
    pdf = bytes(data)
    try:
        built = structure(pdf, password or "")
        found = built.signatures
        # Whom to trust is the reader's decision: here it is only told what was signed, and by whose certificate.
        trust = Trust([], built.certificates, built.crls)
    except BadRequest as error:
        raise BadRequest(UNREADABLE.format(why=error.message)) from error
    if not found:
        raise BadRequest(UNREADABLE.format(why="nothing in the document leads to them."))
    return [_told(pdf, examined(pdf, one, trust, moment(now))) for one in found]


def _told(pdf: bytes, found: Examined) -> EarlierSignature:
    shown = described(found, has_validation_data=False)
    if shown is None:
        raise BadRequest(UNREADABLE.format(why=found.broken or "a certificate cannot be read."))
    covers = found.covers(pdf)
    problem = found.broken or ("" if covers else _later(found))
    return EarlierSignature(
        kind="timestamp" if found.signature.kind == "time-stamp" else "signature",
        signer=_name(shown.signer),
        issuer=_name(shown.certificate.issuer),
        signed_at=shown.signing_time,
        timestamped_at=shown.timestamp_time,
        valid=not problem,
        covers_entire_file=covers,
        problem=problem or None,
    )


def _name(text: str) -> str:
    """As much of a name as can be shown: whoever made the certificate could write anything into it."""
    return "".join(letter for letter in text if letter.isprintable())[: limits.EARLIER_SIGNER_CHARS]


def _later(found: Examined) -> str:
    """What is wrong with that which was added after the signature; empty if nothing is."""
    library: Any = found.signature.library
    try:
        with reading(_UNJUDGED):
            library.compute_integrity_info()
            allowed = library.summarise_integrity_info()["docmdp_ok"]
    except BadRequest as error:
        return error.message
    return "" if allowed else _UNJUDGED if allowed is None else _CHANGED
