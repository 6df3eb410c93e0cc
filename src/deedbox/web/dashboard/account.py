"""Signing in, and a person's own account. The first sign-in is by the one-time link that the server prints."""

from importlib import resources
from typing import Any

from litestar import Response, get, post
from litestar.datastructures import Cookie
from litestar.params import FromPath

from deedbox.accounts import people, store
from deedbox.accounts.people import AccountChange
from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.errors import DeedboxError, Forbidden, TooManyRequests, Unauthorized
from deedbox.kernel.ratelimit import Allowance
from deedbox.kernel.slow_hash import matches, slow_hash
from deedbox.web.frame import context, cookies
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import LOGIN, PERSON, PUBLIC, STATIC, door
from deedbox.web.frame.forms import form_of, text
from deedbox.web.frame.head import GET_ONLY
from deedbox.web.frame.pages import go, page

_TRIES = Allowance(per_minute=limits.LOGIN_TRIES_PER_MINUTE, per_day=limits.LOGIN_TRIES_PER_DAY)


@get("/", opt=door(PUBLIC), include_in_schema=False)
async def front() -> Response[None]:
    return go("/account")


@get("/login/{token:str}", opt={**door(PUBLIC), GET_ONLY: True}, include_in_schema=False)
async def use_link(request: AnyRequest, token: FromPath[str]) -> Response[Any]:
    """Exchanges the one-time token for a session; the token leaves the address."""
    deedbox = context.of(request).deedbox
    now = deedbox.clock.now()
    try:
        session = await deedbox.db.write(lambda tx: people.redeem(tx, token, now=now))
    except Unauthorized as error:
        return page("login.html", status=401, error=error.message, email="")
    return go("/account", _cookie(request, session))


@get("/login", opt=door(PUBLIC), include_in_schema=False)
async def login_page() -> Response[str]:
    return page("login.html", error="", email="")


@post("/login", opt=door(LOGIN), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def login(request: AnyRequest) -> Response[Any]:
    form = await form_of(request)
    email = people.login_name(text(form, "email")[: limits.EMAIL_CHARS])
    try:
        session = await _session_for(request, email, text(form, "password")[: limits.PASSWORD_CHARS_MAX])
    except (Unauthorized, TooManyRequests) as error:
        return page("login.html", status=error.status, headers=error.headers, error=error.message, email=email)
    return go("/account", _cookie(request, session))


@post("/logout", opt=door(PERSON), include_in_schema=False)
async def logout(request: AnyRequest) -> Response[None]:
    here = context.of(request)
    await here.deedbox.db.write(lambda tx: people.close_session(tx, here.token.reveal()))
    return go("/login", _cookie(request, None))


@get("/account", opt=door(PERSON), include_in_schema=False)
async def account_page(request: AnyRequest) -> Response[Any]:
    person = context.of(request).person
    return page("account.html", person=person, error="", saved="saved" in request.query_params)


@post("/account", opt=door(PERSON), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def save_account(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    person, token = here.person, here.token.reveal()
    form = await form_of(request)
    password = text(form, "password")
    try:
        if password or person.password_hash is None:
            people.check_password_rules(password)
        await _need_current_password(request, text(form, "current_password")[: limits.PASSWORD_CHARS_MAX])
        chosen = await slow_hash(password) if password else None
        wanted = AccountChange(text(form, "name"), text(form, "email"), chosen, person.password_hash)
        await here.deedbox.db.write(lambda tx: people.settle(tx, person.person_id, wanted, keep=token))
    except DeedboxError as error:
        again = {"person": person, "error": error.message, "saved": False}
        return page("account.html", status=error.status, headers=error.headers, **again)
    return go("/account?saved")


@get("/static/deedbox.css", opt=door(STATIC), include_in_schema=False)
async def stylesheet() -> Response[bytes]:
    css = (resources.files("deedbox.web") / "static" / "deedbox.css").read_bytes()
    return Response(css, media_type="text/css", headers={"X-Content-Type-Options": "nosniff"})


async def _need_current_password(request: AnyRequest, password: str) -> None:
    """Forbidden unless it is the person's own: whoever finds a session open cannot take the account over."""
    here = context.of(request)
    person = here.person
    if person.password_hash is None:
        return
    await _need_try(request, f"password:{person.person_id}", "Too many attempts")
    if not await matches(person.password_hash.reveal(), password):
        raise Forbidden("The current password is wrong. It is needed to change anything here.")


async def _session_for(request: AnyRequest, email: str, password: str) -> Secret:
    deedbox = context.of(request).deedbox
    await _need_try(request, f"login:{sha256(email).hex()}", "Too many attempts for this e-mail address")
    found = await deedbox.db.read(lambda tx: store.credentials(tx, email))
    person_id, stored = found if found else (None, None)
    if not await matches(stored, password) or person_id is None:
        raise Unauthorized("E-mail address or password is wrong.")
    return await deedbox.db.write(lambda tx: people.open_session(tx, person_id, now=deedbox.clock.now()))


async def _need_try(request: AnyRequest, subject: str, message: str) -> None:
    """Counts an attempt at a password; beyond the limit TooManyRequests with the message and how long to wait."""
    deedbox = context.of(request).deedbox
    standing = await deedbox.limiter.hit(subject, _TRIES, deedbox.clock.now())
    if not standing.allowed:
        wait = standing.retry_after
        raise TooManyRequests(f"{message}. Try again in {wait} s.", headers={"Retry-After": str(wait)})


def _cookie(request: AnyRequest, token: Secret | None) -> Cookie:
    return cookies.made(request, cookies.PERSON, token, limits.LOGIN_SESSION_DAYS * 86400)


ROUTES = [front, use_link, login_page, login, logout, account_page, save_account, stylesheet]
