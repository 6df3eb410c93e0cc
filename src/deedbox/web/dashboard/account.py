"""Signing in, and a person's own account. The first sign-in is by the one-time link that the server prints."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import Meta

from deedbox.accounts import people, sessions
from deedbox.accounts.passkeys import store as passkeys
from deedbox.accounts.people import AccountChange
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, ServiceError, TooManyRequests, Unauthorized
from deedbox.kernel.mailbox import checked_address
from deedbox.kernel.slow_hash import slow_hash
from deedbox.web import limits
from deedbox.web.dashboard import device as devices
from deedbox.web.dashboard.entry import cookie, device, enter, is_fresh, need_current_password, person_with
from deedbox.web.http import context, page_forms
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import LOGIN, PERSON, PUBLIC, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import beside, form_of, text
from deedbox.web.http.pages import go, page


class AccountForm(msgspec.Struct, frozen=True):
    """What a person fills in on the account page."""

    name: Annotated[str, Meta(max_length=shared_limits.PERSON_NAME_CHARS)]
    email: Annotated[str, Meta(max_length=shared_limits.EMAIL_CHARS)]
    password: str = ""
    current_password: Annotated[str, Meta(max_length=shared_limits.PASSWORD_CHARS_MAX)] = ""


@get("/login/{token:str}", opt=requires(PUBLIC), include_in_schema=False)
async def look_at_link(token: FromPath[str]) -> Response[Any]:
    """The page whose button signs in: to look at it changes nothing, whoever looks."""
    return page("dashboard/login_link.html", token=token)


@post("/login/{token:str}", opt=requires(LOGIN), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def use_link(request: AnyRequest, token: FromPath[str]) -> Response[Any]:
    """Exchanges the one-time token for a session; the token leaves the address."""
    deedbox = context.of(request).deedbox
    now = deedbox.clock.now()
    try:
        session = await deedbox.db.write(lambda tx: people.redeem(tx, token, device(request), now=now))
    except Unauthorized as error:
        return page("dashboard/login.html", status=401, error=error.message, email="")
    return await enter(request, session)


@get("/login", opt=requires(PUBLIC), include_in_schema=False)
async def login_page() -> Response[str]:
    return page("dashboard/login.html", error="", email="")


@post("/login", opt=requires(LOGIN), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def login(request: AnyRequest) -> Response[Any]:
    form = await form_of(request)
    email = people.login_name(text(form, "email")[: shared_limits.EMAIL_CHARS])
    deedbox = context.of(request).deedbox
    try:
        person_id = await person_with(request, email, text(form, "password")[: shared_limits.PASSWORD_CHARS_MAX])
        session = await deedbox.db.write(
            lambda tx: people.open_session(tx, person_id, device(request), now=deedbox.clock.now())
        )
    except (Unauthorized, TooManyRequests) as error:
        return page(
            "dashboard/login.html", status=error.status, headers=error.headers, error=error.message, email=email
        )
    return await enter(request, session)


@post("/logout", opt=requires(PERSON), include_in_schema=False)
async def logout(request: AnyRequest) -> Response[None]:
    here = context.of(request)
    await here.deedbox.db.write(lambda tx: people.close_session(tx, here.token.reveal()))
    return go("/login", cookie(request, None))


@get("/account", opt=requires(PERSON), include_in_schema=False)
async def account_page(request: AnyRequest) -> Response[Any]:
    return await _account_page(request)


@post("/account", opt=requires(PERSON), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def save_account(request: AnyRequest) -> Response[Any]:
    """Saves what was filled in, once, however often it is sent; what is wrong is said beside its field."""
    here = context.of(request)
    person, token = here.person, here.token.reveal()
    form = await form_of(request)
    try:
        with page_forms.send_once(request, form) as sent:
            if before := await sent.before():
                return go(before)
            wanted = page_forms.read_struct(form, AccountForm)
            await _check(request, wanted)
            chosen = await slow_hash(wanted.password) if wanted.password else None
            change = AccountChange(wanted.name, wanted.email, chosen, person.password_hash)

            def settle(tx: Tx) -> str:
                with beside("email", Conflict):
                    people.settle(tx, person.person_id, change, keep=token)
                return "/account?done=saved" if person.email else "/app/welcome"

            return go(await sent.once(settle))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _account_page(request, error=error, form=form)


async def _account_page(
    request: AnyRequest, *, error: ServiceError | None = None, form: FormMultiDict | None = None
) -> Response[Any]:
    """The form with all that was typed but for passwords, and what is wrong beside each field."""
    here, person = context.of(request), context.of(request).person
    now = here.deedbox.clock.now()
    found = await here.deedbox.db.read(
        lambda tx: (sessions.list_sessions(tx, person.person_id, now=now), passkeys.of_person(tx, person.person_id))
    )
    return app_page(
        request,
        "dashboard/account.html",
        error=error,
        once=page_forms.new_once(),
        sessions=[(one, devices.describe(one.agent)) for one in found[0]],
        passkeys=found[1],
        fresh=is_fresh(request),
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
        await need_current_password(request, wanted.current_password)


ROUTES = [look_at_link, use_link, login_page, login, logout, account_page, save_account]
