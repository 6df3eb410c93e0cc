# Written by scripts/client.py from the OpenAPI document: change it there.
"""What the workspace tells of itself to those who get its documents."""

from deedbox.client.call import Call
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.records.workspace import WorkspaceProfile
from deedbox.client.requests.workspace import WorkspaceChange


class WorkspaceCalls:
    """What the workspace tells of itself to those who get its documents."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self) -> WorkspaceProfile:
        """The workspace of the key."""
        return self._connection.answer(Call("GET", "/api/v1/workspace"), WorkspaceProfile)

    def change(self, body: WorkspaceChange) -> WorkspaceProfile:
        """Name the workspace and its sender."""
        return self._connection.answer(Call("PATCH", "/api/v1/workspace", body=body), WorkspaceProfile)


class AsyncWorkspaceCalls:
    """What the workspace tells of itself to those who get its documents."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self) -> WorkspaceProfile:
        """The workspace of the key."""
        return await self._connection.answer(Call("GET", "/api/v1/workspace"), WorkspaceProfile)

    async def change(self, body: WorkspaceChange) -> WorkspaceProfile:
        """Name the workspace and its sender."""
        return await self._connection.answer(Call("PATCH", "/api/v1/workspace", body=body), WorkspaceProfile)
