"""Members of the workspace: roles, removal, and invitations by link."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import UNSET, UnsetType

from deedbox.accounts.members import members
from deedbox.accounts.members.invitations import NewInvitation
from deedbox.accounts.roles import ROLES, Role
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, ServiceError
from deedbox.kernel.ids import ID_CHARS
from deedbox.people_mail import Sent
from deedbox.web import limits
from deedbox.web.http import context, page_forms
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import beside, form_of, text
from deedbox.web.http.pages import go
from deedbox.web.http.query import QUERY

_PATH = "/app/settings/members"
_ALLOWED: dict[str, Any] = {
    "opt": person("workspace:write"),
    "include_in_schema": False,
    "request_max_body_size": limits.FORM_BYTES,
}


class MemberPageQuery(msgspec.Struct, frozen=True):
    cursor: (
        Annotated[str, cursors.one_of(f"(per|inv)_[0-7][0-9A-HJKMNP-TV-Z]{{{ID_CHARS - 1}}}", len("per_") + ID_CHARS)]
        | UnsetType
    ) = UNSET
    done: str = ""


class RoleForm(msgspec.Struct, frozen=True):
    role: Role


@get(_PATH, opt={**person("workspace:write"), QUERY: MemberPageQuery}, include_in_schema=False)
async def members_page(request: AnyRequest) -> Response[Any]:
    return await _page(request)


@post(_PATH, **_ALLOWED)
async def invite(request: AnyRequest) -> Response[Any]:
    """The page with the new link, which is shown this once; a second press of the button leads to the list."""
    here, form, made = context.of(request), await form_of(request), list[Sent]()
    now = here.deedbox.clock.now()
    try:
        with page_forms.send_once(request, form) as sent:
            if before := await sent.before():
                return go(before)
            wanted = page_forms.read_struct(form, NewInvitation)

            def act(tx: Tx) -> str:
                with beside("email", BadRequest):
                    made[:] = [here.deedbox.people_mail.invite(tx, here.caller, wanted, now=now)]
                return f"{_PATH}?done=invited"

            await sent.once(act)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, error=error, form=form)
    return await _page(request, made=made[0]) if made else go(f"{_PATH}?done=invited")


@post(f"{_PATH}/{{member_id:str}}/role", **_ALLOWED)
async def change_role(request: AnyRequest, member_id: FromPath[str]) -> Response[Any]:
    here, form, now = context.of(request), await form_of(request), context.of(request).deedbox.clock.now()
    try:
        wanted = page_forms.read_struct(form, RoleForm)
        await here.deedbox.db.write(lambda tx: members.change_role(tx, here.caller, member_id, wanted.role, now=now))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, error=error)
    return go(f"{_PATH}?done=role")


@post(f"{_PATH}/{{member_id:str}}/remove", **_ALLOWED)
async def remove(request: AnyRequest, member_id: FromPath[str]) -> Response[Any]:
    """Removes a member, or withdraws an invitation."""
    here, now = context.of(request), context.of(request).deedbox.clock.now()
    try:
        gone = await here.deedbox.db.write(lambda tx: members.remove(tx, here.caller, member_id, now=now))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _page(request, error=error)
    return go(f"{_PATH}?done={'removed' if gone.status == 'member' else 'withdrawn'}")


async def _page(
    request: AnyRequest,
    *,
    made: Sent | None = None,
    error: ServiceError | None = None,
    form: FormMultiDict | None = None,
) -> Response[Any]:
    here, now = context.of(request), context.of(request).deedbox.clock.now()
    after = getattr(here.query, "cursor", None) or None
    found, keys = await here.deedbox.db.read_aside(
        lambda tx: (
            members.page(tx, here.caller, limit=shared_limits.PAGE_MAX + 1, after=after, now=now),
            members.keys_of(tx, here.caller, now=now),
        )
    )
    shown = found[: shared_limits.PAGE_MAX]
    return app_page(
        request,
        "dashboard/settings/members.html",
        error=error,
        once=page_forms.new_once(),
        members=[one for one in shown if one.status == "member"],
        invited=[one for one in shown if one.status == "invited"],
        older=shown[-1].id if len(found) > len(shown) else None,
        keys=keys,
        most_keys=limits.KEYS_NAMED,
        roles=ROLES,
        made=made,
        delivers=here.deedbox.people_mail.delivers,
        days=shared_limits.INVITATION_DAYS,
        typed={"email": text(form, "email") if form else "", "role": text(form, "role") if form else "sender"},
    )


ROUTES: list[Any] = [members_page, invite, change_role, remove]
