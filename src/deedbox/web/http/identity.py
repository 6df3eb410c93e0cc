"""Who makes a request: the API key, the person or the signer that a door asks for, and what they may use."""

import functools
import ipaddress
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from deedbox.accounts import keys, people
from deedbox.accounts.caller import Caller
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Unauthorized
from deedbox.kernel.ids import is_id
from deedbox.kernel.ratelimit import ADDRESS, Allowance
from deedbox.signing import sessions
from deedbox.web import limits
from deedbox.web.http import cookies, framing
from deedbox.web.http.head import Scope

if TYPE_CHECKING:
    from datetime import datetime

    from deedbox.wiring import Installation

_BEARER = b"bearer "
_PERSON_BUDGET = Allowance(per_minute=shared_limits.PERSON_PER_MINUTE, per_day=None)
_SIGNER_BUDGET = Allowance(per_minute=limits.SIGNER_PER_MINUTE, per_day=None)
_LINK_BUDGET = Allowance(per_minute=limits.LINK_PER_MINUTE, per_day=None)


class Visitor(msgspec.Struct, frozen=True):
    """Whose cookie it is."""

    session: people.PersonSession | sessions.SignerSession
    token: Secret
    in_frame: bool = False
    """Whether it is the cookie of a frame, which browsers send whatever site asks."""


class Budget(msgspec.Struct, frozen=True):
    """Whom a request is counted for, and how many of them may make."""

    subject: str
    allowance: Allowance


Identity: TypeAlias = Caller | Visitor


async def of_key(deedbox: "Installation", scope: Scope, now: "datetime") -> Caller:
    """The key that the request carries; Unauthorized unless it is one that works."""
    value = next((value for name, value in scope["headers"] if name == b"authorization"), None)
    if value is None:
        raise Unauthorized("Missing API key. Send it as Authorization: Bearer <API_KEY>")
    plain = value[len(_BEARER) :].decode("latin-1")
    if value[: len(_BEARER)].lower() != _BEARER or not keys.has_shape(plain):
        raise Unauthorized("Malformed API key. Send it as Authorization: Bearer <API_KEY>")
    at = instant(now)
    return await deedbox.db.read(lambda tx: keys.authenticate(tx, plain, at))


async def of_person(deedbox: "Installation", scope: Scope, now: "datetime") -> Visitor:
    """Whose login cookie the request carries; Unauthorized unless the session lasts."""
    token = cookies.sent(scope, deedbox.settings, cookies.PERSON)
    people.need_shape(token)
    return Visitor(await deedbox.db.read(lambda tx: people.session(tx, token, now=now)), Secret(token))


class SignerCookie(msgspec.Struct, frozen=True):
    token: str
    in_frame: bool


def signer_cookies(deedbox: "Installation", scope: Scope, signer_id: str) -> list[SignerCookie]:
    """What the request carries for the signer whom the address names; first the kind that belongs where it is shown."""
    if not is_id(signer_id, "sgn"):
        return []
    framed = cookies.asked_from_frame(scope)
    found = [
        SignerCookie(cookies.sent(scope, deedbox.settings, cookies.of_signer(signer_id, in_frame=kind)), kind)
        for kind in (framed, not framed)
    ]
    return [one for one in found if sessions.has_shape(one.token)]


def of_signer(tx: Tx, sent: Sequence[SignerCookie], signer_id: str, now: "datetime") -> Visitor:
    """The signer whom the address names, with a cookie of theirs; Unauthorized unless a session lasts and is theirs."""
    refusals = []
    for one in sent:
        try:
            session = sessions.current(tx, one.token, now=now)
        except Unauthorized as error:  # the other cookie's may last
            refusals.append(error)
            continue
        if session.signer_id == signer_id:
            return Visitor(session, Secret(one.token), one.in_frame)
        other = "Your signing session is for another document. Open the link in your mail again."
        refusals.append(Unauthorized(other))
    raise refusals[0]


async def of_link(deedbox: "Installation", token: str) -> tuple[Budget, list[str]]:
    """The budget of the link: readers behind one address do not use up each other's; and the sites that may show it.

    NotFound if there is no such link."""
    sessions.need_link_shape(token)
    frames = await deedbox.db.read(lambda tx: framing.sites_of_link(tx, sessions.link(tx, token)))
    return Budget(f"link:{sha256(token).hex()}", _LINK_BUDGET), frames


def budget(who: Identity) -> Budget:
    if isinstance(who, Caller):
        return Budget(who.id, who.allowance)
    hashed = sha256(who.token.reveal()).hex()
    if isinstance(who.session, people.PersonSession):
        return Budget(f"person:{hashed}", _PERSON_BUDGET)
    return Budget(f"signer:{hashed}", _SIGNER_BUDGET)


def address(scope: Scope) -> str:
    """Where the request comes from: whom it counts for while nobody better is known."""
    client = scope["client"]
    return neighbourhood(client[0][: shared_limits.ADDRESS_CHARS] if client else "unknown")


@functools.lru_cache(maxsize=limits.ADDRESSES_KNOWN)
def neighbourhood(host: str) -> str:
    """Who counts as one caller without a key: an IPv4 address, or an IPv6 network of the size one customer gets."""
    if ":" not in host:
        return ADDRESS + host
    try:
        six = ipaddress.IPv6Address(host.split("%", 1)[0])
    except ValueError:  # a proxy may pass on whatever its own caller wrote
        return ADDRESS + host
    if six.ipv4_mapped is not None:  # how a socket that listens on both names an IPv4 caller
        return ADDRESS + str(six.ipv4_mapped)
    return ADDRESS + str(ipaddress.IPv6Network((six, limits.ANONYMOUS_IPV6_PREFIX), strict=False))
