"""Verifies a time-stamp token that stands by itself, outside of any PDF. Only to be run in a sandbox."""

import hashlib
from collections.abc import Sequence

from msgspec import Struct

from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.pdf import signed_data
from deedbox.pdf.timestamp import POLICY
from deedbox.pdf.trust import Trust, may_timestamp


class Told(Struct, frozen=True):
    """What a token says; `trusted` is whether a root that is trusted here vouches for who made it."""

    at: str
    trusted: bool


def verify_token(
    token: bytes, content: bytes, roots: Sequence[bytes], crls: Sequence[bytes], timestamp_roots: Sequence[bytes] = ()
) -> Told:
    """What the token says of the content; BadRequest, with the reason, if it is not about it or was altered."""
    timestamp = signed_data.as_timestamp(signed_data.opened(bytes(token)))
    if not signed_data.timestamp_is_true(timestamp, lambda name: hashlib.new(name, content).digest()):
        raise BadRequest("The time-stamp is about something else, or was altered.")
    trust = Trust(roots, [], crls, timestamp_roots)
    if trust.changed(timestamp.signed.certificates):
        raise BadRequest("A certificate in the time-stamp was changed.")
    path = trust.path(timestamp.signed.signer, timestamp.signed.certificates, timestamp.at, of_timestamp=True)
    trusted = bool(path) and may_timestamp(timestamp.signed.signer) and not trust.revoked(path, timestamp.at)
    # Our own tokens are written in one way; another authority may write them in others.
    if timestamp.policy == POLICY and not signed_data.is_exact(timestamp.signed):
        raise BadRequest("The time-stamp was written anew by something else.")
    return Told(instant(timestamp.at), trusted)
