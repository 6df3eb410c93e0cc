# Written by scripts/client.py from the OpenAPI document: change it there.
"""What the workspace tells of itself to those who get its documents."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Literal, TypedDict, Unpack

from deedbox.client.call import Call, FileSource, Form, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.records.workspace import (
    Act,
    ChangePage,
    MadeInvitation,
    Member,
    MemberPage,
    WorkspaceProfile,
    WorkspaceUsage,
)
from deedbox.client.requests.workspace import MemberChange, NewInvitation, WorkspaceChange


class ListMembersQuery(TypedDict, total=False):
    """What `list_members` can be asked for."""

    limit: int
    """How many to show at most."""


class ListChangesQuery(TypedDict, total=False):
    """What `list_changes` can be asked for."""

    limit: int
    """How many to show at most."""
    act: str
    """Only changes of this name, such as `key.created`, or of all names of a kind, such as `key`."""
    since: datetime | str
    """Only changes made then or later."""


class ShowUsageQuery(TypedDict, total=False):
    """What `show_usage` can be asked for."""

    by: Literal["day", "month"]
    """`day` for the last 30 days, as by default, or `month` for the last 12 months."""


class WorkspaceCalls:
    """What the workspace tells of itself to those who get its documents."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list_members(self, **query: Unpack[ListMembersQuery]) -> Iterator[Member]:
        """List members and open invitations."""
        return self._connection.pages(
            Call("GET", "/api/v1/members", query=query), MemberPage, lambda page: page.members
        )

    def invite_member(self, body: NewInvitation, *, idempotency_key: str | None = None) -> MadeInvitation:
        """Invite a person to the workspace.

        The answer has a link, by which one person joins with the role. No key gives a role that may do more than it."""
        return self._connection.answer(
            Call("POST", "/api/v1/members", headers=once(idempotency_key), body=body), MadeInvitation
        )

    def get_member(self, member_id: str) -> Member:
        """One member."""
        return self._connection.answer(Call("GET", f"/api/v1/members/{part(member_id)}"), Member)

    def remove_member(self, member_id: str) -> None:
        """Remove a member, or withdraw an invitation.

        The member's sessions in this workspace end at once. What they have made goes on, their keys too. The last
        owner stays."""
        self._connection.done(Call("DELETE", f"/api/v1/members/{part(member_id)}"))

    def change_member(self, member_id: str, body: MemberChange) -> Member:
        """Change a member's role.

        It holds from the member's next request on. The last owner stays one."""
        return self._connection.answer(Call("PATCH", f"/api/v1/members/{part(member_id)}", body=body), Member)

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

    def list_changes(self, **query: Unpack[ListChangesQuery]) -> Iterator[Act]:
        """Who made or changed which key, webhook or member, newest first."""
        return self._connection.pages(
            Call("GET", "/api/v1/changes", query=query), ChangePage, lambda page: page.changes
        )

    def get_usage(self, **query: Unpack[ShowUsageQuery]) -> WorkspaceUsage:
        """Documents, times, queries and storage, by day or by month."""
        return self._connection.answer(Call("GET", "/api/v1/usage", query=query), WorkspaceUsage)


class AsyncWorkspaceCalls:
    """What the workspace tells of itself to those who get its documents."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def list_members(self, **query: Unpack[ListMembersQuery]) -> AsyncIterator[Member]:
        """List members and open invitations."""
        return self._connection.pages(
            Call("GET", "/api/v1/members", query=query), MemberPage, lambda page: page.members
        )

    async def invite_member(self, body: NewInvitation, *, idempotency_key: str | None = None) -> MadeInvitation:
        """Invite a person to the workspace.

        The answer has a link, by which one person joins with the role. No key gives a role that may do more than it."""
        return await self._connection.answer(
            Call("POST", "/api/v1/members", headers=once(idempotency_key), body=body), MadeInvitation
        )

    async def get_member(self, member_id: str) -> Member:
        """One member."""
        return await self._connection.answer(Call("GET", f"/api/v1/members/{part(member_id)}"), Member)

    async def remove_member(self, member_id: str) -> None:
        """Remove a member, or withdraw an invitation.

        The member's sessions in this workspace end at once. What they have made goes on, their keys too. The last
        owner stays."""
        await self._connection.done(Call("DELETE", f"/api/v1/members/{part(member_id)}"))

    async def change_member(self, member_id: str, body: MemberChange) -> Member:
        """Change a member's role.

        It holds from the member's next request on. The last owner stays one."""
        return await self._connection.answer(Call("PATCH", f"/api/v1/members/{part(member_id)}", body=body), Member)

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

    def list_changes(self, **query: Unpack[ListChangesQuery]) -> AsyncIterator[Act]:
        """Who made or changed which key, webhook or member, newest first."""
        return self._connection.pages(
            Call("GET", "/api/v1/changes", query=query), ChangePage, lambda page: page.changes
        )

    async def get_usage(self, **query: Unpack[ShowUsageQuery]) -> WorkspaceUsage:
        """Documents, times, queries and storage, by day or by month."""
        return await self._connection.answer(Call("GET", "/api/v1/usage", query=query), WorkspaceUsage)
