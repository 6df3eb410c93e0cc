"""What a member of a workspace may do: a role is a set of scopes, the same that keys have."""

from typing import Literal, TypeAlias, get_args

from deedbox.accounts.scopes import expand_scopes

Role: TypeAlias = Literal["owner", "sender", "viewer"]

_SCOPES: dict[Role, str] = {
    "owner": "*",
    "sender": "documents:* verify:read workspace:read archive:read search:read search:write search:query",
    "viewer": "documents:read verify:read workspace:read archive:read search:read search:query",
}
ROLES: tuple[Role, ...] = get_args(Role)


def scopes_of(role: Role) -> frozenset[str]:
    """Everything that this role opens."""
    return expand_scopes(_SCOPES[role])
