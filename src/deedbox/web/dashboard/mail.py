"""The workspace's mails, by people: the log, those that stayed here as text, and failed ones once more."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.i18n import dashboard
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
from deedbox.mail.store import MailPart
from deedbox.web import limits
from deedbox.web.dashboard.settings.form_actions import run_action
from deedbox.web.http import context
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page, refusal_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY

STATES = ("", "failed", "queued", "sent", "inbox")
"""Of which mails can be shown alone; empty: all."""


class MailPageQuery(msgspec.Struct, frozen=True):
    cursor: Annotated[str, cursors.of("mail")] | UnsetType = UNSET
    status: Literal["", "failed", "queued", "sent", "inbox"] = ""
    to: Annotated[str, Meta(max_length=shared_limits.EMAIL_CHARS)] = ""
    done: str | UnsetType = UNSET


@get("/app/mail", opt={**person("documents:send"), QUERY: MailPageQuery}, include_in_schema=False)
async def mails(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    asked: MailPageQuery = here.query
    wanted = MailPart(
        limit=shared_limits.PAGE_DEFAULT + 1,
        before=asked.cursor or None,
        statuses=(asked.status,) if asked.status else (),
        to=asked.to.strip().replace("\0", "") or None,
    )
    read = here.deedbox.db.read_aside if wanted.sifts else here.deedbox.db.read
    found = await read(lambda tx: here.deedbox.inbox.part(tx, here.person.workspace_id, wanted))
    shown, _, _, older = cursors.page(found, shared_limits.PAGE_DEFAULT, lambda mail: mail.id)
    chosen = {name: value for name, value in (("status", asked.status), ("to", asked.to)) if value}
    return app_page(
        request,
        "dashboard/mails.html",
        mails=shown,
        asked=asked,
        states=STATES,
        query=f"?{urlencode(chosen)}" if chosen else "",
        newest=_path(chosen),
        older=_path({**chosen, "cursor": older}) if older else None,
        delivers=here.deedbox.mailer.delivers,
    )


@get("/app/mail/{mail_id:str}", opt=person("documents:send"), include_in_schema=False)
async def mail(request: AnyRequest, mail_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    try:
        found = await here.deedbox.db.read(lambda tx: here.deedbox.inbox.show(tx, here.person.workspace_id, mail_id))
    except NotFound as error:
        why = dashboard.WORDS["mail_gone"].format(days=shared_limits.MAIL_INBOX_DAYS)
        return refusal_page(request, NotFound(f"{error.message}. {why}"))
    # Text only: the HTML of a mail has styles of its own, which the pages' policy forbids.
    return app_page(request, "dashboard/mail.html", found=found, link=getattr(found.mail.letter, "link", None))


@post(
    "/app/mail/{mail_id:str}/resend",
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def resend(request: AnyRequest, mail_id: FromPath[str]) -> Response[Any]:
    """Sends a mail that was given up once more; its page of the list tells what comes of it."""
    here = context.of(request)
    workspace, now = here.caller.workspace_id, here.deedbox.clock.now()

    def again(tx: Tx) -> str:
        here.deedbox.mailer.resend(tx, workspace, mail_id, now=now)
        return "/app/mail?done=resent"

    return await run_action(request, again)


def _path(chosen: dict[str, str]) -> str:
    return f"/app/mail?{urlencode(chosen)}" if chosen else "/app/mail"


ROUTES = [mails, mail, resend]
