"""The sessions of a person, as the account page lists them, and the workspace that one of them is in."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from deedbox.accounts import limits
from deedbox.accounts.people import PersonSession
from deedbox.accounts.roles import Role
from deedbox.accounts.sessions import store
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound


class OpenSession(msgspec.Struct, frozen=True):
    id: str
    workspace_name: str
    address: str
    agent: str
    created_at: str
    seen_on: str


class Membership(msgspec.Struct, frozen=True):
    """A workspace that a person is a member of."""

    id: str
    name: str
    role: Role
    since: str


def list_sessions(tx: Tx, person_id: str, *, now: datetime) -> list[OpenSession]:
    """Every session of the person that lasts, the newest first."""
    return [OpenSession(*row) for row in store.of_person(tx, person_id, instant(now), limits.SESSIONS_SHOWN)]


def end(tx: Tx, person_id: str, session_id: str) -> None:
    """Ends one; NotFound if the person has no such session."""
    if not store.end(tx, person_id, session_id):
        raise NotFound("This session has ended already")


def end_others(tx: Tx, current: PersonSession) -> None:
    store.end_others(tx, current.person_id, current.id)


def workspaces_of(tx: Tx, person_id: str) -> list[Membership]:
    return [Membership(*row) for row in store.workspaces_of(tx, person_id, limits.WORKSPACES_SHOWN)]


def switch(tx: Tx, current: PersonSession, workspace_id: str) -> None:
    """The session is in this workspace from now on; NotFound unless the person is a member of it."""
    if not store.switch(tx, current.id, current.person_id, workspace_id):
        raise NotFound("You are not a member of this workspace")


def record_activity(tx: Tx, seen: Mapping[str, str]) -> None:
    """Writes down on which day each session was last in use."""
    store.record_activity(tx, seen)
