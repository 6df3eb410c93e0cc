"""What a browser is asked, and whether its answer is right. The question is kept here, for one answer and not long."""

import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from deedbox.accounts.passkeys import store
from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, Unauthorized

if TYPE_CHECKING:
    from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
    from webauthn.registration.verify_registration_response import VerifiedRegistration

_TOO_LATE = "The passkey was asked for too long ago, or has answered already. Try again."


class Site(msgspec.Struct, frozen=True):
    """Where people reach this server: a passkey is made for one host, and works at no other."""

    host: str
    origin: str


class Owner(msgspec.Struct, frozen=True):
    """Whom a new passkey is for."""

    id: str
    name: str
    email: str


def ask_for_new(tx: Tx, site: Site, owner: Owner, holder: Secret, *, now: datetime) -> bytes:
    """The question for a browser that is to make a passkey, as JSON; only this holder can answer it."""
    from webauthn import generate_registration_options, options_to_json
    from webauthn.helpers import structs

    options = generate_registration_options(
        rp_id=site.host,
        rp_name="Deedbox",
        user_id=owner.id.encode(),
        user_name=owner.email,
        user_display_name=owner.name,
        challenge=_challenge(tx, holder, now),
        timeout=limits.PASSKEY_SECONDS * 1000,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            structs.PublicKeyCredentialDescriptor(id=one.credential_id) for one in store.of_person(tx, owner.id)
        ],
    )
    return options_to_json(options).encode()


def ask_for_one(tx: Tx, site: Site, holder: Secret, *, now: datetime) -> bytes:
    """The question for a browser that is to show a passkey, whosever it is, as JSON."""
    from webauthn import generate_authentication_options, options_to_json
    from webauthn.helpers import structs

    options = generate_authentication_options(
        rp_id=site.host,
        challenge=_challenge(tx, holder, now),
        timeout=limits.PASSKEY_SECONDS * 1000,
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return options_to_json(options).encode()


def verify_new_passkey(site: Site, answer: str, challenge: bytes) -> "VerifiedRegistration":
    """The new passkey that the browser tells of; BadRequest unless it was made for this question, here."""
    from webauthn import verify_registration_response
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        return verify_registration_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadRequest("The browser's answer is no passkey for this site. Try again.") from error


def shown(site: Site, answer: str, challenge: bytes, known: store.PasskeyRow) -> "VerifiedAuthentication":
    """What the passkey has shown; Unauthorized unless it answers this question, here."""
    from webauthn import verify_authentication_response
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        return verify_authentication_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=site.host,
            expected_origin=site.origin,
            credential_public_key=known.public_key,
            credential_current_sign_count=known.sign_count,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unauthorized("This passkey does not open an account here.") from error


def credential_id(answer: str) -> bytes:
    """Which passkey answers; Unauthorized where that cannot be read."""
    from webauthn import base64url_to_bytes

    try:
        said: Any = msgspec.json.decode(answer)
        return base64url_to_bytes(said["id"])
    except (msgspec.DecodeError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unauthorized("This passkey does not open an account here.") from error


def take_challenge(tx: Tx, holder: Secret, *, now: datetime) -> bytes:
    """The challenge that was given to this holder; Conflict if it has run out or was answered."""
    challenge = store.take_challenge(tx, sha256(holder.reveal()), instant(now))
    if challenge is None:
        raise Conflict(_TOO_LATE)
    return challenge


def _challenge(tx: Tx, holder: Secret, now: datetime) -> bytes:
    made_now = secrets.token_bytes(32)
    expires = instant(now + timedelta(seconds=limits.PASSKEY_SECONDS))
    store.put_challenge(tx, sha256(holder.reveal()), made_now, expires)
    return made_now
