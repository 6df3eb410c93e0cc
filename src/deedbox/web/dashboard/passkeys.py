"""Passkeys: made and removed on the account page, shown on the login page. A script asks the browser for them."""

from typing import Any
from urllib.parse import urlsplit

from litestar import Response, post
from litestar.params import FromPath

from deedbox.accounts.passkeys import ceremony, keep
from deedbox.accounts.passkeys.ceremony import Owner, Site
from deedbox.kernel import limits as shared_limits
from deedbox.kernel import tokens
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import Conflict, ServiceError, Unauthorized
from deedbox.kernel.tokens import TokenPrefix
from deedbox.web import limits
from deedbox.web.dashboard.entry import device, enter, need_self
from deedbox.web.http import context, cookies
from deedbox.web.http.app_pages import base_address, refusal_page
from deedbox.web.http.auth import LOGIN, PERSON, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import form_of, text
from deedbox.web.http.pages import HEADERS, go, page

ASKED = "deedbox_passkey"
"""The cookie of a browser that was asked for a passkey: the question is its alone."""


@post(
    "/account/passkeys/options",
    opt=requires(PERSON),
    include_in_schema=False,
    status_code=200,
    request_max_body_size=limits.FORM_BYTES,
)
async def ask_for_new(request: AnyRequest) -> Response[Any]:
    """What the browser is to make a passkey of; Forbidden unless they have just shown who they are."""
    here, form, now = context.of(request), await form_of(request), context.of(request).deedbox.clock.now()
    await need_self(request, text(form, "current_password")[: shared_limits.PASSWORD_CHARS_MAX])
    person = here.person
    owner = Owner(person.person_id, person.name, person.email or person.name)
    asked = await here.deedbox.db.write(lambda tx: ceremony.ask_for_new(tx, site(request), owner, here.token, now=now))
    return _json(asked)


@post("/account/passkeys", opt=requires(PERSON), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def add_passkey(request: AnyRequest) -> Response[Any]:
    here, form, now = context.of(request), await form_of(request), context.of(request).deedbox.clock.now()
    name, answer = text(form, "passkey_name") or "Passkey", text(form, "credential")
    try:
        challenge = await here.deedbox.db.write(lambda tx: ceremony.take_challenge(tx, here.token, now=now))
        found = ceremony.verify_new_passkey(site(request), answer, challenge)
        await here.deedbox.db.write(lambda tx: keep.add(tx, here.person.person_id, name, found, now=now))
    except ServiceError as error:
        return refusal_page(request, error)
    return go("/account?done=passkey#passkeys")


@post(
    "/account/passkeys/{passkey_id:str}/remove",
    opt=requires(PERSON),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def remove_passkey(request: AnyRequest, passkey_id: FromPath[str]) -> Response[Any]:
    here, form = context.of(request), await form_of(request)
    try:
        await need_self(request, text(form, "current_password")[: shared_limits.PASSWORD_CHARS_MAX])
        await here.deedbox.db.write(lambda tx: keep.remove(tx, here.person.person_id, passkey_id))
    except ServiceError as error:
        return refusal_page(request, error)
    return go("/account?done=passkey_removed#passkeys")


@post("/login/passkey/options", opt=requires(LOGIN), include_in_schema=False, status_code=200)
async def ask_for_one(request: AnyRequest) -> Response[Any]:
    """What the browser's passkey is to answer, for this browser alone."""
    deedbox, now = context.of(request).deedbox, context.of(request).deedbox.clock.now()
    holder = tokens.create(TokenPrefix.PASSKEY_REQUEST)
    asked = await deedbox.db.write(lambda tx: ceremony.ask_for_one(tx, site(request), holder, now=now))
    answer = _json(asked)
    answer.set_cookie(cookies.create_cookie(request, ASKED, holder, shared_limits.PASSKEY_SECONDS))
    return answer


@post("/login/passkey", opt=requires(LOGIN), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def sign_in(request: AnyRequest) -> Response[Any]:
    deedbox, form, now = context.of(request).deedbox, await form_of(request), context.of(request).deedbox.clock.now()
    holder, answer = Secret(cookies.sent_by(request, ASKED)), text(form, "credential")
    try:
        challenge = await deedbox.db.write(lambda tx: ceremony.take_challenge(tx, holder, now=now))
        session = await deedbox.db.write(
            lambda tx: keep.sign_in(tx, site(request), answer, challenge, device(request), now=now)
        )
    except (Conflict, Unauthorized) as error:
        return page("dashboard/login.html", status=error.status, error=error.message, email="")
    entered = await enter(request, session)
    entered.set_cookie(cookies.create_cookie(request, ASKED, None, 0))
    return entered


def site(request: AnyRequest) -> Site:
    """The address that people know this server by; a passkey that was made under another one does not open it."""
    told = urlsplit(base_address(request))
    return Site(told.hostname or "localhost", f"{told.scheme}://{told.netloc}".lower())


def _json(content: bytes) -> Response[Any]:
    return Response(content, headers=HEADERS, media_type="application/json")


ROUTES: list[Any] = [ask_for_new, add_passkey, remove_passkey, ask_for_one, sign_in]
