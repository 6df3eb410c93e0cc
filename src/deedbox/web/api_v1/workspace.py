"""The workspace: its name, its sender, and whether the sender is sent notices."""

from litestar import get, patch
from litestar.params import JSONBody

from deedbox.accounts import workspace_profile
from deedbox.accounts.workspace_profile import WorkspaceChange, WorkspaceProfile
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import door


@get("/api/v1/workspace", opt=door("workspace:read"), summary="The workspace of the key", tags=["workspace"])
async def show_workspace(request: AnyRequest) -> WorkspaceProfile:
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: workspace_profile.profile(tx, here.caller.workspace_id))


@patch(
    "/api/v1/workspace", opt=door("workspace:write"), summary="Name the workspace and its sender", tags=["workspace"]
)
async def change_workspace(request: AnyRequest, data: JSONBody[WorkspaceChange]) -> WorkspaceProfile:
    here = context.of(request)
    return await here.deedbox.db.write(lambda tx: workspace_profile.change(tx, here.caller.workspace_id, data))


ROUTES = [show_workspace, change_workspace]
