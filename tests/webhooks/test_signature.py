"""Signatures: fixed vectors, the seed's six rules as a receiver applies them, rotation."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest

from deedbox.kernel.crypto import Secret
from deedbox.webhooks import signature
from deedbox.webhooks.hook import Scheme
from deedbox.webhooks.signature import HookSecrets

SECRET = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
BODY = '{"id":"evt_1","data":{"title":"Ünïcode"}}'.encode()
NOW = datetime(2026, 3, 1, 12, 0, 0, 987_654, tzinfo=UTC)
TIMESTAMP = "2026-03-01T12:00:00Z"


def accepts(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """A receiver written from the seed alone."""
    timestamp = headers.get("X-Service-Timestamp")
    signed = body if timestamp is None else f"{timestamp}.".encode() + body
    expected = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    given = headers["X-Service-Signature"]
    return len(given) == len(expected) and hmac.compare_digest(given, expected)


def test_the_vectors_stay_as_they_are() -> None:
    assert signature.digest(SECRET, b'{"a":1}', None) == (
        "sha256=" + hmac.new(b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"a":1}', "sha256").hexdigest()
    )
    assert signature.digest(SECRET, b'{"a":1}', TIMESTAMP) == (
        "sha256=" + hmac.new(SECRET.reveal().encode(), b'2026-03-01T12:00:00Z.{"a":1}', "sha256").hexdigest()
    )


def test_the_standard_webhooks_signature_is_that_of_their_published_example() -> None:
    signed = signature.standard(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("scheme", ["body", "timestamped"])
def test_a_receiver_that_follows_the_rules_accepts_ours_and_no_other(scheme: Scheme) -> None:
    headers = signature.headers(HookSecrets(SECRET), scheme, "evt_1", BODY, now=NOW)
    assert accepts(SECRET.reveal(), headers, BODY)
    assert not accepts(SECRET.reveal(), headers, BODY + b" ")
    assert not accepts(SECRET.reveal() + "x", headers, BODY)
    given = headers["X-Service-Signature"]
    for wrong in (given[:-1], given.upper(), given + "0", given.removeprefix("sha256=")):
        assert not accepts(SECRET.reveal(), headers | {"X-Service-Signature": wrong}, BODY)


def test_a_timestamped_signature_does_not_hold_for_another_time_or_without_it() -> None:
    headers = signature.headers(HookSecrets(SECRET), "timestamped", "evt_1", BODY, now=NOW)
    assert headers["X-Service-Timestamp"] == TIMESTAMP
    assert not accepts(SECRET.reveal(), headers | {"X-Service-Timestamp": "2026-03-01T12:00:01Z"}, BODY)
    del headers["X-Service-Timestamp"]
    assert not accepts(SECRET.reveal(), headers, BODY)


def test_the_body_scheme_has_no_timestamp_and_no_standard_headers() -> None:
    assert list(signature.headers(HookSecrets(SECRET), "body", "evt_1", BODY, now=NOW)) == ["X-Service-Signature"]


def test_a_new_secret_has_the_shape_of_standard_webhooks_and_never_comes_twice() -> None:
    made = {signature.new_secret().reveal() for _ in range(100)}
    assert len(made) == 100
    for text in made:
        assert text.startswith("whsec_")
        assert 24 <= len(base64.b64decode(text.removeprefix("whsec_"), validate=True)) <= 64


def test_a_rotation_shows_the_new_digest_beside_until_it_takes_over_and_the_old_one_for_a_day_after() -> None:
    old, new = SECRET, signature.new_secret()
    secrets = HookSecrets(old).rotated(new, NOW, at_once=False)

    def sent(hours: float) -> dict[str, str]:
        return signature.headers(secrets, "body", "evt_1", BODY, now=NOW + timedelta(hours=hours))

    by_old, by_new = signature.digest(old, BODY, None), signature.digest(new, BODY, None)
    assert sent(0) == {"X-Service-Signature": by_old, "X-Service-Signature-Next": by_new}
    assert sent(23.9) == {"X-Service-Signature": by_old, "X-Service-Signature-Next": by_new}
    assert sent(24) == {"X-Service-Signature": by_new, "X-Service-Signature-Previous": by_old}
    assert sent(47.9) == {"X-Service-Signature": by_new, "X-Service-Signature-Previous": by_old}
    assert sent(48) == {"X-Service-Signature": by_new}


def test_a_rotation_at_once_keeps_the_old_digest_beside_for_a_day() -> None:
    new = signature.new_secret()
    secrets = HookSecrets(SECRET).rotated(new, NOW, at_once=True)
    assert signature.headers(secrets, "body", "e", BODY, now=NOW) == {
        "X-Service-Signature": signature.digest(new, BODY, None),
        "X-Service-Signature-Previous": signature.digest(SECRET, BODY, None),
    }
    later = signature.headers(secrets, "body", "e", BODY, now=NOW + timedelta(hours=24))
    assert list(later) == ["X-Service-Signature"]


def test_standard_webhooks_receivers_accept_either_secret_during_a_rotation() -> None:
    secrets = HookSecrets(SECRET).rotated(signature.new_secret(), NOW, at_once=False)
    headers = signature.headers(secrets, "timestamped", "evt_1", BODY, now=NOW)
    assert headers["webhook-id"] == "evt_1"
    assert headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    first, second = headers["webhook-signature"].split(" ")
    assert first == signature.standard(SECRET, "evt_1", int(NOW.timestamp()), BODY)
    assert second.startswith("v1,")
    assert second != first


def test_a_second_rotation_before_the_first_took_over_replaces_it() -> None:
    second, third = signature.new_secret(), signature.new_secret()
    secrets = HookSecrets(SECRET).rotated(second, NOW, at_once=False)
    secrets = secrets.rotated(third, NOW + timedelta(hours=1), at_once=False)
    assert (secrets.current, secrets.following) == (SECRET, third)


def test_secrets_survive_being_packed_and_do_not_show_in_print() -> None:
    secrets = HookSecrets(SECRET).rotated(signature.new_secret(), NOW, at_once=True)
    assert signature.unpack(signature.pack(secrets)) == secrets
    assert "whsec_" not in repr(secrets)
