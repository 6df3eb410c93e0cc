"""Signing in, and a person's own account. The first sign-in is by the one-time link that the server prints."""

import asyncio
from importlib import resources
from typing import Any

from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath

from deedbox.accounts import people, store
from deedbox.accounts.people import Session
from deedbox.kernel import limits
from deedbox.kernel.crypto import sha256
from deedbox.kernel.errors import BadRequest, DeedboxError, TooManyRequests, Unauthorized
from deedbox.kernel.ratelimit import Allowance
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.head import GET_ONLY
from deedbox.web.frame.pages import cookie_name, go, page, refuse_other_sites, session_cookie
from deedbox.web.frame.permission import PUBLIC, scope

_TRIES = Allowance(per_minute=limits.LOGIN_TRIES_PER_MINUTE, per_day=limits.LOGIN_TRIES_PER_DAY)


@get("/", opt=scope(PUBLIC), include_in_schema=False)
async def front() -> Response[None]:
    return go("/account")


@get("/login/{token:str}", opt={**scope(PUBLIC), GET_ONLY: True}, include_in_schema=False)
async def use_link(request: AnyRequest, token: FromPath[str]) -> Response[Any]:
    """Exchanges the one-time token for a session; the token leaves the address."""
    deedbox = context.of(request).deedbox
    now = deedbox.clock.now()
    try:
        session = await deedbox.db.write(lambda tx: people.redeem(tx, token, now=now))
    except Unauthorized as error:
        return page("login.html", status=401, error=error.message, email="")
    return go("/account", session_cookie(request, session))


@get("/login", opt=scope(PUBLIC), include_in_schema=False)
async def login_page() -> Response[str]:
    return page("login.html", error="", email="")


@post("/login", opt=scope(PUBLIC), include_in_schema=False)
async def login(request: AnyRequest) -> Response[Any]:
    refuse_other_sites(request)
    form = await _form(request)
    email = people.login_name(_text(form, "email")[: limits.EMAIL_CHARS])
    try:
        session = await _session_for(request, email, _text(form, "password")[: limits.PASSWORD_CHARS_MAX])
    except (Unauthorized, TooManyRequests) as error:
        return page("login.html", status=error.status, headers=error.headers, error=error.message, email=email)
    return go("/account", session_cookie(request, session))


@post("/logout", opt=scope(PUBLIC), include_in_schema=False)
async def logout(request: AnyRequest) -> Response[None]:
    refuse_other_sites(request)
    token = request.cookies.get(cookie_name(request), "")
    await context.of(request).deedbox.db.write(lambda tx: people.close_session(tx, token))
    return go("/login", session_cookie(request, None))


@get("/account", opt=scope(PUBLIC), include_in_schema=False)
async def account_page(request: AnyRequest) -> Response[Any]:
    try:
        person = await _signed_in(request)
    except Unauthorized:
        return go("/login")
    return page("account.html", person=person, error="", saved="saved" in request.query_params)


@post("/account", opt=scope(PUBLIC), include_in_schema=False)
async def save_account(request: AnyRequest) -> Response[Any]:
    refuse_other_sites(request)
    try:
        person = await _signed_in(request)
    except Unauthorized:
        return go("/login")
    form = await _form(request)
    password = _text(form, "password")
    token = request.cookies[cookie_name(request)]
    try:
        people.check_password_rules(password)
        password_hash = await asyncio.to_thread(people.hash_password, password)
        await context.of(request).deedbox.db.write(
            lambda tx: people.settle(
                tx, person.person_id, _text(form, "name"), _text(form, "email"), password_hash, keep=token
            )
        )
    except DeedboxError as error:
        return page("account.html", status=error.status, person=person, error=error.message, saved=False)
    return go("/account?saved")


@get("/static/deedbox.css", opt=scope(PUBLIC), include_in_schema=False)
async def stylesheet() -> Response[bytes]:
    css = (resources.files("deedbox.web") / "static" / "deedbox.css").read_bytes()
    return Response(css, media_type="text/css", headers={"X-Content-Type-Options": "nosniff"})


async def _session_for(request: AnyRequest, email: str, password: str) -> Any:
    deedbox = context.of(request).deedbox
    now = deedbox.clock.now()
    standing = await deedbox.limiter.hit(f"login:{sha256(email).hex()}", _TRIES, now)
    if not standing.allowed:
        wait = standing.retry_after
        raise TooManyRequests(
            f"Too many attempts for this e-mail address. Try again in {wait} s.", headers={"Retry-After": str(wait)}
        )
    found = await deedbox.db.read(lambda tx: store.credentials(tx, email))
    person_id, stored = found if found else (None, None)
    if not await asyncio.to_thread(people.password_matches, stored, password) or person_id is None:
        raise Unauthorized("E-mail address or password is wrong.")
    return await deedbox.db.write(lambda tx: people.open_session(tx, person_id, now=now))


async def _signed_in(request: AnyRequest) -> Session:
    deedbox = context.of(request).deedbox
    token = request.cookies.get(cookie_name(request), "")
    now = deedbox.clock.now()
    return await deedbox.db.read(lambda tx: people.session(tx, token, now=now))


async def _form(request: AnyRequest) -> FormMultiDict:
    try:
        return await request.form()
    except UnicodeDecodeError as error:
        raise BadRequest("The form is not text in UTF-8") from error


def _text(form: FormMultiDict, name: str) -> str:
    value = form.get(name, "")
    return value.replace("\0", "") if isinstance(value, str) else ""


ROUTES = [front, use_link, login_page, login, logout, account_page, save_account, stylesheet]
