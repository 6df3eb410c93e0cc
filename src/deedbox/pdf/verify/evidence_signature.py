"""Whether a certificate that may seal vouches, by a detached CMS, for what is not a PDF: the evidence of a document."""

import hashlib
from base64 import b64decode
from datetime import datetime

from deedbox.pdf.seal import cms
from deedbox.pdf.verify.judge import Anchors
from deedbox.pdf.verify.report import VerificationReport
from deedbox.pdf.verify.trust import may_seal


def is_vouched_for(content: bytes, signature: str, seal: VerificationReport, anchors: Anchors, now: datetime) -> bool:
    """Whether the certificate of this good seal, or a later one that is trusted too, vouches for the content.

    The signature is a detached CMS in base64."""
    try:
        signed = cms.own(b64decode(signature, validate=True))
    except ValueError:  # Malformed, or no base64
        return False
    if (signed.content, signed.digest, signed.token) != (None, hashlib.sha256(content).digest(), None):
        return False
    if hashlib.sha256(signed.signer).hexdigest() == seal.seal_sha256:
        return True
    path = anchors.with_data(signed.certificates, []).path(signed.signer, signed.certificates, now)
    return bool(path) and may_seal(signed.signer)
