"""Who makes a request: the API key, the person or the signer that a door asks for, and what they may use."""

import functools
import ipaddress
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from deedbox.accounts import keys, people
from deedbox.accounts.caller import Caller
from deedbox.kernel import limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.errors import Unauthorized
from deedbox.kernel.ids import is_id
from deedbox.kernel.ratelimit import ADDRESS, Allowance
from deedbox.signing import sessions
from deedbox.web.frame import cookies
from deedbox.web.frame.head import Scope

if TYPE_CHECKING:
    from datetime import datetime

    from deedbox.wiring import Deedbox

_BEARER = b"bearer "
_PERSON_BUDGET = Allowance(per_minute=limits.PERSON_PER_MINUTE, per_day=None)
_SIGNER_BUDGET = Allowance(per_minute=limits.SIGNER_PER_MINUTE, per_day=None)
_LINK_BUDGET = Allowance(per_minute=limits.LINK_PER_MINUTE, per_day=None)


class Visitor(msgspec.Struct, frozen=True):
    """Whose cookie it is."""

    session: people.Session | sessions.Session
    token: Secret


class Budget(msgspec.Struct, frozen=True):
    """Whom a request is counted for, and how many of them may make."""

    subject: str
    allowance: Allowance


Identity: TypeAlias = Caller | Visitor


async def of_key(deedbox: "Deedbox", scope: Scope, now: "datetime") -> Caller:
    """The key that the request carries; Unauthorized unless it is one that works."""
    value = next((value for name, value in scope["headers"] if name == b"authorization"), None)
    if value is None:
        raise Unauthorized("Missing API key. Send it as Authorization: Bearer <API_KEY>")
    plain = value[len(_BEARER) :].decode("latin-1")
    if value[: len(_BEARER)].lower() != _BEARER or not keys.has_shape(plain):
        raise Unauthorized("Malformed API key. Send it as Authorization: Bearer <API_KEY>")
    at = instant(now)
    return await deedbox.db.read(lambda tx: keys.authenticate(tx, plain, at))


async def of_person(deedbox: "Deedbox", scope: Scope, now: "datetime") -> Visitor:
    """Whose login cookie the request carries; Unauthorized unless the session lasts."""
    token = cookies.sent(scope, deedbox.settings, cookies.PERSON)
    people.need_shape(token)
    return Visitor(await deedbox.db.read(lambda tx: people.session(tx, token, now=now)), Secret(token))


async def of_signer(deedbox: "Deedbox", scope: Scope, signer_id: str, now: "datetime") -> Visitor:
    """The signer whom the address names, with their own cookie; Unauthorized unless the session lasts and is theirs."""
    token = cookies.sent(scope, deedbox.settings, cookies.of_signer(signer_id)) if is_id(signer_id, "sgn") else ""
    sessions.need_shape(token)
    session = await deedbox.db.read(lambda tx: sessions.current(tx, token, now=now))
    if session.signer_id != signer_id:
        raise Unauthorized("Your signing session is for another document. Open the link in your mail again.")
    return Visitor(session, Secret(token))


async def of_link(deedbox: "Deedbox", token: str) -> Budget:
    """The budget of the link: readers behind one address do not use up each other's. NotFound if there is no such."""
    sessions.need_link_shape(token)
    await deedbox.db.read(lambda tx: sessions.link(tx, token))
    return Budget(f"link:{sha256(token).hex()}", _LINK_BUDGET)


def budget(who: Identity) -> Budget:
    if isinstance(who, Caller):
        return Budget(who.id, who.allowance)
    hashed = sha256(who.token.reveal()).hex()
    if isinstance(who.session, people.Session):
        return Budget(f"person:{hashed}", _PERSON_BUDGET)
    return Budget(f"signer:{hashed}", _SIGNER_BUDGET)


def address(scope: Scope) -> str:
    """Where the request comes from: whom it counts for while nobody better is known."""
    client = scope["client"]
    return neighbourhood(client[0][: limits.ADDRESS_CHARS] if client else "unknown")


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
