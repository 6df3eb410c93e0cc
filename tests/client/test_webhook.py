"""The client says of a delivery what the rules say; `deedbox hooks listen` uses the same check."""

import json
from datetime import datetime, timedelta

import pytest

from deedbox.client import BadSignature, verify_webhook
from deedbox.client.webhook import check
from deedbox.kernel.crypto import Secret
from deedbox.webhooks import signature
from deedbox.webhooks.hook import Scheme
from tests.conftest import HandClock
from tests.faults.signatures import VECTORS, Vector

SECRET = signature.new_secret()
PLAIN = SECRET.reveal()
BODY = (
    '{"id":"evt_1","type":"document.sent","timestamp":"2026-03-01T12:00:00Z","api_version":"v1","sequence":1,'
    '"data":{"title":"Überlassung 1.pdf"}}'
).encode()
SCHEMES: tuple[Scheme, ...] = ("body", "timestamped")


def sent(scheme: Scheme, clock: HandClock, secrets: signature.HookSecrets | None = None) -> dict[str, str]:
    return signature.headers(secrets or signature.HookSecrets(SECRET), scheme, "evt_1", BODY, now=clock.now())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_each_vector_that_openssl_has_signed_is_accepted_and_none_with_another_byte(vector: Vector) -> None:
    now = datetime.fromisoformat(vector.timestamp or "2026-03-01T12:00:00Z")
    assert check(vector.body, vector.headers, vector.secret, now=now).valid
    assert not check(vector.body + b" ", vector.headers, vector.secret, now=now).valid
    assert not check(vector.body, vector.headers, PLAIN, now=now).valid


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_genuine_delivery_gives_its_event_whatever_the_case_of_its_headers(scheme: Scheme, clock: HandClock) -> None:
    for headers in (sent(scheme, clock), {name.lower(): value for name, value in sent(scheme, clock).items()}):
        event = verify_webhook(BODY, headers, PLAIN, now=clock.now())
        assert (event.id, event.type, event.data["title"]) == ("evt_1", "document.sent", "Überlassung 1.pdf")


def test_a_delivery_signed_now_needs_no_clock_from_the_caller() -> None:
    headers = signature.headers(
        signature.HookSecrets(SECRET), "timestamped", "evt_1", BODY, now=datetime.fromisoformat("2020-01-01T00:00:00Z")
    )
    with pytest.raises(BadSignature, match="more than 300 seconds"):
        verify_webhook(BODY, headers, PLAIN)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_another_secret_body_or_signature_is_refused(scheme: Scheme, clock: HandClock) -> None:
    headers, now = sent(scheme, clock), clock.now()
    given = headers["X-Service-Signature"]
    with pytest.raises(BadSignature, match="does not fit"):
        verify_webhook(BODY, headers, signature.new_secret().reveal(), now=now)
    with pytest.raises(BadSignature, match="does not fit"):
        verify_webhook(json.dumps(json.loads(BODY)).encode(), headers, PLAIN, now=now)
    for forged in ("", "sha256=", given[:-1], given + "0", given.upper(), given[7:], "é", "\udcff"):
        assert not check(BODY, headers | {"X-Service-Signature": forged}, PLAIN, now=now).valid, forged
    del headers["X-Service-Signature"]
    assert check(BODY, headers, PLAIN, now=now).reason == "There is no X-Service-Signature."


def test_no_secret_is_no_secret(clock: HandClock) -> None:
    with pytest.raises(ValueError, match="no secret"):
        verify_webhook(BODY, sent("body", clock), "", now=clock.now())


def test_what_fits_and_is_no_event_is_refused(clock: HandClock) -> None:
    headers = signature.headers(signature.HookSecrets(SECRET), "body", "evt_1", b"{}", now=clock.now())
    with pytest.raises(BadSignature, match="no event"):
        verify_webhook(b"{}", headers, PLAIN, now=clock.now())


def test_a_delivery_is_taken_for_five_minutes_in_both_directions(clock: HandClock) -> None:
    headers = sent("timestamped", clock)
    for seconds, valid in ((-301, False), (-300, True), (300, True), (301, False)):
        verdict = check(BODY, headers, PLAIN, now=clock.now() + timedelta(seconds=seconds))
        assert verdict.valid is valid, verdict


@pytest.mark.parametrize(
    "timestamp", ["", "now", "2026-03-01", "2026-03-01T12:00:00", "2026-03-01T12:00:00.0Z", "2026-13-01T12:00:00Z",
                  "2026-03-01T12:00:00+00:00", "٢٠٢٦-03-01T12:00:00Z", "2026-03-01T12:00:00Z\n"]
)  # fmt: skip
def test_only_one_spelling_of_a_time_is_one_even_if_it_was_signed(timestamp: str, clock: HandClock) -> None:
    headers = {
        "X-Service-Timestamp": timestamp,
        "X-Service-Signature": signature.digest(SECRET, BODY, timestamp),
    }
    verdict = check(BODY, headers, PLAIN, now=clock.now())
    assert (verdict.valid, verdict.reason) == (False, "X-Service-Timestamp is not a time.")


def test_a_body_cut_at_its_first_dot_does_not_pass_for_a_timestamped_one(clock: HandClock) -> None:
    start, _, rest = BODY.partition(b".")
    headers = sent("body", clock) | {"X-Service-Timestamp": start.decode()}
    assert not check(rest, headers, PLAIN, now=clock.now()).valid


@pytest.mark.parametrize("scheme", SCHEMES)
def test_during_a_rotation_the_old_and_the_new_secret_are_both_good(scheme: Scheme, clock: HandClock) -> None:
    new = Secret("whsec_" + "A" * 43 + "=")
    before = signature.HookSecrets(SECRET).rotated(new, clock.now(), at_once=False)
    after = signature.HookSecrets(SECRET).rotated(new, clock.now(), at_once=True)
    for secrets, mine, word in ((before, new, "takes over next"), (after, SECRET, "the secret before")):
        verdict = check(BODY, sent(scheme, clock, secrets), mine.reveal(), now=clock.now())
        assert (verdict.valid, word in verdict.reason) == (True, True)
