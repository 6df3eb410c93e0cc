"""What every way to sign in shares: where someone comes from, the cookie, and how often they may try."""

from datetime import timedelta
from typing import NamedTuple, cast

from litestar import Response
from litestar.datastructures import Cookie

from deedbox.accounts import known_device, people, store
from deedbox.accounts.people import Device
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import moment
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.errors import Forbidden, TooManyRequests, Unauthorized
from deedbox.kernel.ratelimit import Allowance
from deedbox.kernel.slow_hash import matches
from deedbox.web import limits
from deedbox.web.http import context, cookies, identity
from deedbox.web.http.context import AnyRequest, origin
from deedbox.web.http.head import Scope
from deedbox.web.http.pages import go

_TRIES = Allowance(per_minute=limits.LOGIN_TRIES_PER_MINUTE, per_day=limits.LOGIN_TRIES_PER_DAY)
_DEVICE = "deedbox_device"
"""The cookie of a browser that has signed in before. It opens nothing; its attempts are counted apart from others'."""


class Tries(NamedTuple):
    """How many attempts at one account are allowed."""

    what: str
    message: str
    each: Allowance
    """From one address, or from one device that has signed in to the account before."""
    together: Allowance
    """From all unknown devices: else a crowd of addresses could guess for as long as it likes."""


_LOGIN = Tries(
    "login",
    WORDS["tries_address"],
    _TRIES,
    Allowance(per_minute=limits.LOGIN_TRIES_OF_ALL_PER_MINUTE, per_day=limits.LOGIN_TRIES_OF_ALL_PER_DAY),
)


def device(request: AnyRequest) -> Device:
    return Device(*origin(request))


def cookie(request: AnyRequest, token: Secret | None) -> Cookie:
    """The cookie of a session, or the one that removes it."""
    return cookies.create_cookie(request, cookies.PERSON, token, shared_limits.LOGIN_SESSION_DAYS * 86400)


async def enter(request: AnyRequest, token: Secret) -> Response[None]:
    """Leads into a session that was just opened; the browser is known to its account from now on."""
    deedbox, now = context.of(request).deedbox, context.of(request).deedbox.clock.now()
    person_id = (await deedbox.db.read(lambda tx: people.session(tx, token.reveal(), now=now))).person_id
    device_token = known_device.create(deedbox.box, person_id, now)
    known = cookies.create_cookie(request, _DEVICE, device_token, shared_limits.KNOWN_DEVICE_DAYS * 86400)
    return go("/app", cookie(request, token), known)


async def person_with(request: AnyRequest, email: str, password: str) -> str:
    """The id of whose e-mail address and password these are; Unauthorized where they are nobody's."""
    deedbox = context.of(request).deedbox
    found = await deedbox.db.read(lambda tx: store.credentials(tx, email))
    person_id, stored = found if found else (None, None)
    await need_try_at(request, email, person_id, _LOGIN)
    if not await matches(stored, password) or person_id is None:
        raise Unauthorized(WORDS["login_wrong"])
    known: str = person_id
    return known


async def need_try_at(request: AnyRequest, email: str, person_id: str | None, tries: Tries) -> None:
    """Counts an attempt at the account of this e-mail address, so that no stranger can lock its owner out."""
    deedbox, token = context.of(request).deedbox, cookies.sent_by(request, _DEVICE)
    if person_id is not None and known_device.is_known(deedbox.box, token, person_id, deedbox.clock.now()):
        await need_try(request, f"{tries.what}:{person_id}:{sha256(token).hex()}", tries.message, tries.each)
        return
    account, address = sha256(email).hex(), identity.address(cast(Scope, request.scope))
    await need_try(request, f"{tries.what}:{account}:{address}", tries.message, tries.each)
    await need_try(request, f"{tries.what}:{account}", tries.message, tries.together)


def is_fresh(request: AnyRequest) -> bool:
    """Whether whoever is signed in has shown a moment ago who they are."""
    here = context.of(request)
    end = moment(here.person.created_at) + timedelta(minutes=limits.FRESH_SESSION_MINUTES)
    return here.person.password_hash is None or here.deedbox.clock.now() < end


async def need_self(request: AnyRequest, password: str) -> None:
    """Forbidden unless they have just signed in, or show their password: an open session alone adds no way in."""
    if not is_fresh(request):
        await need_current_password(request, password)


async def need_current_password(request: AnyRequest, password: str) -> None:
    """Forbidden unless it is the person's own: whoever finds a session open cannot take the account over."""
    person = context.of(request).person
    if person.password_hash is None:
        return
    await need_try(request, f"password:{person.person_id}", WORDS["tries"])
    if not await matches(person.password_hash.reveal(), password):
        raise Forbidden(WORDS["current_wrong"])


async def need_try(request: AnyRequest, subject: str, message: str, allowed: Allowance = _TRIES) -> None:
    """Counts an attempt; beyond the limit TooManyRequests with the message and how long to wait."""
    deedbox = context.of(request).deedbox
    standing = await deedbox.limiter.hit(subject, allowed, deedbox.clock.now())
    if not standing.allowed:
        wait = standing.retry_after
        when = WORDS["tries_wait"].format(seconds=wait)
        raise TooManyRequests(f"{message} {when}", headers={"Retry-After": str(wait)})


def has_login(person: people.PersonSession) -> bool:
    """Whether they have chosen how to sign in."""
    return person.email is not None and person.password_hash is not None
