"""What every way to sign in shares: where someone comes from, the cookie, and how often they may try."""

from datetime import timedelta

from litestar.datastructures import Cookie

from deedbox.accounts import people, store
from deedbox.accounts.people import Device
from deedbox.kernel import limits
from deedbox.kernel.clock import moment
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.errors import Forbidden, TooManyRequests, Unauthorized
from deedbox.kernel.ratelimit import Allowance
from deedbox.kernel.slow_hash import matches
from deedbox.web.frame import context, cookies
from deedbox.web.frame.context import AnyRequest, origin
from deedbox.words.dashboard import WORDS

_TRIES = Allowance(per_minute=limits.LOGIN_TRIES_PER_MINUTE, per_day=limits.LOGIN_TRIES_PER_DAY)


def device(request: AnyRequest) -> Device:
    return Device(*origin(request))


def cookie(request: AnyRequest, token: Secret | None) -> Cookie:
    """The cookie of a session, or the one that removes it."""
    return cookies.made(request, cookies.PERSON, token, limits.LOGIN_SESSION_DAYS * 86400)


async def person_with(request: AnyRequest, email: str, password: str) -> str:
    """The id of whose e-mail address and password these are; Unauthorized where they are nobody's."""
    deedbox = context.of(request).deedbox
    await need_try(request, f"login:{sha256(email).hex()}", WORDS["tries_address"])
    found = await deedbox.db.read(lambda tx: store.credentials(tx, email))
    person_id, stored = found if found else (None, None)
    if not await matches(stored, password) or person_id is None:
        raise Unauthorized(WORDS["login_wrong"])
    known: str = person_id
    return known


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


def settled(person: people.Session) -> bool:
    """Whether they have chosen how to sign in."""
    return person.email is not None and person.password_hash is not None
