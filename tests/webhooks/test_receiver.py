"""The product's own receiver says of a delivery what the rules say."""

from datetime import timedelta

import pytest

from deedbox.kernel.crypto import Secret
from deedbox.webhooks import signature
from deedbox.webhooks.hook import Scheme
from deedbox.webhooks.receiver import check
from tests.conftest import HandClock

SECRET = signature.new_secret()
BODY = '{"id":"evt_1","type":"document.sent","data":{"title":"Überlassung 1.pdf"}}'.encode()
SCHEMES: tuple[Scheme, ...] = ("body", "timestamped")


def sent(scheme: Scheme, clock: HandClock, secrets: signature.Secrets | None = None) -> dict[str, str]:
    made = signature.headers(secrets or signature.Secrets(SECRET), scheme, "evt_1", BODY, now=clock.now())
    return {name.lower(): value for name, value in made.items()}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ours_is_valid_and_its_scheme_is_seen_by_its_headers(scheme: Scheme, clock: HandClock) -> None:
    verdict = check(SECRET, sent(scheme, clock), BODY, now=clock.now())
    assert (verdict.valid, verdict.scheme, verdict.reason) == (True, scheme, "The signature fits.")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_another_secret_body_or_signature_is_not(scheme: Scheme, clock: HandClock) -> None:
    headers, now = sent(scheme, clock), clock.now()
    given = headers["x-service-signature"]
    assert not check(signature.new_secret(), headers, BODY, now=now).valid
    assert not check(SECRET, headers, BODY + b"\n", now=now).valid
    for forged in (
        "",
        "sha256=",
        given[:-1],
        given + "0",
        given.upper(),
        given[7:],
        "sha256=" + given[7:].upper(),
        "é",
    ):
        assert not check(SECRET, headers | {"x-service-signature": forged}, BODY, now=now).valid, forged
    del headers["x-service-signature"]
    assert check(SECRET, headers, BODY, now=now).reason == "There is no X-Service-Signature."


def test_a_delivery_is_taken_for_five_minutes_in_both_directions(clock: HandClock) -> None:
    headers = sent("timestamped", clock)
    for seconds, valid in ((-301, False), (-300, True), (300, True), (301, False)):
        verdict = check(SECRET, headers, BODY, now=clock.now() + timedelta(seconds=seconds))
        assert verdict.valid is valid, verdict


@pytest.mark.parametrize(
    "timestamp", ["", "now", "2026-03-01", "2026-03-01T12:00:00", "2026-03-01T12:00:00.0Z", "2026-13-01T12:00:00Z",
                  "2026-03-01T12:00:00+00:00", "٢٠٢٦-03-01T12:00:00Z", "2026-03-01T12:00:00Z\n"]
)  # fmt: skip
def test_only_one_spelling_of_a_time_is_one_even_if_it_was_signed(timestamp: str, clock: HandClock) -> None:
    headers = {
        "x-service-timestamp": timestamp,
        "x-service-signature": signature.digest(SECRET, BODY, timestamp),
    }
    verdict = check(SECRET, headers, BODY, now=clock.now())
    assert (verdict.valid, verdict.reason) == (False, "X-Service-Timestamp is not a time.")


def test_a_body_cut_at_its_first_dot_does_not_pass_for_a_timestamped_one(clock: HandClock) -> None:
    start, _, rest = BODY.partition(b".")
    headers = sent("body", clock) | {"x-service-timestamp": start.decode()}
    assert not check(SECRET, headers, rest, now=clock.now()).valid


@pytest.mark.parametrize("scheme", SCHEMES)
def test_during_a_rotation_the_old_and_the_new_secret_are_both_good(scheme: Scheme, clock: HandClock) -> None:
    new = Secret("whsec_" + "A" * 43 + "=")
    before = signature.Secrets(SECRET).rotated(new, clock.now(), at_once=False)
    after = signature.Secrets(SECRET).rotated(new, clock.now(), at_once=True)
    for secrets, mine, word in ((before, new, "takes over next"), (after, SECRET, "the secret before")):
        verdict = check(mine, sent(scheme, clock, secrets), BODY, now=clock.now())
        assert (verdict.valid, word in verdict.reason) == (True, True)
