"""The prefixes of all tokens, by which logs recognise and redact them."""

import secrets
from enum import StrEnum

from deedbox.kernel.crypto import Secret


class TokenPrefix(StrEnum):
    API_KEY = "deed_live_"
    DEVICE = "deed_device_"
    INVITATION = "deed_join_"
    LOGIN_LINK = "deed_login_"
    PASSKEY_REQUEST = "deed_passkey_"
    RESET_LINK = "deed_reset_"
    SESSION = "deed_session_"
    SIGNING_LINK = "deed_sign_"
    HOOK = "whsec_"


def create(prefix: TokenPrefix, size: int = 32) -> Secret:
    """A new token from this many random bytes."""
    return Secret(prefix + secrets.token_urlsafe(size))
