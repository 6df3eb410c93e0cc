# Written by scripts/client.py from the OpenAPI document: change it there.
"""API keys, and who the caller is."""

from collections.abc import AsyncIterator, Iterator
from typing import TypedDict, Unpack

from deedbox.client.call import Call, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.records.keys import Key, KeyPage, MadeKey, Me
from deedbox.client.requests.keys import KeyChange, NewKey


class ListKeysQuery(TypedDict, total=False):
    """What `list_keys` can be asked for."""

    limit: int
    """How many to show at most."""


class KeysCalls:
    """API keys, and who the caller is."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def me(self) -> Me:
        """The key in use and its workspace."""
        return self._connection.answer(Call("GET", "/api/v1/me"), Me)

    def list(self, **query: Unpack[ListKeysQuery]) -> Iterator[Key]:
        """List API keys, newest first."""
        return self._connection.pages(Call("GET", "/api/v1/keys", query=query), KeyPage, lambda page: page.keys)

    def create(self, body: NewKey, *, idempotency_key: str | None = None) -> MadeKey:
        """Create an API key."""
        return self._connection.answer(Call("POST", "/api/v1/keys", headers=once(idempotency_key), body=body), MadeKey)

    def get(self, key_id: str) -> Key:
        """One API key."""
        return self._connection.answer(Call("GET", f"/api/v1/keys/{part(key_id)}"), Key)

    def revoke(self, key_id: str) -> None:
        """Revoke an API key and the keys that it made; only one that lies within the calling key."""
        self._connection.done(Call("DELETE", f"/api/v1/keys/{part(key_id)}"))

    def change(self, key_id: str, body: KeyChange) -> Key:
        """Change an API key's name, rate or end, only downwards."""
        return self._connection.answer(Call("PATCH", f"/api/v1/keys/{part(key_id)}", body=body), Key)


class AsyncKeysCalls:
    """API keys, and who the caller is."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def me(self) -> Me:
        """The key in use and its workspace."""
        return await self._connection.answer(Call("GET", "/api/v1/me"), Me)

    def list(self, **query: Unpack[ListKeysQuery]) -> AsyncIterator[Key]:
        """List API keys, newest first."""
        return self._connection.pages(Call("GET", "/api/v1/keys", query=query), KeyPage, lambda page: page.keys)

    async def create(self, body: NewKey, *, idempotency_key: str | None = None) -> MadeKey:
        """Create an API key."""
        return await self._connection.answer(
            Call("POST", "/api/v1/keys", headers=once(idempotency_key), body=body), MadeKey
        )

    async def get(self, key_id: str) -> Key:
        """One API key."""
        return await self._connection.answer(Call("GET", f"/api/v1/keys/{part(key_id)}"), Key)

    async def revoke(self, key_id: str) -> None:
        """Revoke an API key and the keys that it made; only one that lies within the calling key."""
        await self._connection.done(Call("DELETE", f"/api/v1/keys/{part(key_id)}"))

    async def change(self, key_id: str, body: KeyChange) -> Key:
        """Change an API key's name, rate or end, only downwards."""
        return await self._connection.answer(Call("PATCH", f"/api/v1/keys/{part(key_id)}", body=body), Key)
