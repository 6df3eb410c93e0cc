"""A forgotten password: a new one by a mailed link, where there is a mail server."""

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from deedbox import i18n
from deedbox.accounts import people, store
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import ServiceError, TooManyRequests
from deedbox.kernel.ratelimit import Allowance
from deedbox.kernel.slow_hash import slow_hash
from deedbox.web import limits
from deedbox.web.dashboard.entry import Tries, device, enter, need_try_at
from deedbox.web.http import context
from deedbox.web.http.auth import LOGIN, PUBLIC, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import form_of, text
from deedbox.web.http.pages import page

_ASKED = Tries(
    "forgot",
    WORDS["tries_mails"],
    Allowance(per_minute=limits.RESETS_PER_MINUTE, per_day=limits.RESETS_PER_DAY),
    Allowance(per_minute=limits.RESETS_OF_ALL_PER_MINUTE, per_day=limits.RESETS_OF_ALL_PER_DAY),
)


@get("/login/forgot", opt=requires(PUBLIC), include_in_schema=False)
async def forgot_page(request: AnyRequest) -> Response[Any]:
    return _forgot(request)


@post("/login/forgot", opt=requires(LOGIN), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def forgot(request: AnyRequest) -> Response[Any]:
    """The same answer whether or not the address is somebody's: it tells nobody who has an account."""
    deedbox, now = context.of(request).deedbox, context.of(request).deedbox.clock.now()
    email = people.login_name(text(await form_of(request), "email")[: shared_limits.EMAIL_CHARS])
    if not deedbox.people_mail.delivers:
        return _forgot(request)
    try:
        found = await deedbox.db.read(lambda tx: store.credentials(tx, email))
        await need_try_at(request, email, found[0] if found else None, _ASKED)
    except TooManyRequests as error:
        return _forgot(request, error=error, email=email)
    language = i18n.choose_language(request.headers.get("accept-language", ""))
    await deedbox.db.write(lambda tx: deedbox.people_mail.reset(tx, email, language, now=now))
    return _forgot(request, email=email, asked=True)


def _forgot(
    request: AnyRequest, *, email: str = "", asked: bool = False, error: ServiceError | None = None
) -> Response[Any]:
    return page(
        "dashboard/forgot.html",
        status=error.status if error else 200,
        headers=error.headers if error else None,
        delivers=context.of(request).deedbox.people_mail.delivers,
        minutes=shared_limits.RESET_MINUTES,
        email=email,
        asked=asked,
        error=error.message if error else "",
    )


@get("/login/reset/{token:str}", opt=requires(PUBLIC), include_in_schema=False)
async def reset_page(token: FromPath[str]) -> Response[Any]:
    """The form for a new password: to look at it changes nothing, whoever looks."""
    return page("dashboard/reset.html", token=token, error="")


@post("/login/reset/{token:str}", opt=requires(LOGIN), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def reset(request: AnyRequest, token: FromPath[str]) -> Response[Any]:
    deedbox = context.of(request).deedbox
    now, password = deedbox.clock.now(), text(await form_of(request), "password")
    try:
        people.check_password_rules(password)
        chosen = await slow_hash(password)
        session = await deedbox.db.write(lambda tx: people.reset(tx, token, chosen, device(request), now=now))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return page("dashboard/reset.html", status=error.status, token=token, error=error.message)
    return await enter(request, session)


ROUTES: list[Any] = [forgot_page, forgot, reset_page, reset]
