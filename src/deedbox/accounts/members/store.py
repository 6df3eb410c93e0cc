"""The tables of memberships and invitations."""

from typing import Literal, TypeAlias

import msgspec

from deedbox.accounts.roles import Role
from deedbox.kernel.db import Row, Tx

Status: TypeAlias = Literal["member", "invited"]

_LISTED = (
    "select id, status, name, email, role, since, expires_at from ("
    "select m.person_id as id, 'member' as status, p.name as name, p.email as email, m.role as role,"
    " m.created_at as since, cast(null as text) as expires_at from memberships m join people p on p.id = m.person_id"
    " where m.workspace_id = :workspace_id"
    " union all select id, 'invited', cast(null as text), email, role, created_at, expires_at from invitations"
    " where workspace_id = :workspace_id and expires_at > :now) as listed"
)


class MemberRow(msgspec.Struct, frozen=True):
    id: str
    status: Status
    name: str | None
    email: str | None
    role: Role
    since: str
    expires_at: str | None


class InvitationRow(msgspec.Struct, frozen=True):
    id: str
    workspace_id: str
    role: Role
    email: str | None
    created_by: str
    created_at: str
    expires_at: str


def page(tx: Tx, workspace_id: str, limit: int, after: str | None, now: str) -> list[MemberRow]:
    """Members, the newest first, and after them the open invitations."""
    rows = tx.all(
        f"{_LISTED} where id < :after order by id desc limit :limit",
        workspace_id=workspace_id,
        now=now,
        after=after or "per_~",
        limit=limit,
    )
    return [MemberRow(*row) for row in rows]


def find(tx: Tx, workspace_id: str, member_id: str, now: str) -> MemberRow | None:
    row = tx.one(f"{_LISTED} where id = :id", workspace_id=workspace_id, now=now, id=member_id)
    return MemberRow(*row) if row else None


def count(tx: Tx, workspace_id: str, now: str) -> int:
    row = tx.one(f"select count(*) from ({_LISTED}) as counted", workspace_id=workspace_id, now=now)
    return int(row[0]) if row else 0


def other_owner(tx: Tx, workspace_id: str, person_id: str) -> bool:
    """Whether someone else owns the workspace."""
    found = tx.one(
        "select 1 from memberships where workspace_id = :workspace_id and role = 'owner' and person_id <> :person_id"
        " limit 1",
        workspace_id=workspace_id,
        person_id=person_id,
    )
    return found is not None


def set_role(tx: Tx, workspace_id: str, person_id: str, role: Role) -> None:
    tx.run(
        "update memberships set role = :role where workspace_id = :workspace_id and person_id = :person_id",
        workspace_id=workspace_id,
        person_id=person_id,
        role=role,
    )


def remove(tx: Tx, workspace_id: str, person_id: str) -> None:
    tx.run(
        "delete from memberships where workspace_id = :workspace_id and person_id = :person_id",
        workspace_id=workspace_id,
        person_id=person_id,
    )


def is_member(tx: Tx, workspace_id: str, person_id: str) -> bool:
    return role_of(tx, workspace_id, person_id) is not None


def role_of(tx: Tx, workspace_id: str, person_id: str) -> Role | None:
    """The person's role in the workspace; None for who is no member."""
    row = tx.one(
        "select role from memberships where workspace_id = :workspace_id and person_id = :person_id",
        workspace_id=workspace_id,
        person_id=person_id,
    )
    return row[0] if row else None


def person(tx: Tx, email: str) -> Row | None:
    """Id and name of who has this address."""
    return tx.one("select id, name from people where email = :email", email=email)


def workspace_of(tx: Tx, person_id: str) -> str | None:
    """The id of the person's first workspace."""
    row = tx.one(
        "select workspace_id from memberships where person_id = :id order by workspace_id limit 1", id=person_id
    )
    return row[0] if row else None


def add_invitation(tx: Tx, row: InvitationRow, token_hash: bytes) -> None:
    tx.run(
        "insert into invitations (id, workspace_id, token_hash, role, email, created_by, created_at, expires_at)"
        " values (:id, :workspace_id, :token_hash, :role, :email, :created_by, :created_at, :expires_at)",
        **msgspec.structs.asdict(row),
        token_hash=token_hash,
    )


def invitation(tx: Tx, token_hash: bytes, now: str) -> InvitationRow | None:
    row = tx.one(
        "select id, workspace_id, role, email, created_by, created_at, expires_at from invitations"
        " where token_hash = :token_hash and expires_at > :now",
        token_hash=token_hash,
        now=now,
    )
    return InvitationRow(*row) if row else None


def drop_invitation(tx: Tx, invitation_id: str) -> bool:
    """Whether it was still there: of two that use it at once, one does."""
    return bool(tx.run("delete from invitations where id = :id", id=invitation_id))
