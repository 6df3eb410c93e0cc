"""R12: signatures interoperate. Fixed vectors and random bodies, checked by everyone who may be on the other side."""

import shutil
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace
from standardwebhooks.webhooks import Webhook

from deedbox.kernel.crypto import Secret
from deedbox.webhooks import signature
from tests.faults import FULL, signatures
from tests.faults.signatures import (
    VECTORS,
    Delivery,
    Headers,
    Signer,
    Vector,
    accepts,
    node_accepts,
    of_parsed_json,
    openssl_accepts,
    product,
    random_vectors,
    signed,
    standard_accepts,
)

RANDOM = 10_000 if FULL else 300
SEED = 2026

TIMESTAMPED = [vector for vector in VECTORS if vector.timestamp]
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
each = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)


def refusals(sign: Signer) -> list[str]:
    """The vectors and random bodies whose signature a receiver refuses."""
    fixed = [vector.name for vector in VECTORS if not accepts(signed(sign, vector))]
    return fixed + [vector.name for vector in random_vectors(RANDOM, SEED) if not accepts(signed(sign, vector))]


@each
def test_the_product_signs_each_vector_as_openssl_has_signed_it(vector: Vector) -> None:
    assert signed(product, vector).headers == vector.headers


@each
def test_a_receiver_that_follows_the_rules_accepts_each_vector(vector: Vector) -> None:
    assert accepts(signed(product, vector))


@needs_openssl
@each
def test_openssl_accepts_each_vector(vector: Vector) -> None:
    assert openssl_accepts(signed(product, vector))


@needs_node
def test_node_accepts_each_vector_and_every_random_body() -> None:
    deliveries = [signed(product, vector) for vector in (*VECTORS, *random_vectors(RANDOM, SEED))]
    assert node_accepts(deliveries) == [True] * len(deliveries)
    changed = [replace(one, body=one.body + b" ") for one in deliveries]
    assert node_accepts(changed) == [False] * len(changed)


@pytest.mark.parametrize("vector", TIMESTAMPED, ids=lambda vector: vector.name)
def test_the_standard_webhooks_library_makes_and_accepts_the_same(vector: Vector) -> None:
    at = datetime.fromisoformat(vector.timestamp or "")
    assert Webhook(vector.secret).sign(vector.event_id, at, vector.body.decode()) == vector.webhook_signature
    assert standard_accepts(signed(product, vector, signatures.now()))
    assert not standard_accepts(signed(product, vector, signatures.now() - timedelta(minutes=6)))
    assert not standard_accepts(replace(signed(product, vector, signatures.now()), body=vector.body + b" "))


def test_every_signature_of_the_product_is_accepted() -> None:
    assert refusals(product) == []
    print(f"R12: {len(VECTORS)} vectors and {RANDOM} random bodies, 0 refused")


def test_the_rig_sees_a_signature_of_the_parsed_json() -> None:
    """The seeded bug: it shows wherever parsing and writing anew changes a byte."""
    refused = refusals(of_parsed_json)
    assert {"escapes that a parser would undo", "white space between the parts"} <= set(refused)
    assert refused.count("random") > RANDOM // 10


FORGERIES: dict[str, Callable[[Headers], str]] = {
    "one letter short": lambda given: given["x-service-signature"][:-1],
    "one letter long": lambda given: given["x-service-signature"] + "0",
    "upper case": lambda given: "sha256=" + given["x-service-signature"].removeprefix("sha256=").upper(),
    "the prefix in upper case": lambda given: given["x-service-signature"].replace("sha256", "SHA256"),
    "without the prefix": lambda given: given["x-service-signature"].removeprefix("sha256="),
    "another algorithm's name": lambda given: given["x-service-signature"].replace("sha256", "sha1"),
    "nothing": lambda _: "",
    "the prefix alone": lambda _: "sha256=",
    "letters outside ASCII": lambda given: given["x-service-signature"][:-1] + "é",
}


@each
@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_receiver_refuses_a_signature_of_another_length_or_case(vector: Vector, forgery: str) -> None:
    delivery = signed(product, vector)
    forged = delivery.headers | {"x-service-signature": FORGERIES[forgery](delivery.headers)}
    assert not accepts(replace(delivery, headers=forged))


@each
def test_a_receiver_refuses_another_secret_body_or_time(vector: Vector) -> None:
    delivery = signed(product, vector)
    assert not accepts(replace(delivery, secret=signature.new_secret().reveal()))
    assert not accepts(replace(delivery, secret=delivery.secret.removeprefix("whsec_")))
    for body in (delivery.body + b"\n", delivery.body[:-1], delivery.body.replace(b"e", b"f") + b"}", b""):
        assert not accepts(replace(delivery, body=body))


@pytest.mark.parametrize("vector", TIMESTAMPED, ids=lambda vector: vector.name)
def test_a_receiver_refuses_a_delivery_that_is_sent_again_later(vector: Vector) -> None:
    delivery = signed(product, vector)
    later = delivery.sent_at + timedelta(minutes=6)
    assert accepts(delivery, delivery.sent_at + timedelta(minutes=4))
    assert not accepts(delivery, later)
    fresh = signed(product, vector, later).headers["x-service-timestamp"]
    assert not accepts(replace(delivery, headers=delivery.headers | {"x-service-timestamp": fresh}), later)


@each
def test_one_scheme_does_not_pass_for_the_other(vector: Vector) -> None:
    delivery = signed(product, vector)
    if "x-service-timestamp" in delivery.headers:
        without = {name: value for name, value in delivery.headers.items() if name != "x-service-timestamp"}
        assert not accepts(replace(delivery, headers=without))
        return
    added = delivery.headers | {"x-service-timestamp": "2026-03-01T12:00:00Z"}
    assert not accepts(replace(delivery, headers=added))
    start, dot, rest = delivery.body.partition(b".")
    if dot:  # what stands before the first dot of a body is no time
        split = delivery.headers | {"x-service-timestamp": start.decode()}
        assert not accepts(replace(delivery, headers=split, body=rest))


@pytest.mark.parametrize("vector", TIMESTAMPED, ids=lambda vector: vector.name)
def test_during_a_rotation_each_secret_finds_its_own_signature(vector: Vector) -> None:
    """Whoever has changed to the new secret already, or not yet, accepts the delivery all the same."""
    here = signatures.now()
    old, new = Secret(vector.secret), signature.new_secret()
    waiting = signature.HookSecrets(old).rotated(new, here, at_once=False)
    done = signature.HookSecrets(old).rotated(new, here, at_once=True)
    cases = (
        (waiting, old, "x-service-signature"),
        (waiting, new, "x-service-signature-next"),
        (done, new, "x-service-signature"),
        (done, old, "x-service-signature-previous"),
    )
    for secrets, mine, header in cases:
        sent = signature.headers(secrets, "timestamped", vector.event_id, vector.body, now=here)
        headers = {name.lower(): value for name, value in sent.items()}
        delivery = Delivery(mine.reveal(), vector.body, headers, here)
        assert standard_accepts(delivery)
        assert accepts(replace(delivery, headers=headers | {"x-service-signature": headers[header]}))
