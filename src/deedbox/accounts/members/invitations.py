"""Invitations: a link by which one person joins a workspace, once, with the role that it names."""

from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from deedbox.accounts import keys, limits, people, scopes
from deedbox.accounts import store as accounts_store
from deedbox.accounts.caller import Caller
from deedbox.accounts.members import members, store
from deedbox.accounts.members.members import MemberRecord
from deedbox.accounts.members.store import InvitationRow
from deedbox.accounts.roles import Role, scopes_of
from deedbox.kernel import admin_log, tokens
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret, sha256
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.kernel.ids import is_id, new_id
from deedbox.kernel.mailbox import checked_address
from deedbox.kernel.tokens import TokenPrefix


class NewInvitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    role: Role
    """What the person may do who joins by it."""
    email: Annotated[str, Meta(max_length=shared_limits.EMAIL_CHARS, extra_json_schema=shared_limits.NO_NUL)] | None = (
        None
    )
    """Where the link is mailed to, if the server can send mail."""


class CreatedInvitation(NamedTuple):
    record: MemberRecord
    token: Secret


class Invited(msgspec.Struct, frozen=True):
    """What the page of an invitation tells of it."""

    id: str
    workspace_id: str
    workspace_name: str
    role: Role
    email: str | None
    expires_at: str


def make(tx: Tx, caller: Caller, new: NewInvitation, *, now: datetime) -> CreatedInvitation:
    """A new invitation; its token is in the link, and nobody can read it again."""
    members.need_role(caller, new.role)
    if store.count(tx, caller.workspace_id, instant(now)) >= limits.MEMBERS_PER_WORKSPACE:
        raise Conflict(f"This workspace has {limits.MEMBERS_PER_WORKSPACE} members already. Remove one first.")
    token = tokens.create(TokenPrefix.INVITATION)
    row = InvitationRow(
        id=new_id("inv", now),
        workspace_id=caller.workspace_id,
        role=new.role,
        email=checked_address(new.email).lower() if new.email else None,
        created_by=caller.id,
        created_at=instant(now),
        expires_at=instant(now + timedelta(days=shared_limits.INVITATION_DAYS)),
    )
    store.add_invitation(tx, row, sha256(token.reveal()))
    admin_log.done(tx, caller, "member.invited", (row.id, row.email or row.role), at=now)
    return CreatedInvitation(members.get(tx, caller, row.id, now=now), token)


def look(tx: Tx, token: str, *, now: datetime) -> Invited:
    """The invitation of this link; NotFound once it is used, withdrawn or too old, or its maker may not give it."""
    row = store.invitation(tx, sha256(token), instant(now)) if token.startswith(TokenPrefix.INVITATION) else None
    workspace = accounts_store.workspace(tx, row.workspace_id) if row else None
    if row is None or workspace is None or not _still_given(tx, row, now):
        raise NotFound("This invitation was used, withdrawn, or has expired. Ask who sent it for another one.")
    return Invited(row.id, row.workspace_id, workspace[1], row.role, row.email, row.expires_at)


def _still_given(tx: Tx, row: InvitationRow, now: datetime) -> bool:
    """Whether who made it may do as much today: an owner who is removed does not come back by a link of their own."""
    if is_id(row.created_by, "key"):
        mine = keys.scopes_in_use(tx, row.workspace_id, row.created_by, now=now)
    elif is_id(row.created_by, "per"):
        role = store.role_of(tx, row.workspace_id, row.created_by)
        mine = scopes_of(role) if role else frozenset()
    else:
        return True  # the command line
    return scopes.missing_scope(mine, scopes_of(row.role)) is None


def join(tx: Tx, token: str, person_id: str, *, now: datetime) -> Invited:
    """The person is a member from now on, and the link has done its work; Conflict for one who is a member already."""
    found = look(tx, token, now=now)
    if store.is_member(tx, found.workspace_id, person_id):
        raise Conflict("You are a member of this workspace already. Leave the link to who was meant to get it.")
    if not store.drop_invitation(tx, found.id):
        raise NotFound("This invitation was used at this very moment. Ask who sent it for another one.")
    accounts_store.add_member(tx, found.workspace_id, person_id, found.role, instant(now))
    who = (person_id, accounts_store.name_of(tx, person_id))
    admin_log.record(
        tx, found.workspace_id, by=who, act="member.joined", subject=(found.workspace_id, found.role), at=now
    )
    return found


def join_anew(tx: Tx, token: str, account: people.AccountChange, *, now: datetime) -> tuple[Invited, str]:
    """The same for someone who has no account yet, with the id of the person who now has one."""
    person_id = new_id("per", now)
    accounts_store.add_person(tx, person_id, people.UNNAMED, instant(now))
    people.settle(tx, person_id, account, keep="")
    return join(tx, token, person_id, now=now), person_id
