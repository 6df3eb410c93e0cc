"""People and how they sign in: a one-time link first, then a password of their own. No default password, ever."""

import re
from datetime import datetime, timedelta

import msgspec

from deedbox.accounts import store
from deedbox.accounts.caller import Caller
from deedbox.accounts.passkeys import store as passkeys_store
from deedbox.accounts.roles import Role, scopes_of
from deedbox.kernel import limits, tokens
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, Unauthorized
from deedbox.kernel.ids import new_id
from deedbox.kernel.mailbox import checked_address
from deedbox.kernel.ratelimit import Allowance
from deedbox.kernel.tokens import TokenPrefix

_SESSION_SHAPE = re.compile(TokenPrefix.SESSION + r"[A-Za-z0-9_-]{43}")

UNNAMED = "Owner"
"""What a person is called who has not chosen a name yet."""


class PersonSession(msgspec.Struct, frozen=True):
    person_id: str
    workspace_id: str
    workspace_name: str
    name: str
    email: str | None
    password_hash: Secret | None
    """None until a password is chosen, and again once it is forgotten."""
    role: Role
    """What they may do in the workspace that they are signed in to."""
    id: str
    created_at: str
    seen_on: str
    """The day on which it was last in use, as far as that is written down."""

    @property
    def caller(self) -> Caller:
        """The person as one who asks for something: with the scopes of the role."""
        allowance = Allowance(per_minute=limits.PERSON_PER_MINUTE, per_day=None)
        scopes = scopes_of(self.role)
        return Caller(self.person_id, self.workspace_id, scopes, allowance, self.name, is_owner=self.role == "owner")


class Device(msgspec.Struct, frozen=True):
    """Where a session is opened: the address, and the browser as it calls itself."""

    address: str = "unknown"
    agent: str = ""


NOWHERE = Device()
"""Where a session is opened by no browser."""


class AccountChange(msgspec.Struct, frozen=True):
    """How a person is called and signs in from now on."""

    name: str
    email: str
    password_hash: str | None
    """None: the password stays."""
    instead_of: Secret | None = None
    """The hash of the password that the person has shown to know, where there is one."""


def add_owner(tx: Tx, workspace_id: str, *, now: datetime) -> str:
    """The id of a new person who owns the workspace and has yet to choose e-mail and password."""
    person_id = new_id("per", now)
    store.add_person(tx, person_id, UNNAMED, instant(now))
    store.add_member(tx, workspace_id, person_id, "owner", instant(now))
    return person_id


def login_link(tx: Tx, person_id: str, *, now: datetime) -> Secret:
    """A token that signs this person in, once, within the hour."""
    token = tokens.create(TokenPrefix.LOGIN_LINK)
    expires = instant(now + timedelta(minutes=limits.LOGIN_LINK_MINUTES))
    store.add_login_link(tx, sha256(token.reveal()), person_id, instant(now), expires)
    return token


def redeem(tx: Tx, token: str, device: Device = NOWHERE, *, now: datetime) -> Secret:
    """A login session for an unused, unexpired link: of two that try at once, one gets it."""
    person_id = _use_link(tx, TokenPrefix.LOGIN_LINK, token, now)
    if person_id is None:
        raise Unauthorized("This login link has already been used or has expired. Create a new one: deedbox login-link")
    return open_session(tx, person_id, device, now=now)


def _use_link(tx: Tx, prefix: TokenPrefix, token: str, now: datetime) -> str | None:
    """The id of the person whose link this is, which then works no more."""
    return store.use_login_link(tx, sha256(token), instant(now)) if token.startswith(prefix) else None


def open_session(
    tx: Tx,
    person_id: str,
    device: Device = NOWHERE,
    *,
    workspace_id: str | None = None,
    passkey_id: str | None = None,
    now: datetime,
) -> Secret:
    """A session in this workspace, else in the person's first; Unauthorized for who is a member of none."""
    token = tokens.create(TokenPrefix.SESSION)
    new = store.NewSession(
        token_hash=sha256(token.reveal()),
        id=new_id("ses", now),
        person_id=person_id,
        workspace_id=workspace_id,
        address=device.address[: limits.ADDRESS_CHARS],
        agent=device.agent[: limits.USER_AGENT_CHARS],
        created_at=instant(now),
        seen_on=day(now),
        expires_at=instant(now + timedelta(days=limits.LOGIN_SESSION_DAYS)),
        passkey_id=passkey_id,
    )
    if not store.add_session(tx, new):
        raise Unauthorized("You are no longer a member of any workspace here. Ask an owner of one for an invitation.")
    return token


