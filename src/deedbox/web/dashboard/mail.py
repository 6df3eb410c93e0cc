"""The workspace's mails for a person who is signed in: the list, and those that stayed here, as text."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from msgspec import UNSET, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.errors import NotFound
from deedbox.web.frame import context
from deedbox.web.frame import cursor as cursors
from deedbox.web.frame.app_pages import app_page, refused
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import person
from deedbox.web.frame.query import QUERY
from deedbox.words import dashboard


class MailQuery(msgspec.Struct, frozen=True):
    cursor: Annotated[str, cursors.of("mail")] | UnsetType = UNSET


@get("/app/mail", opt={**person("documents:send"), QUERY: MailQuery}, include_in_schema=False)
async def mails(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    workspace, before = here.person.workspace_id, here.query.cursor or None
    found = await here.deedbox.db.read(
        lambda tx: here.deedbox.inbox.page(tx, workspace, limit=limits.PAGE_DEFAULT + 1, before=before)
    )
    shown = found[: limits.PAGE_DEFAULT]
    older = shown[-1].id if len(found) > len(shown) else None
    return app_page(request, "dashboard/mails.html", mails=shown, older=older)


@get("/app/mail/{mail_id:str}", opt=person("documents:send"), include_in_schema=False)
async def mail(request: AnyRequest, mail_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    try:
        found = await here.deedbox.db.read(lambda tx: here.deedbox.inbox.show(tx, here.person.workspace_id, mail_id))
    except NotFound as error:
        why = dashboard.WORDS["mail_gone"].format(days=limits.MAIL_INBOX_DAYS)
        return refused(request, NotFound(f"{error.message}. {why}"))
    # Text only: the HTML of a mail has styles of its own, which the pages' policy forbids.
    return app_page(request, "dashboard/mail.html", found=found, link=getattr(found.mail.letter, "link", None))


ROUTES = [mails, mail]
