"""Signing in, and a person's own account. The first sign-in is by the one-time link that the server prints."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.datastructures import Cookie, FormMultiDict
from litestar.params import FromPath
from msgspec import Meta

from deedbox.accounts import people, store
from deedbox.accounts.people import AccountChange
from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, DeedboxError, Forbidden, TooManyRequests, Unauthorized
from deedbox.kernel.mailbox import checked_address
from deedbox.kernel.ratelimit import Allowance
from deedbox.kernel.slow_hash import matches, slow_hash
from deedbox.web.frame import context, cookies, forms
from deedbox.web.frame.app_pages import app_page
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import LOGIN, PERSON, PUBLIC, door
from deedbox.web.frame.forms import beside, form_of, text
from deedbox.web.frame.pages import go, page


class AccountForm(msgspec.Struct, frozen=True):
    """What a person fills in on the account page."""

    name: Annotated[str, Meta(max_length=limits.PERSON_NAME_CHARS)]
    email: Annotated[str, Meta(max_length=limits.EMAIL_CHARS)]
    password: str = ""
    current_password: Annotated[str, Meta(max_length=limits.PASSWORD_CHARS_MAX)] = ""


_TRIES = Allowance(per_minute=limits.LOGIN_TRIES_PER_MINUTE, per_day=limits.LOGIN_TRIES_PER_DAY)


@get("/", opt=door(PUBLIC), include_in_schema=False)
async def front() -> Response[None]:
    return go("/account")


@get("/login/{token:str}", opt=door(PUBLIC), include_in_schema=False)
async def look_at_link(token: FromPath[str]) -> Response[Any]:
    """The page whose button signs in: to look at it changes nothing, whoever looks."""
    return page("dashboard/login_link.html", token=token)


@post("/login/{token:str}", opt=door(LOGIN), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def use_link(request: AnyRequest, token: FromPath[str]) -> Response[Any]:
    """Exchanges the one-time token for a session; the token leaves the address."""
    deedbox = context.of(request).deedbox
    now = deedbox.clock.now()
    try:
        session = await deedbox.db.write(lambda tx: people.redeem(tx, token, now=now))
    except Unauthorized as error:
        return page("dashboard/login.html", status=401, error=error.message, email="")
    return go("/account", _cookie(request, session))


@get("/login", opt=door(PUBLIC), include_in_schema=False)
async def login_page() -> Response[str]:
    return page("dashboard/login.html", error="", email="")


@post("/login", opt=door(LOGIN), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def login(request: AnyRequest) -> Response[Any]:
    form = await form_of(request)
    email = people.login_name(text(form, "email")[: limits.EMAIL_CHARS])
    try:
        session = await _session_for(request, email, text(form, "password")[: limits.PASSWORD_CHARS_MAX])
    except (Unauthorized, TooManyRequests) as error:
        return page(
            "dashboard/login.html", status=error.status, headers=error.headers, error=error.message, email=email
        )
    return go("/account", _cookie(request, session))


@post("/logout", opt=door(PERSON), include_in_schema=False)
async def logout(request: AnyRequest) -> Response[None]:
    here = context.of(request)
    await here.deedbox.db.write(lambda tx: people.close_session(tx, here.token.reveal()))
    return go("/login", _cookie(request, None))


@get("/account", opt=door(PERSON), include_in_schema=False)
async def account_page(request: AnyRequest) -> Response[Any]:
    return _account_page(request)


@post("/account", opt=door(PERSON), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def save_account(request: AnyRequest) -> Response[Any]:
    """Saves what was filled in, once, however often it is sent; what is wrong is said beside its field."""
    here = context.of(request)
    person, token = here.person, here.token.reveal()
    form = await form_of(request)
    try:
        with forms.sending(request, form) as sent:
            if before := await sent.before():
                return go(before)
            wanted = forms.filled(form, AccountForm)
            await _check(request, wanted)
            chosen = await slow_hash(wanted.password) if wanted.password else None
            change = AccountChange(wanted.name, wanted.email, chosen, person.password_hash)

            def settle(tx: Tx) -> str:
                with beside("email", Conflict):
                    people.settle(tx, person.person_id, change, keep=token)
                return "/account?done=saved"

            return go(await sent.once(settle))
    except DeedboxError as error:
        if error.status >= 500:
            raise
        return _account_page(request, error=error, form=form)


def _account_page(
    request: AnyRequest, *, error: DeedboxError | None = None, form: FormMultiDict | None = None
) -> Response[Any]:
    """The form with all that was typed but for passwords, and what is wrong beside each field."""
    person = context.of(request).person
    return app_page(
        request,
        "dashboard/account.html",
        error=error,
        once=forms.new_once(),
        typed={
            "name": text(form, "name") if form else ("" if person.name == people.UNNAMED else person.name),
            "email": text(form, "email") if form else person.email or "",
        },
    )


async def _check(request: AnyRequest, wanted: AccountForm) -> None:
    """What the form's own bounds cannot tell; the error names its field."""
    if wanted.password or context.of(request).person.password_hash is None:
        with beside("password"):
            people.check_password_rules(wanted.password)
    with beside("email"):
        checked_address(wanted.email)
    with beside("current_password"):
        await _need_current_password(request, wanted.current_password)


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


ROUTES = [front, look_at_link, use_link, login_page, login, logout, account_page, save_account]
