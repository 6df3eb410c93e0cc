"""The workspace: its name, its sender, and whether the sender is sent notices."""

from typing import Any

from litestar import get, patch
from litestar.params import JSONBody

from deedbox.accounts import workspace_profile
from deedbox.accounts.workspace_profile import WorkspaceChange, WorkspaceProfile
from deedbox.kernel.db import Tx
from deedbox.web.frame import context, write_back
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door
from deedbox.web.frame.write_back import WRITES


@get("/api/v1/workspace", opt=door("workspace:read"), summary="The workspace of the key", tags=["workspace"])
async def show_workspace(request: AnyRequest) -> WorkspaceProfile:
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: workspace_profile.profile(tx, here.caller.workspace_id))


@patch(
    "/api/v1/workspace",
    opt={**door("workspace:write"), WRITES: (WorkspaceChange, WorkspaceProfile)},
    summary="Name the workspace and its sender",
    tags=["workspace"],
)
async def change_workspace(request: AnyRequest, data: JSONBody[dict[str, Any]]) -> WorkspaceProfile:
    here = context.of(request)
    write_back.check(data, WorkspaceChange, WorkspaceProfile)

    def change(tx: Tx) -> WorkspaceProfile:
        shown = workspace_profile.profile(tx, here.caller.workspace_id)
        wanted = write_back.changes(data, shown, WorkspaceChange)
        return shown if wanted is None else workspace_profile.change(tx, here.caller.workspace_id, wanted)

    return await here.deedbox.db.write(change)


ROUTES = [show_workspace, change_workspace]
