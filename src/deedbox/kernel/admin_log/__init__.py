"""What was changed in a workspace itself: who made which key, webhook or member, and when. Never a secret.

Written in the transaction of the change: what has happened stands here, and what stands here has happened."""

from datetime import datetime
from typing import Protocol

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.admin_log import store
from deedbox.kernel.admin_log.store import ActPart
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.ids import new_id

__all__ = ["Act", "ActPart", "Doer", "done", "page", "record"]


class Doer(Protocol):
    """Who acts: a key, a person, or the command line."""

    @property
    def id(self) -> str: ...
    @property
    def workspace_id(self) -> str: ...
    @property
    def name(self) -> str: ...


class Act(msgspec.Struct, frozen=True):
    """One change of the workspace."""

    id: str
    """The change's id."""
    act: str
    """What was done, such as `key.created`."""
    by_id: str
    """The key or person that did it; `operator`: the command line of the server."""
    by_name: str
    """What that key or person was called then."""
    subject_id: str
    """What it was done to."""
    subject_name: str
    """What that was called then."""
    at: str
    """When."""


def record(tx: Tx, workspace_id: str, *, by: tuple[str, str], act: str, subject: tuple[str, str], at: datetime) -> None:
    """Notes the act: by whom and on what, each as id and name."""
    store.add(
        tx,
        store.ActRow(
            id=new_id("act", at),
            workspace_id=workspace_id,
            by_id=by[0],
            by_name=by[1][: limits.ACT_NAME_CHARS],
            act=act,
            subject_id=subject[0],
            subject_name=subject[1][: limits.ACT_NAME_CHARS],
            at=instant(at),
        ),
    )


def done(tx: Tx, who: Doer, act: str, subject: tuple[str, str], *, at: datetime) -> None:
    """Notes what someone has done in their own workspace."""
    record(tx, who.workspace_id, by=(who.id, who.name), act=act, subject=subject, at=at)


def page(tx: Tx, workspace_id: str, part: ActPart) -> list[Act]:
    """The workspace's changes that are wanted, newest first."""
    return [
        Act(row.id, row.act, row.by_id, row.by_name, row.subject_id, row.subject_name, row.at)
        for row in store.acts(tx, workspace_id, part)
    ]