def day(now: datetime) -> str:
    """The day as sessions and passkeys keep it: to the day is enough to know one that is forgotten."""
    return f"{instant(now)[:10]}T00:00:00Z"


def need_shape(token: str) -> None:
    """Unauthorized for what cannot be a session's token, without a look into the database."""
    if not _SESSION_SHAPE.fullmatch(token):
        raise _no_session()


def session(tx: Tx, token: str, *, now: datetime) -> PersonSession:
    """Whose session this is."""
    found = store.session(tx, sha256(token), instant(now))
    if found is None:
        raise _no_session()
    person_id, workspace_id, workspace_name, name, email, stored, *rest = found
    password_hash = Secret(stored) if stored is not None else None
    return PersonSession(person_id, workspace_id, workspace_name, name, email, password_hash, *rest)


def _no_session() -> Unauthorized:
    return Unauthorized("You are not signed in, or your session has ended. Sign in again.")


def close_session(tx: Tx, token: str) -> None:
    store.drop_session(tx, sha256(token))


def settle(tx: Tx, person_id: str, wanted: AccountChange, *, keep: str) -> None:
    """Sets a person's name, e-mail and password: links that were sent before end, and with a new password every
    session but the `keep` one."""
    if not wanted.name.strip() or len(wanted.name) > limits.PERSON_NAME_CHARS:
        raise BadRequest(f"The name must have 1 to {limits.PERSON_NAME_CHARS} characters")
    address = checked_address(wanted.email).lower()
    if store.is_email_in_use(tx, address, person_id):
        raise Conflict("Another person uses this e-mail address")
    before = wanted.instead_of.reveal() if wanted.instead_of else None
    if not store.update_person(tx, person_id, wanted.name.strip(), address, wanted.password_hash or before, before):
        raise Conflict("The password was changed at this very moment. Sign in again.")
    # They may lie in the mailbox of an address that is no longer theirs.
    store.drop_login_links(tx, person_id)
    if wanted.password_hash is not None:
        store.drop_other_sessions(tx, person_id, sha256(keep))


def forget_password(tx: Tx, person_id: str) -> None:
    """Whoever signs in next by a link chooses another one; every session, passkey and other link ends."""
    store.forget_password(tx, person_id)
    passkeys_store.drop_all(tx, person_id)
    _end_access(tx, person_id, keep="")


def _end_access(tx: Tx, person_id: str, keep: str) -> None:
    store.drop_other_sessions(tx, person_id, sha256(keep))
    store.drop_login_links(tx, person_id)


def reset_link(tx: Tx, person_id: str, *, now: datetime) -> Secret:
    """A token by which this person may choose a new password, once, within the hour."""
    token = tokens.create(TokenPrefix.RESET_LINK)
    expires = instant(now + timedelta(minutes=limits.RESET_MINUTES))
    store.add_login_link(tx, sha256(token.reveal()), person_id, instant(now), expires)
    return token


def reset(tx: Tx, token: str, password_hash: str, device: Device = NOWHERE, *, now: datetime) -> Secret:
    """A session of the person whose new password this is; every other session, passkey and link of theirs ends."""
    person_id = _use_link(tx, TokenPrefix.RESET_LINK, token, now)
    if person_id is None:
        raise Unauthorized("This link has already been used or has expired. Request a new one.")
    store.set_password(tx, person_id, password_hash)
    passkeys_store.drop_all(tx, person_id)
    _end_access(tx, person_id, keep="")
    return open_session(tx, person_id, device, now=now)


def login_name(typed: str) -> str:
    """The e-mail address as `settle` has stored it, however it was typed; what is no address names nobody."""
    try:
        return checked_address(typed).lower()
    except BadRequest:
        return typed.lower()


def check_password_rules(password: str) -> None:
    if not limits.PASSWORD_CHARS_MIN <= len(password) <= limits.PASSWORD_CHARS_MAX:
        raise BadRequest(f"A password must have {limits.PASSWORD_CHARS_MIN} to {limits.PASSWORD_CHARS_MAX} characters")
