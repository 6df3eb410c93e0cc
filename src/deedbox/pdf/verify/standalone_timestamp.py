"""Verifies a time-stamp token that stands by itself, outside of any PDF. Only to be run in a sandbox."""

import hashlib
from collections.abc import Sequence

from msgspec import Struct

from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.seal import timestamp
from deedbox.pdf.seal.der import Malformed
from deedbox.pdf.verify import judge
from deedbox.pdf.verify.trust import Trust


class TokenReport(Struct, frozen=True):
    """What a token says; `trusted` is whether a root that is trusted here vouches for who made it."""

    at: str
    trusted: bool


def verify_token(
    token: bytes, content: bytes, roots: Sequence[bytes], crls: Sequence[bytes], timestamp_roots: Sequence[bytes] = ()
) -> TokenReport:
    """What the token says of the content; BadRequest, with the reason, if it is not about it or was altered."""
    try:
        read = timestamp.read(bytes(token), lambda name: hashlib.new(name, content).digest())
    except Malformed as error:
        raise BadRequest(f"{error}.") from error
    trust = Trust(roots, [], crls, timestamp_roots)
    if trust.changed(read.certificates):
        raise BadRequest("A certificate in the timestamp was changed.")
    return TokenReport(instant(read.at), bool(judge.token_path(read, trust)))
