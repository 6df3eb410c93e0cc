"""Joining a workspace by the link of an invitation. To open it changes nothing; the button joins."""

from typing import Any, cast

from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath

from deedbox.accounts import people, sessions
from deedbox.accounts.members import invitations
from deedbox.accounts.members.invitations import Invited
from deedbox.accounts.people import AccountChange
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound, ServiceError, Unauthorized
from deedbox.kernel.mailbox import checked_address
from deedbox.kernel.slow_hash import slow_hash
from deedbox.web import limits
from deedbox.web.dashboard.account import AccountForm
from deedbox.web.dashboard.entry import device, enter, person_with
from deedbox.web.http import context, identity, page_forms
from deedbox.web.http.auth import LOGIN, PUBLIC, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.head import Scope
from deedbox.web.http.page_forms import beside, form_of, text
from deedbox.web.http.pages import go, page


@get("/join/{token:str}", opt=requires(PUBLIC), include_in_schema=False)
async def join_page(request: AnyRequest, token: FromPath[str]) -> Response[Any]:
    try:
        return await _page(request, token)
    except NotFound as error:
        return _over(error)


@post("/join/{token:str}", opt=requires(LOGIN), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def join(request: AnyRequest, token: FromPath[str]) -> Response[Any]:
    """Joins as who is signed in, as who has an account and says so, or as somebody new."""
    form, here = await form_of(request), await _signed_in(request)
    try:
        if text(form, "as") == "me" and here is not None:
            return await _as_me(request, token, here)
        return await enter(request, await _as_other(request, token, form))
    except NotFound as error:
        return _over(error)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, token, error=error, form=form)


async def _as_me(request: AnyRequest, token: str, here: people.PersonSession) -> Response[Any]:
    deedbox, now = context.of(request).deedbox, context.of(request).deedbox.clock.now()

    def act(tx: Tx) -> None:
        sessions.switch(tx, here, invitations.join(tx, token, here.person_id, now=now).workspace_id)

    await deedbox.db.write(act)
    return go("/app")


async def _as_other(request: AnyRequest, token: str, form: FormMultiDict) -> Secret:
    """A session in the workspace of who shows their account, or has made one just now."""
    deedbox, now = context.of(request).deedbox, context.of(request).deedbox.clock.now()
    if text(form, "as") == "known":
        email = people.login_name(text(form, "known_email")[: shared_limits.EMAIL_CHARS])
        with beside("known_password"):
            known = await person_with(request, email, text(form, "known_password")[: shared_limits.PASSWORD_CHARS_MAX])

        def join_known(tx: Tx) -> Secret:
            workspace = invitations.join(tx, token, known, now=now).workspace_id
            return people.open_session(tx, known, device(request), workspace_id=workspace, now=now)

        return await deedbox.db.write(join_known)
    # Before the password is hashed, which costs more than all else.
    await deedbox.db.read(lambda tx: invitations.look(tx, token, now=now))
    account = await _account(form)

    def join_new(tx: Tx) -> Secret:
        with beside("email", Conflict):
            found, person_id = invitations.join_anew(tx, token, account, now=now)
        return people.open_session(tx, person_id, device(request), workspace_id=found.workspace_id, now=now)

    return await deedbox.db.write(join_new)


async def _account(form: FormMultiDict) -> AccountChange:
    wanted = page_forms.read_struct(form, AccountForm)
    with beside("password"):
        people.check_password_rules(wanted.password)
    with beside("email"):
        checked_address(wanted.email)
    return AccountChange(wanted.name, wanted.email, await slow_hash(wanted.password))


async def _page(
    request: AnyRequest, token: str, *, error: ServiceError | None = None, form: FormMultiDict | None = None
) -> Response[Any]:
    deedbox, now = context.of(request).deedbox, context.of(request).deedbox.clock.now()
    found: Invited = await deedbox.db.read(lambda tx: invitations.look(tx, token, now=now))
    wrong = page_forms.wrong(error)
    return page(
        "dashboard/join.html",
        status=error.status if error else 200,
        headers=error.headers if error else None,
        token=token,
        found=found,
        me=await _signed_in(request),
        known=bool(form and text(form, "as") == "known"),
        typed={
            "name": text(form, "name") if form else "",
            "email": text(form, "email") if form else found.email or "",
            "known_email": text(form, "known_email") if form else found.email or "",
        },
        wrong=wrong,
        error=error.message if error and not wrong else "",
    )


def _over(error: NotFound) -> Response[Any]:
    return page("dashboard/join_over.html", status=404, said=error.message)


async def _signed_in(request: AnyRequest) -> people.PersonSession | None:
    """Whose session the browser has, if any: a new account can be made without one."""
    deedbox = context.of(request).deedbox
    try:
        visitor = await identity.of_person(deedbox, cast(Scope, request.scope), deedbox.clock.now())
    except Unauthorized:
        return None
    return cast(people.PersonSession, visitor.session)


ROUTES: list[Any] = [join_page, join]
