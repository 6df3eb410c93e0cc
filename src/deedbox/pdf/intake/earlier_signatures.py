"""Runs in a sandbox: the signatures that a file from outside brings along, checked before they are flattened."""

import io
from typing import Any

import msgspec
import pikepdf

from deedbox.kernel.clock import moment
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import limits
from deedbox.pdf.intake import clean
from deedbox.pdf.intake.signed_input import EarlierSignature
from deedbox.pdf.verify.examine import Examined, describe, examine
from deedbox.pdf.verify.signatures import structure
from deedbox.pdf.verify.signed_data import HASHES, translate_errors
from deedbox.pdf.verify.trust import Trust

UNREADABLE = (
    "This PDF is already signed, and its signatures cannot be checked: {why}"
    " Upload it as it was before it was signed, or print it into a new PDF."
)
_UNCHECKED = "It could not be checked: {why}"
_OLD_FORM = "It could not be checked: it has the old form {form}."
_OLD_HASH = "It could not be checked: it uses {algorithm}."
_UNKNOWN = "unknown"
_CHANGED = "After it something was added to the file that it does not allow."
_UNJUDGED = "Something was added to the file after it, and this server cannot tell whether the signature allows that."


def signatures(data: bytes, now: str, password: str | None = None) -> list[EarlierSignature]:
    """Every signature and document time-stamp of the file; BadRequest if they cannot be found.

    One that is found and cannot be checked is not valid, and its problem says why."""
    pdf = bytes(data)
    try:
        built = structure(pdf, password or "")
        found = built.signatures
        # Whom to trust is the reader's decision: here it is only told what was signed, and by whose certificate.
        trust = Trust([], built.certificates, built.crls)
    except BadRequest as error:
        return _listed(pdf, password, error.message)
    if not found:
        return _listed(pdf, password, "no form field with a name leads to it.")
    return [_told(pdf, examine(pdf, one, trust, moment(now))) for one in found]


def _listed(pdf: bytes, password: str | None, why: str) -> list[EarlierSignature]:
    """The signatures of a file that their reader cannot read: what they say of themselves, unchecked."""
    with translate_errors(UNREADABLE.format(why=why)), pikepdf.open(io.BytesIO(pdf), password=password or "") as opened:
        found = [_unchecked(one, why) for one in clean.signatures(opened.Root)]
    if not found:
        raise BadRequest(UNREADABLE.format(why=why))
    return found


def _unchecked(signature: Any, why: str) -> EarlierSignature:
    form = str(signature.get("/SubFilter", "")).removeprefix("/")
    return EarlierSignature(
        kind="timestamp" if signature.get("/Type") == "/DocTimeStamp" else "signature",
        signer=_name(str(signature.get("/Name", ""))) or _UNKNOWN,
        issuer=_UNKNOWN,
        signed_at=None,
        timestamped_at=None,
        valid=False,
        covers_entire_file=False,
        problem=(_OLD_FORM.format(form=form) if _is_old(form) else _UNCHECKED.format(why=why)),
    )


def _is_old(form: str) -> bool:
    return form.startswith("adbe.x509") or form == "adbe.pkcs7.sha1"


def _told(pdf: bytes, found: Examined) -> EarlierSignature:
    shown = describe(found, has_validation_data=False)
    covers = found.covers(pdf)
    if shown is None:
        claimed = _unchecked(found.signature.library.sig_object, found.broken or "its certificate cannot be read.")
        return msgspec.structs.replace(claimed, covers_entire_file=covers)
    problem = (_unsupported(found) or found.broken) if found.broken else "" if covers else _later(found)
    return EarlierSignature(
        kind="timestamp" if found.signature.kind == "timestamp" else "signature",
        signer=_name(shown.signer),
        issuer=_name(shown.certificate.issuer),
        signed_at=shown.signing_time,
        timestamped_at=shown.timestamp_time,
        valid=not problem,
        covers_entire_file=covers,
        problem=problem or None,
    )


def _unsupported(found: Examined) -> str:
    """Why a signature is not checked at all; empty if it is."""
    form = found.signature.sub_filter or ""
    if _is_old(form):
        return _OLD_FORM.format(form=form)
    if found.signed is not None and found.signed.algorithm not in HASHES:
        return _OLD_HASH.format(algorithm=found.signed.algorithm.upper())
    return ""


def _name(text: str) -> str:
    """As much of a name as can be shown: whoever made the certificate could write anything into it."""
    return "".join(letter for letter in text if letter.isprintable())[: limits.EARLIER_SIGNER_CHARS]


def _later(found: Examined) -> str:
    """What is wrong with that which was added after the signature; empty if nothing is."""
    library: Any = found.signature.library
    try:
        with translate_errors(_UNJUDGED):
            library.compute_integrity_info()
            allowed = library.summarise_integrity_info()["docmdp_ok"]
    except BadRequest as error:
        return error.message
    return "" if allowed else _UNJUDGED if allowed is None else _CHANGED
