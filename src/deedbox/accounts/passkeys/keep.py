"""A person's passkeys: adding one, signing in with it, removing it."""

from datetime import datetime
from typing import TYPE_CHECKING

from deedbox.accounts import limits, people
from deedbox.accounts.passkeys import ceremony, store
from deedbox.accounts.passkeys.ceremony import Site
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, NotFound, Unauthorized
from deedbox.kernel.ids import new_id

if TYPE_CHECKING:
    from webauthn.registration.verify_registration_response import VerifiedRegistration


def add(tx: Tx, person_id: str, name: str, found: "VerifiedRegistration", *, now: datetime) -> None:
    """Keeps what a browser has made and shown."""
    if not name.strip() or len(name) > shared_limits.PASSKEY_NAME_CHARS:
        raise BadRequest(f"The name must have 1 to {shared_limits.PASSKEY_NAME_CHARS} characters")
    if len(store.of_person(tx, person_id)) >= limits.PASSKEYS_PER_PERSON:
        raise Conflict(f"You have {limits.PASSKEYS_PER_PERSON} passkeys already. Remove one first.")
    if store.by_credential(tx, found.credential_id) is not None:
        raise Conflict("This passkey is known already")
    store.add(
        tx,
        store.PasskeyRow(
            id=new_id("pky", now),
            person_id=person_id,
            name=name.strip(),
            credential_id=found.credential_id,
            public_key=found.credential_public_key,
            sign_count=found.sign_count,
            created_at=instant(now),
            used_on=None,
        ),
    )


def sign_in(tx: Tx, site: Site, answer: str, challenge: bytes, device: people.Device, *, now: datetime) -> Secret:
    """A session of the passkey's person; Unauthorized unless the answer is right."""
    known = store.by_credential(tx, ceremony.credential_id(answer))
    if known is None:
        raise Unauthorized("This passkey does not open an account here.")
    found = ceremony.shown(site, answer, challenge, known)
    store.record_use(tx, known.id, found.new_sign_count, people.day(now))
    return people.open_session(tx, known.person_id, device, passkey_id=known.id, now=now)


def remove(tx: Tx, person_id: str, passkey_id: str) -> None:
    """Removes a passkey and ends every session that it opened."""
    if not store.drop(tx, person_id, passkey_id):
        raise NotFound("This passkey is removed already")
    store.drop_sessions(tx, person_id, passkey_id)
