"""Workspaces: the walls between tenants."""

from datetime import datetime

import msgspec

from deedbox.accounts import keys, people, store, tiers
from deedbox.accounts.caller import Caller
from deedbox.accounts.scopes import granted
from deedbox.kernel.clock import instant
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound
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


def ensure(tx: Tx, *, now: datetime) -> Workspace:
    """The installation's first workspace, made with its owner where there is none."""
    found = store.first_workspace(tx)
    if found is not None:
        return Workspace(*found)
    workspace = Workspace(new_id("wsp", now), "Main")
    store.add_workspace(tx, workspace.id, workspace.name, instant(now))
    people.add_owner(tx, workspace.id, now=now)
    return workspace


def first_access(tx: Tx, *, now: datetime) -> FirstAccess:
    """A login link while the owner has no password yet, and a key that may do everything while there is none."""
    workspace = ensure(tx, now=now)
    token = owner_link(tx, workspace.id, now=now) if not owner_settled(tx, workspace.id) else None
    if store.any_key(tx):
        return FirstAccess(token, None)
    _, key = keys.create(tx, operator(workspace.id), keys.NewKey(name="First key", scopes=["*"]), now=now)
    return FirstAccess(token, key)


def owner_link(tx: Tx, workspace_id: str, *, now: datetime, forget_password: bool = False) -> Secret:
    """A one-time login link's token for the workspace's owner."""
    owner = store.owner(tx, workspace_id)
    if owner is None:
        raise NotFound("This workspace has no owner")
    if forget_password:
        people.forget_password(tx, owner[0])
    return people.login_link(tx, owner[0], now=now)


def owner_settled(tx: Tx, workspace_id: str) -> bool:
    """Whether the owner has chosen e-mail and password."""
    owner = store.owner(tx, workspace_id)
    return owner is not None and owner[1] is not None


def operator(workspace_id: str) -> Caller:
    """The command line: whoever can read the data folder may do everything in it."""
    return Caller(OPERATOR, workspace_id, granted("*"), tiers.TIERS["enterprise"], OPERATOR, is_owner=True)


def find(tx: Tx, workspace_id: str) -> Workspace:
    found = store.workspace(tx, workspace_id)
    if found is None:
        raise NotFound("Workspace does not exist")
    return Workspace(*found)
