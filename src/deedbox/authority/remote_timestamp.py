"""Time-stamps from another authority, over the network."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from deedbox.authority import limits
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import Clock
from deedbox.kernel.errors import SetupError, Unavailable
from deedbox.kernel.ids import Entropy
from deedbox.pdf.seal import timestamp

if TYPE_CHECKING:
    from deedbox.kernel.egress import Egress

_NONCE_BYTES = 8


def roots(file: Path | None) -> list[bytes]:
    """What the configured authority's time-stamps are trusted by, in DER; SetupError if the file cannot be read."""
    if file is None:
        return []
    try:
        return [one.public_bytes(Encoding.DER) for one in x509.load_pem_x509_certificates(file.read_bytes())]
    except (OSError, ValueError) as error:
        raise SetupError(
            f"The file {file} of DEEDBOX_TSA_CA_FILE holds no certificates in PEM: {error}.", "Correct the setting."
        ) from error


class TimestampFailed(Unavailable):
    """The configured authority gave no time-stamp; the message says why."""


class RemoteTimestamper:
    """An RFC 3161 authority at a URL. `egress` is asked for when it is first needed."""

    def __init__(self, url: str, egress: Callable[[], "Egress"], clock: Clock, entropy: Entropy = os.urandom) -> None:
        self._url = url
        self._egress = egress
        self._clock = clock
        self._entropy = entropy

    async def token(self, digest: bytes) -> bytes:
        """A token for a SHA-256 digest; TimestampFailed if there is none, or one that is not good."""
        from deedbox.kernel.egress import EgressFailed, Request

        nonce = self._entropy(_NONCE_BYTES)
        try:
            answer = await self._egress().send(
                Request(
                    "POST",
                    self._url,
                    headers={"Content-Type": timestamp.QUERY_TYPE, "Accept": timestamp.REPLY_TYPE},
                    body=timestamp.query(digest, nonce),
                    seconds=limits.TSA_SECONDS,
                    limit=limits.TSA_ANSWER_BYTES,
                )
            )
        except EgressFailed as error:
            raise TimestampFailed(f"The timestamp authority did not respond: {error.message}") from error
        if answer.status != 200:
            raise TimestampFailed(f"The timestamp authority answered with status {answer.status}")
        return self._checked(answer.body, digest, nonce)

    def _checked(self, response: bytes, digest: bytes, nonce: bytes) -> bytes:
        try:
            token, moment = timestamp.parse_response(response, digest, nonce)
        except ValueError as error:  # Malformed, or another shape than was to be unpacked
            raise TimestampFailed(f"The timestamp authority's response is not valid: {error}") from error
        if len(token) > shared_limits.TSA_TOKEN_BYTES:
            raise TimestampFailed(
                f"The timestamp is larger than {shared_limits.TSA_TOKEN_BYTES // shared_limits.KB} KB"
            )
        if abs(moment - self._clock.now()) > timedelta(seconds=shared_limits.TSA_SKEW_SECONDS):
            raise TimestampFailed(f"The timestamp authority's clock and ours differ: it says {moment.isoformat()}")
        return token
