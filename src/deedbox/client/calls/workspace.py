# Written by scripts/client.py from the OpenAPI document: change it there.
"""What the workspace tells of itself to those who get its documents."""

from typing import Literal, TypedDict, Unpack

from deedbox.client.call import Call, FileSource, Form
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.records.workspace import WorkspaceProfile, WorkspaceUsage
from deedbox.client.requests.workspace import WorkspaceChange


class ShowUsageQuery(TypedDict, total=False):
    """What `show_usage` can be asked for."""

    by: Literal["day", "month"]
    """`day` for the last 30 days, as by default, or `month` for the last 12 months."""


class WorkspaceCalls:
    """What the workspace tells of itself to those who get its documents."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self) -> WorkspaceProfile:
        """The workspace of the key."""
        return self._connection.answer(Call("GET", "/api/v1/workspace"), WorkspaceProfile)

    def change(self, body: WorkspaceChange) -> WorkspaceProfile:
        """Change the workspace's name, look and sender."""
        return self._connection.answer(Call("PATCH", "/api/v1/workspace", body=body), WorkspaceProfile)

    def put_logo(self, file: FileSource) -> WorkspaceProfile:
        """Set the logo.

        A PNG, JPEG or WebP picture. It is written anew, at most 512 pixels wide and high; signing pages show it."""
        return self._connection.answer(
            Call("PUT", "/api/v1/workspace/logo", body=Form([("file", file)])), WorkspaceProfile
        )

    def remove_logo(self) -> None:
        """Remove the logo."""
        self._connection.done(Call("DELETE", "/api/v1/workspace/logo"))

    def get_usage(self, **query: Unpack[ShowUsageQuery]) -> WorkspaceUsage:
        """Documents, times, queries and storage, by day or by month."""
        return self._connection.answer(Call("GET", "/api/v1/usage", query=query), WorkspaceUsage)


class AsyncWorkspaceCalls:
    """What the workspace tells of itself to those who get its documents."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self) -> WorkspaceProfile:
        """The workspace of the key."""
        return await self._connection.answer(Call("GET", "/api/v1/workspace"), WorkspaceProfile)

    async def change(self, body: WorkspaceChange) -> WorkspaceProfile:
        """Change the workspace's name, look and sender."""
        return await self._connection.answer(Call("PATCH", "/api/v1/workspace", body=body), WorkspaceProfile)

    async def put_logo(self, file: FileSource) -> WorkspaceProfile:
        """Set the logo.

        A PNG, JPEG or WebP picture. It is written anew, at most 512 pixels wide and high; signing pages show it."""
        return await self._connection.answer(
            Call("PUT", "/api/v1/workspace/logo", body=Form([("file", file)])), WorkspaceProfile
        )

    async def remove_logo(self) -> None:
        """Remove the logo."""
        await self._connection.done(Call("DELETE", "/api/v1/workspace/logo"))

    async def get_usage(self, **query: Unpack[ShowUsageQuery]) -> WorkspaceUsage:
        """Documents, times, queries and storage, by day or by month."""
        return await self._connection.answer(Call("GET", "/api/v1/usage", query=query), WorkspaceUsage)
