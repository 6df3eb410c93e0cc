"""The log of mails: to whom, what for, and what became of each; never what they say."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel.db import Tx
from deedbox.mail import MailRecord
from deedbox.mail.letter import Kind
from deedbox.mail.store import MailPart, Status
from deedbox.web import limits
from deedbox.web.api_v1.document_list import Text
from deedbox.web.http import context, openapi
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.once import once
from deedbox.web.http.query import QUERY

ACCOUNTS = "workspace:read"
"""Who may read the workspace's members may read of mails about their accounts."""


class MailQuery(PageQuery, frozen=True, kw_only=True):
    status: Annotated[tuple[Status, ...], Meta(max_length=limits.FILTER_VALUES)] = ()
    """Mails of this status; of several, if repeated."""
    kind: Kind | UnsetType = UNSET
    """Only mails that are for this."""
    about: Text | UnsetType = UNSET
    """Only mails about this document or packet."""
    to: Text | UnsetType = UNSET
    """Only mails to addresses that contain this."""
    cursor: Annotated[str, cursors.of("mail")] | UnsetType = UNSET


class MailPage(msgspec.Struct, frozen=True):
    mails: list[MailRecord]
    """The mails of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


@get(
    "/api/v1/mails",
    opt={**requires("documents:read"), QUERY: MailQuery, openapi.MAKES: {"mail_id": "/mails/0/id"}},
    summary="The mails to signers and senders, newest first, with what became of each",
    tags=["mails"],
)
async def list_mails(request: AnyRequest) -> MailPage:
    """What a mail says, its link or code, is never shown. Mails about accounts, `member` and `reset`, are listed with
    `workspace:read` only."""
    here = context.of(request)
    asked: MailQuery = here.query
    part = MailPart(
        limit=asked.limit + 1,
        before=asked.start,
        statuses=asked.status,
        kind=asked.kind or None,
        about=asked.about or None,
        to=asked.to or None,
        accounts=here.caller.may(ACCOUNTS),
    )
    read = here.deedbox.db.read_aside if part.sifts else here.deedbox.db.read
    found = await read(lambda tx: here.deedbox.inbox.part(tx, here.caller.workspace_id, part))
    return MailPage(*cursors.page(found, asked.limit, lambda mail: mail.id))


@get("/api/v1/mails/{mail_id:str}", opt=requires("documents:read"), summary="What became of one mail", tags=["mails"])
async def get_mail(request: AnyRequest, mail_id: FromPath[str]) -> MailRecord:
    return await context.of(request).deedbox.db.read(lambda tx: _found(tx, request, mail_id))


@post(
    "/api/v1/mails/{mail_id:str}/resend",
    opt=requires("documents:send"),
    summary="Send a mail that could not be sent once more",
    tags=["mails"],
    status_code=202,
)
async def resend_mail(request: AnyRequest, mail_id: FromPath[str]) -> Response[MailRecord]:
    """Only a mail whose status is `failed`; any other is 409."""
    here = context.of(request)
    now = here.deedbox.clock.now()

    def again(tx: Tx) -> MailRecord:
        _found(tx, request, mail_id)
        here.deedbox.mailer.resend(tx, here.caller.workspace_id, mail_id, now=now)
        return _found(tx, request, mail_id)

    answer: Response[Any] = await once(request, again, status=202)
    return answer


def _found(tx: Tx, request: AnyRequest, mail_id: str) -> MailRecord:
    here = context.of(request)
    return here.deedbox.inbox.find(tx, here.caller.workspace_id, mail_id, accounts=here.caller.may(ACCOUNTS))


ROUTES: list[Any] = [list_mails, get_mail, resend_mail]
