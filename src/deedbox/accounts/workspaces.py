"""Workspaces: the walls between tenants."""

from datetime import datetime
from typing import NamedTuple

import msgspec

from deedbox.accounts import keys, people, store, tiers
from deedbox.accounts.caller import Caller
from deedbox.accounts.scopes import expand_scopes
from deedbox.kernel import admin_log, limits
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, NotFound
from deedbox.kernel.ids import new_id

OPERATOR = "operator"
"""Who made what the command line made: a person with access to the machine."""


class Workspace(msgspec.Struct, frozen=True):
    id: str
    """The workspace's id."""
    name: str
    """What it is called."""


class FirstAccess(msgspec.Struct, frozen=True):
    """How the first person gets in; each is shown once."""

    login_token: Secret | None
    api_key: Secret | None
    owner_settled: bool
    """Whether the owner has chosen e-mail and password."""


def ensure(tx: Tx, *, now: datetime) -> Workspace:
    """The installation's first workspace, made with its owner where there is none."""
    found = store.first_workspace(tx)
    if found is not None:
        return Workspace(*found)
    workspace = Workspace(new_id("wsp", now), "Main")
    store.add_workspace(tx, workspace.id, workspace.name, instant(now))
    people.add_owner(tx, workspace.id, now=now)
    return workspace


class NewWorkspace(NamedTuple):
    workspace: Workspace
    login_token: Secret | None
    """By which its owner comes in; None where the owner has an account."""


def create(tx: Tx, name: str, owner_email: str | None, *, now: datetime) -> NewWorkspace:
    """Another workspace, owned by the person who has this address, else by a new one."""
    if not name.strip() or len(name) > limits.WORKSPACE_NAME_CHARS:
        raise BadRequest(f"The name must have 1 to {limits.WORKSPACE_NAME_CHARS} characters")
    workspace = Workspace(new_id("wsp", now), name.strip())
    store.add_workspace(tx, workspace.id, workspace.name, instant(now))
    admin_log.done(tx, operator(workspace.id), "workspace.created", (workspace.id, workspace.name), at=now)
    if owner_email is None:
        owner_id = people.add_owner(tx, workspace.id, now=now)
        return NewWorkspace(workspace, people.login_link(tx, owner_id, now=now))
    store.add_member(tx, workspace.id, _person_with(tx, owner_email), "owner", instant(now))
    return NewWorkspace(workspace, None)


def _person_with(tx: Tx, email: str) -> str:
    found = store.credentials(tx, people.login_name(email))
    if found is None:
        raise NotFound(f"Nobody here has the address {email}. Leave it out for a login link for a new person.")
    person_id: str = found[0]
    return person_id


def link_for(tx: Tx, email: str, *, now: datetime, forget_password: bool = False) -> Secret:
    """A one-time login link's token for the person who has this address."""
    person_id = _person_with(tx, email)
    if forget_password:
        people.forget_password(tx, person_id)
    return people.login_link(tx, person_id, now=now)


def first_access(tx: Tx, *, now: datetime) -> FirstAccess:
    """At the first start, a login link for the owner and a key that may do everything; later neither."""
    workspace = ensure(tx, now=now)
    settled = has_owner_login(tx, workspace.id)
    if store.any_key(tx):
        return FirstAccess(None, None, settled)
    token = None if settled else owner_link(tx, workspace.id, now=now)
    _, key = keys.create(tx, operator(workspace.id), keys.NewKey(name="First key", scopes=["*"]), now=now)
    return FirstAccess(token, key, settled)


def owner_link(tx: Tx, workspace_id: str, *, now: datetime, forget_password: bool = False) -> Secret:
    """A one-time login link's token for the workspace's owner."""
    owner = store.owner(tx, workspace_id)
    if owner is None:
        raise NotFound("This workspace has no owner")
    if forget_password:
        people.forget_password(tx, owner[0])
    return people.login_link(tx, owner[0], now=now)


def has_owner_login(tx: Tx, workspace_id: str) -> bool:
    """Whether the owner has chosen e-mail and password."""
    owner = store.owner(tx, workspace_id)
    return owner is not None and owner[1] is not None


def operator(workspace_id: str) -> Caller:
    """The command line: whoever can read the data folder may do everything in it."""
    return Caller(OPERATOR, workspace_id, expand_scopes("*"), tiers.TIERS["enterprise"], OPERATOR, is_owner=True)


def find(tx: Tx, workspace_id: str) -> Workspace:
    found = store.workspace(tx, workspace_id)
    if found is None:
        raise NotFound("Workspace does not exist")
    return Workspace(*found)
