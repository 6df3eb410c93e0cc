"""The members of a workspace: their roles, and their leaving. One owner always stays."""

from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from deedbox.accounts import scopes
from deedbox.accounts import store as accounts_store
from deedbox.accounts.caller import Caller
from deedbox.accounts.members import store
from deedbox.accounts.members.store import MemberRow
from deedbox.accounts.roles import Role, scopes_of
from deedbox.accounts.sessions import store as sessions_store
from deedbox.kernel import admin_log
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, ErrorCode, Forbidden, NotFound

_LAST_OWNER = "This is the workspace's last owner, without whom nobody could run it. Make someone else an owner first."


class MemberRecord(msgspec.Struct, frozen=True):
    id: str
    """The person's id, or the invitation's."""
    status: store.Status
    """`member`, or `invited` until someone has joined by the invitation's link."""
    name: str | None
    """What the person is called; null while invited."""
    email: str | None
    """The person's address, or the one that the invitation was mailed to."""
    role: Role
    """What the person may do: an owner everything, a sender all of documents and search, a viewer read and ask."""
    since: str
    """When they joined, or were invited."""
    expires_at: str | None
    """When the invitation ends; null for a member."""


class MemberChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    role: Role | UnsetType = UNSET
    """What the person may do from now on."""


def page(tx: Tx, caller: Caller, *, limit: int, after: str | None, now: datetime) -> list[MemberRecord]:
    """Members, the newest first, and after them the open invitations."""
    return [record(row) for row in store.page(tx, caller.workspace_id, limit, after, instant(now))]


def get(tx: Tx, caller: Caller, member_id: str, *, now: datetime) -> MemberRecord:
    return record(_demand(tx, caller, member_id, now))


def change_role(tx: Tx, caller: Caller, member_id: str, role: Role, *, now: datetime) -> MemberRecord:
    """The member with another role, from the next request on; Conflict if no owner would be left."""
    member = _demand(tx, caller, member_id, now)
    if member.status == "invited":
        raise Conflict("An invitation keeps its role. Withdraw it and make another one.")
    if member.role == role:
        return record(member)
    need_role(caller, member.role)
    need_role(caller, role)
    if member.role == "owner":
        _need_other_owner(tx, caller.workspace_id, member_id)
    store.set_role(tx, caller.workspace_id, member_id, role)
    admin_log.done(tx, caller, f"member.made_{role}", _named(member), at=now)
    return record(msgspec.structs.replace(member, role=role))


def remove(tx: Tx, caller: Caller, member_id: str, *, now: datetime) -> MemberRecord:
    """Who was removed: their sessions here end at once, what they made goes on. An invitation is withdrawn."""
    member = _demand(tx, caller, member_id, now)
    if member.status == "invited":
        store.drop_invitation(tx, member.id)
        admin_log.done(tx, caller, "member.withdrawn", _named(member), at=now)
        return record(member)
    need_role(caller, member.role)
    if member.role == "owner":
        _need_other_owner(tx, caller.workspace_id, member_id)
    store.remove(tx, caller.workspace_id, member_id)
    sessions_store.end_in(tx, caller.workspace_id, member_id)
    admin_log.done(tx, caller, "member.left" if caller.id == member_id else "member.removed", _named(member), at=now)
    return record(member)


def need_role(caller: Caller, role: Role) -> None:
    """Forbidden for a caller who may do less than this role: nobody gives, or takes, more than they have."""
    missing = scopes.missing_scope(caller.scopes, sorted(scopes_of(role)))
    if missing is not None:
        raise Forbidden(
            f"The role {role} allows {missing}, which this key lacks: it cannot give or take that role.",
            code=ErrorCode.MISSING_SCOPE,
        )


def keys_of(tx: Tx, caller: Caller, *, now: datetime) -> dict[str, list[str]]:
    """The names of the keys that work, by who has made them."""
    made: dict[str, list[str]] = {}
    for maker, name in accounts_store.keys_made_by(tx, caller.workspace_id, instant(now)):
        made.setdefault(maker, []).append(name)
    return made


def record(row: MemberRow) -> MemberRecord:
    return MemberRecord(**msgspec.structs.asdict(row))


def _named(member: MemberRow) -> tuple[str, str]:
    """Id and name, as what was done to them is noted."""
    return member.id, member.name or member.email or member.role


def _demand(tx: Tx, caller: Caller, member_id: str, now: datetime) -> MemberRow:
    found = store.find(tx, caller.workspace_id, member_id, instant(now))
    if found is None:
        raise NotFound("Member does not exist")
    return found


def _need_other_owner(tx: Tx, workspace_id: str, person_id: str) -> None:
    # Looked for in the transaction that takes the role away: of two owners who remove each other at once, one stays.
    if not store.other_owner(tx, workspace_id, person_id):
        raise Conflict(_LAST_OWNER)
