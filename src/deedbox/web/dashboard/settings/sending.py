"""How mail leaves the server, and a test of it."""

from typing import Any

from litestar import Response, get, post

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import Conflict, ServiceError, TooManyRequests
from deedbox.kernel.mailbox import Mailbox
from deedbox.kernel.ratelimit import Allowance
from deedbox.kernel.settings.shown import shown
from deedbox.mail import Relay
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go

PATH = "/app/settings/mail"
_TESTS = Allowance(per_minute=limits.MAIL_TESTS_PER_MINUTE, per_day=None)


@get(PATH, opt=person("workspace:write"), include_in_schema=False)
async def mail_server(request: AnyRequest) -> Response[Any]:
    return _page(request)


@post(f"{PATH}/test", opt=person("workspace:write"), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def test_mail(request: AnyRequest) -> Response[Any]:
    """Sends a test mail to whoever asks; what the mail server answers is told."""
    try:
        await _send(request)
    except ServiceError as error:
        return _page(request, error=error)
    return go(f"{PATH}?done=tested")


async def _send(request: AnyRequest) -> None:
    from deedbox.mail.smtp import Patience

    here = context.of(request)
    deedbox, to, now = here.deedbox, here.person, here.deedbox.clock.now()
    if deedbox.settings.smtp_url is None:
        raise Conflict(WORDS["sending_off"])
    if to.email is None:
        raise Conflict(WORDS["sending_no_address"])
    standing = await deedbox.limiter.hit(f"mail test:{to.person_id}", _TESTS, now)
    if not standing.allowed:
        raise TooManyRequests(WORDS["sending_lately"].format(seconds=standing.retry_after))
    # A page waits for the answer, and not for as long as the queue would.
    relay = Relay(deedbox.settings, Patience(shared_limits.SMTP_CHECK_SECONDS, shared_limits.SMTP_CHECK_SECONDS))
    try:
        await relay.send_test(Mailbox(to.email, to.name), now=now)
    except ServiceError as error:
        raise Conflict(WORDS["sending_failed"].format(said=error.message)) from error


def _page(request: AnyRequest, *, error: ServiceError | None = None) -> Response[Any]:
    settings = context.of(request).deedbox.settings
    return app_page(
        request,
        "dashboard/settings/mail.html",
        error=error,
        server=Relay(settings).server,
        sender=settings.mail_from,
        plain=settings.smtp_plain,
        rows=shown(settings)["mail"],
    )


ROUTES = [mail_server, test_mail]
