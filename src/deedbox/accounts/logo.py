"""A workspace's logo: one file, shown to everybody who opens its links."""

from datetime import datetime

from msgspec.structs import replace

from deedbox.accounts import store, workspace_profile
from deedbox.accounts.caller import Caller
from deedbox.accounts.workspace_profile import WorkspaceProfile
from deedbox.kernel import admin_log
from deedbox.kernel.blobs import Blob, ReceivedBlob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound


def put(tx: Tx, caller: Caller, received: ReceivedBlob, *, now: datetime) -> WorkspaceProfile:
    """The workspace with this picture in place of the one before."""
    blob = blobs_store.adopt(tx, received, _owner(caller.workspace_id), now)
    return _changed(tx, caller, blob.sha256, now)


def remove(tx: Tx, caller: Caller, *, now: datetime) -> WorkspaceProfile:
    """The workspace without a logo; NotFound if it had none."""
    if workspace_profile.row(tx, caller.workspace_id).logo_sha256 is None:
        raise NotFound("The workspace has no logo")
    return _changed(tx, caller, None, now)


def shown(tx: Tx, sha256: str) -> Blob:
    """The file of the logo with this hash; NotFound for any other file."""
    if not store.is_logo(tx, sha256):
        raise NotFound("There is no such logo")
    return blobs_store.demand(tx, sha256)


def _changed(tx: Tx, caller: Caller, sha256: str | None, now: datetime) -> WorkspaceProfile:
    workspace_id = caller.workspace_id
    before = workspace_profile.row(tx, workspace_id)
    act = "workspace.logo_set" if sha256 else "workspace.logo_removed"
    admin_log.done(tx, caller, act, (before.id, before.name), at=now)
    store.change_workspace(tx, replace(before, logo_sha256=sha256))
    if before.logo_sha256 not in (None, sha256):
        blobs_store.release(tx, str(before.logo_sha256), _owner(workspace_id), now)
    return workspace_profile.profile(tx, workspace_id)


def _owner(workspace_id: str) -> str:
    return f"logo:{workspace_id}"
