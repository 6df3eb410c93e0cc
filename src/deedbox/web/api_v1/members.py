"""The members of a workspace, and the invitations by which they join."""

from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, UnsetType

from deedbox.accounts.members import members
from deedbox.accounts.members.invitations import NewInvitation
from deedbox.accounts.members.members import MemberChange, MemberRecord
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import ID_CHARS
from deedbox.web.http import context, openapi, write_back
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.once import once
from deedbox.web.http.query import QUERY
from deedbox.web.http.write_back import WRITES


class MadeInvitation(MemberRecord, frozen=True, kw_only=True):
    link: str | None
    """By which one person joins, once. It is shown only here; null in the answer to a repeated Idempotency-Key."""
    mailed: bool
    """Whether the link was mailed too: the server has a mail server, and an address was given."""


class MemberQuery(PageQuery, frozen=True, kw_only=True):
    cursor: (
        Annotated[str, cursors.one_of(f"(per|inv)_[0-7][0-9A-HJKMNP-TV-Z]{{{ID_CHARS - 1}}}", len("per_") + ID_CHARS)]
        | UnsetType
    ) = UNSET


class MemberPage(msgspec.Struct, frozen=True):
    members: list[MemberRecord]
    """The members of this page, the newest first; after the last member come the open invitations."""
    count: int
    has_more: bool
    next_cursor: str | None


@get(
    "/api/v1/members",
    opt={**requires("workspace:read"), QUERY: MemberQuery},
    summary="List members and open invitations",
    tags=["workspace"],
)
async def list_members(request: AnyRequest) -> MemberPage:
    here = context.of(request)
    asked, now = here.query, here.deedbox.clock.now()
    found = await here.deedbox.db.read(
        lambda tx: members.page(tx, here.caller, limit=asked.limit + 1, after=asked.start, now=now)
    )
    return MemberPage(*cursors.page(found, asked.limit, lambda member: member.id))


@post(
    "/api/v1/members",
    opt={**requires("workspace:write"), openapi.MAKES: {"member_id": "/id"}},
    summary="Invite a person to the workspace",
    tags=["workspace"],
    status_code=201,
)
async def invite_member(request: AnyRequest, data: JSONBody[NewInvitation]) -> Response[MadeInvitation]:
    """The answer has a link, by which one person joins with the role. No key gives a role that may do more than it."""
    here = context.of(request)
    now = here.deedbox.clock.now()

    def make(tx: Tx) -> MadeInvitation:
        sent = here.deedbox.people_mail.invite(tx, here.caller, data, now=now)
        return MadeInvitation(**msgspec.structs.asdict(sent.record), link=sent.link.reveal(), mailed=sent.mailed)

    answer: Response[Any] = await once(request, make, status=201, shown_once="link")
    return answer


@get("/api/v1/members/{member_id:str}", opt=requires("workspace:read"), summary="One member", tags=["workspace"])
async def get_member(request: AnyRequest, member_id: FromPath[str]) -> MemberRecord:
    here = context.of(request)
    now = here.deedbox.clock.now()
    return await here.deedbox.db.read(lambda tx: members.get(tx, here.caller, member_id, now=now))


@patch(
    "/api/v1/members/{member_id:str}",
    opt={**requires("workspace:write"), WRITES: (MemberChange, MemberRecord)},
    summary="Change a member's role",
    tags=["workspace"],
)
async def change_member(request: AnyRequest, member_id: FromPath[str], data: JSONBody[dict[str, Any]]) -> MemberRecord:
    """It holds from the member's next request on. The last owner stays one."""
    here = context.of(request)
    now = here.deedbox.clock.now()
    write_back.check(data, MemberChange, MemberRecord)

    def change(tx: Tx) -> MemberRecord:
        shown = members.get(tx, here.caller, member_id, now=now)
        wanted = write_back.changes(data, shown, MemberChange)
        if wanted is None or wanted.role is UNSET:
            return shown
        return members.change_role(tx, here.caller, member_id, wanted.role, now=now)

    return await here.deedbox.db.write(change)


@delete(
    "/api/v1/members/{member_id:str}",
    opt={**requires("workspace:write"), openapi.ALSO: (409,)},
    summary="Remove a member, or withdraw an invitation",
    tags=["workspace"],
)
async def remove_member(request: AnyRequest, member_id: FromPath[str]) -> None:
    """The member's sessions in this workspace end at once. What they have made goes on, their keys too. The last
    owner stays."""
    here = context.of(request)
    now = here.deedbox.clock.now()
    await here.deedbox.db.write(lambda tx: members.remove(tx, here.caller, member_id, now=now))


ROUTES: list[Any] = [list_members, invite_member, get_member, change_member, remove_member]
