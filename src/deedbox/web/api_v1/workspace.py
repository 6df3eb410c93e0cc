"""The workspace: its name and look, its sender and their notices, and which sites may embed signing."""

from typing import Any

from litestar import delete, get, patch, put
from litestar.params import JSONBody

from deedbox.accounts import logo, workspace_profile
from deedbox.accounts.workspace_profile import WorkspaceChange, WorkspaceProfile
from deedbox.kernel.db import Tx
from deedbox.web.http import context, logo_upload, multipart, openapi, upload, write_back
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.write_back import WRITES


@get("/api/v1/workspace", opt=requires("workspace:read"), summary="The workspace of the key", tags=["workspace"])
async def show_workspace(request: AnyRequest) -> WorkspaceProfile:
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: workspace_profile.profile(tx, here.caller.workspace_id))


@patch(
    "/api/v1/workspace",
    opt={**requires("workspace:write"), WRITES: (WorkspaceChange, WorkspaceProfile)},
    summary="Change the workspace's name, look and sender",
    tags=["workspace"],
)
async def change_workspace(request: AnyRequest, data: JSONBody[dict[str, Any]]) -> WorkspaceProfile:
    here, now = context.of(request), context.of(request).deedbox.clock.now()
    write_back.check(data, WorkspaceChange, WorkspaceProfile)

    def change(tx: Tx) -> WorkspaceProfile:
        shown = workspace_profile.profile(tx, here.caller.workspace_id)
        wanted = write_back.changes(data, shown, WorkspaceChange)
        return shown if wanted is None else workspace_profile.change(tx, here.caller, wanted, now=now)

    return await here.deedbox.db.write(change)


@put(
    "/api/v1/workspace/logo",
    opt={**requires("workspace:write"), multipart.FORM: upload.ONE_FILE},
    summary="Set the logo",
    tags=["workspace"],
    request_max_body_size=None,
)
async def put_logo(request: AnyRequest) -> WorkspaceProfile:
    """A PNG, JPEG or WebP picture. It is written anew, at most 512 pixels wide and high; signing pages show it."""
    return await logo_upload.put(request)


@delete(
    "/api/v1/workspace/logo",
    opt={**requires("workspace:write"), openapi.ALSO: (404,)},
    summary="Remove the logo",
    tags=["workspace"],
)
async def remove_logo(request: AnyRequest) -> None:
    here, now = context.of(request), context.of(request).deedbox.clock.now()
    await here.deedbox.db.write(lambda tx: logo.remove(tx, here.caller, now=now))


ROUTES: list[Any] = [show_workspace, change_workspace, put_logo, remove_logo]
