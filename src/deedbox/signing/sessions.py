"""How a signer gets in: a link that works once, exchanged for a session; and a code where the sender wants one."""

import secrets
from datetime import datetime, timedelta

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.clock import Instant, instant
from deedbox.kernel.crypto import Secret, same, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Code, Conflict, Forbidden, NotFound, TooManyRequests, Unauthorized
from deedbox.signing import states
from deedbox.signing.model import Packet, Signer
from deedbox.signing.parties import find_signer
from deedbox.signing.store import links, people
from deedbox.signing.store.links import LinkKind

_TOKEN_BYTES = 24
_CODE_DIGITS = 6


class Session(msgspec.Struct, frozen=True):
    """A signer who is in."""

    workspace_id: str
    packet_id: str
    signer_id: str
    checked: bool
    """Whether the code that the sender wants was given."""


def new_link(tx: Tx, signer_id: str, kind: LinkKind, *, now: datetime) -> Secret:
    """The token of a new link; only its hash is kept."""
    token = Secret(f"deed_sign_{secrets.token_urlsafe(_TOKEN_BYTES)}")
    lasts = (
        timedelta(seconds=limits.EMBEDDED_LINK_SECONDS)
        if kind == "embedded"
        else timedelta(days=limits.SIGNING_LINK_DAYS)
    )
    links.add_link(tx, sha256(token.reveal()), signer_id, kind, instant(now), instant(now + lasts))
    return token


def embedded_link(tx: Tx, packet: Packet, signer_id: str, *, now: datetime) -> tuple[Secret, Instant]:
    """A link for a signer whose turn it is, to be shown in a page of the sender's; and when it ends."""
    party, signer = find_signer(packet, signer_id)
    states.after(packet.first.status, "sign")
    if party.status != "active" or signer.status not in ("notified", "viewed"):
        raise Conflict(f"It is not {signer.name}'s turn to sign")
    return new_link(tx, signer_id, "embedded", now=now), instant(now + timedelta(seconds=limits.EMBEDDED_LINK_SECONDS))


def exchange(tx: Tx, token: str, *, now: datetime) -> Secret:
    """A session for the link's token, which works no second time."""
    signer_id = links.use_link(tx, sha256(token), instant(now))
    if signer_id is None:
        if links.is_known(tx, sha256(token)):
            raise Conflict("This signing link was used before or has expired. Ask the sender for a new one.")
        raise NotFound("This signing link is not valid. Check that it was copied whole.")
    session = Secret(f"deed_session_{secrets.token_urlsafe(_TOKEN_BYTES)}")
    expires = instant(now + timedelta(seconds=limits.SIGNER_SESSION_SECONDS))
    links.add_session(tx, sha256(session.reveal()), signer_id, instant(now), expires)
    return session


def current(tx: Tx, token: str, *, now: datetime) -> Session:
    """The session of this token; Unauthorized when it is over."""
    found = links.session(tx, sha256(token), instant(now)) if token else None
    signer_id, checked = found or ("", False)
    place = people.place_of(tx, signer_id) if found else None
    if place is None:
        raise Unauthorized("Your signing session is over. Open the link in your mail again, or ask for a new one.")
    return Session(*place, signer_id, checked)


def new_code(tx: Tx, signer_id: str, *, now: datetime) -> Secret:
    """A fresh number to be sent to the signer's mailbox."""
    code = Secret(f"{secrets.randbelow(10**_CODE_DIGITS):0{_CODE_DIGITS}}")
    expires = instant(now + timedelta(seconds=limits.SIGNER_CODE_SECONDS))
    links.keep_code(tx, signer_id, access_code_hash(signer_id, code.reveal()), expires)
    return code


def count_try(tx: Tx, signer_id: str, *, now: datetime) -> None:
    """Counts an attempt at the code, before it is looked at; too many are refused for a while."""
    since = instant(now - timedelta(seconds=limits.SIGNER_CODE_SECONDS))
    if links.count_try(tx, signer_id, instant(now), since) > limits.SIGNER_CODE_TRIES:
        raise TooManyRequests(
            "Too many attempts. Wait a quarter of an hour and try again.",
            headers={"Retry-After": str(limits.SIGNER_CODE_SECONDS)},
        )


def access_code_hash(signer_id: str, code: str) -> bytes:
    return sha256(f"{signer_id}:{code}")


def check_code(tx: Tx, token: str, signer: Signer, code: str, *, now: datetime) -> bool:
    """Whether this is the code; the session is then as good as the signer."""
    given = access_code_hash(signer.id, code.strip())
    expected = signer.access_code_hash or links.code(tx, signer.id, instant(now))
    if expected is None or not same(given, expected):
        return False
    links.mark_checked(tx, sha256(token), instant(now))
    return True


def need_checked(session: Session, auth: str) -> None:
    """Forbidden until the code was given that the sender wants."""
    if auth != "none" and not session.checked:
        raise Forbidden("Enter your code first", code=Code.FORBIDDEN)


def forget(tx: Tx, signer_id: str) -> None:
    """Every link and session of the signer dies."""
    links.forget(tx, signer_id)
