"""A browser that has signed in to an account before says so by a cookie, so that attempts of strangers do not count
against it. The cookie opens nothing."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta

from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, ValueCipher
from deedbox.kernel.tokens import TokenPrefix

_PLACE = "known_device:{person_id}"


def create(box: ValueCipher, person_id: str, now: datetime) -> Secret:
    """The token of a browser that has just signed in as this person."""
    ends = instant(now + timedelta(days=limits.KNOWN_DEVICE_DAYS)).encode()
    sealed = box.encrypt(ends, _PLACE.format(person_id=person_id))
    return Secret(TokenPrefix.DEVICE + urlsafe_b64encode(sealed).decode().rstrip("="))


def is_known(box: ValueCipher, token: str, person_id: str, now: datetime) -> bool:
    """Whether this server gave the token to a browser that signed in as this person, not too long ago."""
    try:
        sealed = urlsafe_b64decode(token.removeprefix(TokenPrefix.DEVICE) + "==")
        return box.decrypt(sealed, _PLACE.format(person_id=person_id)).decode() > instant(now)
    except ValueError:
        return False
