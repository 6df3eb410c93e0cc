"""Deliveries, and those who check them: a receiver that keeps to the rules, Node, OpenSSL, and Standard Webhooks."""

import base64
import hashlib
import hmac
import json
import random
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from deedbox.kernel.crypto import Secret
from deedbox.webhooks import signature
from deedbox.webhooks.hook import Scheme

HERE = Path(__file__).parent
TOLERANCE = timedelta(minutes=5)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)

Headers: TypeAlias = dict[str, str]
Signer: TypeAlias = Callable[[str, Scheme, str, bytes, datetime], Mapping[str, str]]
"""From secret, scheme, event id, body and time to the headers of a delivery."""


class Vector(msgspec.Struct, frozen=True):
    """A delivery whose signatures OpenSSL has made."""

    name: str
    secret: str
    event_id: str
    timestamp: str | None
    body_base64: str
    x_service_signature: str
    webhook_timestamp: str | None
    webhook_signature: str | None

    @property
    def body(self) -> bytes:
        return base64.b64decode(self.body_base64)

    @property
    def headers(self) -> Headers:
        """In lower case, as a receiver has them."""
        sent = {"x-service-signature": self.x_service_signature}
        if self.timestamp is None or self.webhook_timestamp is None or self.webhook_signature is None:
            return sent
        return sent | {
            "x-service-timestamp": self.timestamp,
            "webhook-id": self.event_id,
            "webhook-timestamp": self.webhook_timestamp,
            "webhook-signature": self.webhook_signature,
        }


class Delivery(msgspec.Struct, frozen=True):
    secret: str
    body: bytes
    headers: Headers
    sent_at: datetime


VECTORS = msgspec.json.decode((HERE / "signatures.json").read_bytes(), type=list[Vector])


def product(secret: str, scheme: Scheme, event_id: str, body: bytes, now: datetime) -> Mapping[str, str]:
    """As the product signs."""
    return signature.headers(signature.HookSecrets(Secret(secret)), scheme, event_id, body, now=now)


def of_parsed_json(secret: str, scheme: Scheme, event_id: str, body: bytes, now: datetime) -> Mapping[str, str]:
    """The seeded bug: it signs what the body parses to, written anew."""
    return product(secret, scheme, event_id, json.dumps(json.loads(body), separators=(",", ":")).encode(), now)


def signed(sign: Signer, vector: Vector, now: datetime | None = None) -> Delivery:
    """The vector's delivery with the headers of this signer, sent at the vector's time or now."""
    at = now or datetime.fromisoformat(vector.timestamp or "2026-03-01T12:00:00Z")
    scheme: Scheme = "timestamped" if vector.timestamp else "body"
    headers = sign(vector.secret, scheme, vector.event_id, vector.body, at)
    return Delivery(vector.secret, vector.body, {name.lower(): value for name, value in headers.items()}, at)


def accepts(delivery: Delivery, now: datetime | None = None) -> bool:
    """A receiver that follows the six rules, and refuses what was sent too long ago."""
    headers, body = delivery.headers, delivery.body
    timestamp = headers.get("x-service-timestamp")
    if timestamp is not None:
        if not _TIME.fullmatch(timestamp):
            return False
        if abs((now or delivery.sent_at) - datetime.fromisoformat(timestamp)) > TOLERANCE:
            return False
        body = timestamp.encode() + b"." + body
    digest = hmac.new(delivery.secret.encode(), body, hashlib.sha256).hexdigest()
    expected, given = f"sha256={digest}".encode(), headers.get("x-service-signature", "").encode()
    return len(given) == len(expected) and hmac.compare_digest(given, expected)


def node_accepts(deliveries: Sequence[Delivery]) -> list[bool]:
    told = [
        {"secret": one.secret, "body_base64": base64.b64encode(one.body).decode(), "headers": one.headers}
        for one in deliveries
    ]
    done = subprocess.run(
        ["node", HERE / "signatures.mjs"], input=json.dumps(told).encode(), capture_output=True, check=True, timeout=120
    )
    judged: list[bool] = json.loads(done.stdout)
    return judged


def openssl_accepts(delivery: Delivery) -> bool:
    """Both signatures, made anew by the openssl command."""
    headers, stamp = delivery.headers, delivery.headers.get("x-service-timestamp")
    body = delivery.body if stamp is None else f"{stamp}.".encode() + delivery.body
    if headers["x-service-signature"] != f"sha256={_openssl(delivery.secret.encode(), body).hex()}":
        return False
    if stamp is None:
        return "webhook-signature" not in headers
    key = base64.b64decode(delivery.secret.removeprefix("whsec_"))
    start = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode()
    expected = base64.b64encode(_openssl(key, start + delivery.body)).decode()
    return headers["webhook-signature"] == f"v1,{expected}"


def _openssl(key: bytes, data: bytes) -> bytes:
    command = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{key.hex()}", "-binary"]
    return subprocess.run(command, input=data, capture_output=True, check=True, timeout=60).stdout


def standard_accepts(delivery: Delivery) -> bool:
    """The Standard Webhooks library, whose clock is the system's."""
    try:
        Webhook(delivery.secret).verify(delivery.body, delivery.headers, json_parse=False)
    except WebhookVerificationError:
        return False
    return True


def random_vectors(number: int, seed: int) -> Iterator[Vector]:
    """Deliveries of bodies that parsing would change as often as not; they hold no signature yet."""
    chance = random.Random(seed)
    for _ in range(number):
        secret = "whsec_" + base64.b64encode(chance.randbytes(32)).decode()
        stamp = chance.choice([None, "2026-03-01T12:00:00Z"])
        body = json.dumps(_value(chance, 3), ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, 1]))
        yield Vector("random", secret, "evt_1", stamp, base64.b64encode(body.encode()).decode(), "", None, None)


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(6) if depth else chance.randrange(3)
    if kind == 0:
        return "".join(chr(chance.choice([chance.randrange(32, 127), chance.randrange(160, 55_000)])) for _ in range(9))
    if kind == 1:
        return chance.uniform(-1e9, 1e9)
    if kind == 2:
        return chance.choice([None, True, False, 0, -1, 10**20])
    if kind == 3:
        return [_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {str(chance.random()): _value(chance, depth - 1) for _ in range(chance.randrange(5))}


def now() -> datetime:
    return datetime.now(UTC)
