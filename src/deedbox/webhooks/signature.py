"""The signature of a delivery. Pure: secrets, bytes and a time in, headers out."""

import base64
import os
from datetime import datetime, timedelta

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import Instant, instant, moment
from deedbox.kernel.crypto import Secret, hmac_sha256
from deedbox.kernel.ids import Entropy
from deedbox.kernel.tokens import TokenPrefix
from deedbox.webhooks import limits
from deedbox.webhooks.hook import Scheme

PREFIX = TokenPrefix.HOOK.value
HEADER = "X-Service-Signature"
TIMESTAMP = "X-Service-Timestamp"


class HookSecrets(msgspec.Struct, frozen=True):
    """A subscription's secret, and during a rotation the one that follows or the one that went before."""

    current: Secret
    following: Secret | None = None
    effective_at: Instant | None = None
    """From then on the following secret is the current one."""
    previous: Secret | None = None
    previous_until: Instant | None = None

    def at(self, now: datetime) -> "HookSecrets":
        """The secrets as they stand at that time."""
        here, overlap = self, timedelta(hours=shared_limits.WEBHOOK_ROTATION_HOURS)
        if here.following is not None and here.effective_at is not None and here.effective_at <= instant(now):
            until = instant(moment(here.effective_at) + overlap)
            here = HookSecrets(here.following, previous=here.current, previous_until=until)
        if here.previous_until is not None and here.previous_until <= instant(now):
            here = msgspec.structs.replace(here, previous=None, previous_until=None)
        return here

    def rotated(self, new: Secret, now: datetime, *, at_once: bool) -> "HookSecrets":
        """With a new secret that takes over now or after the overlap; one that was to follow is forgotten."""
        here, later = self.at(now), instant(now + timedelta(hours=shared_limits.WEBHOOK_ROTATION_HOURS))
        if at_once:
            return HookSecrets(new, previous=here.current, previous_until=later)
        return msgspec.structs.replace(here, following=new, effective_at=later)


_SECRETS = msgspec.json.Decoder(HookSecrets, dec_hook=lambda _, text: Secret(text))


def pack(secrets: HookSecrets) -> bytes:
    """The bytes that the box encrypts."""
    return msgspec.json.encode(secrets, enc_hook=Secret.reveal)


def unpack(plain: bytes) -> HookSecrets:
    return _SECRETS.decode(plain)


def new_secret(entropy: Entropy = os.urandom) -> Secret:
    return Secret(PREFIX + base64.b64encode(entropy(limits.WEBHOOK_SECRET_BYTES)).decode())


def digest(secret: Secret, body: bytes, timestamp: str | None) -> str:
    """The value of the signature header; with a timestamp, that is signed too."""
    signed = body if timestamp is None else timestamp.encode() + b"." + body
    # The key is the secret as it is displayed, `whsec_` included: a receiver decodes nothing.
    return "sha256=" + hmac_sha256(secret.reveal().encode(), signed).hex()


def standard(secret: Secret, message_id: str, timestamp: int, body: bytes) -> str:
    """One signature as Standard Webhooks has it, whose key is the decoded part of the secret."""
    key = base64.b64decode(secret.reveal().removeprefix(PREFIX))
    signed = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac_sha256(key, signed)).decode()


def headers(secrets: HookSecrets, scheme: Scheme, event_id: str, body: bytes, *, now: datetime) -> dict[str, str]:
    """The headers that sign one attempt made now."""
    here = secrets.at(now)
    timestamp = instant(now) if scheme == "timestamped" else None
    sent = {HEADER: digest(here.current, body, timestamp)}
    if here.following is not None:
        sent[f"{HEADER}-Next"] = digest(here.following, body, timestamp)
    if here.previous is not None:
        sent[f"{HEADER}-Previous"] = digest(here.previous, body, timestamp)
    if timestamp is None:
        return sent
    seconds = int(now.timestamp())
    valid = [secret for secret in (here.current, here.following, here.previous) if secret is not None]
    return sent | {
        TIMESTAMP: timestamp,
        "webhook-id": event_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(standard(secret, event_id, seconds, body) for secret in valid),
    }
