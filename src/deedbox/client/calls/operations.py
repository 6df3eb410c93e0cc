# Written by scripts/client.py from the OpenAPI document: change it there.
"""For those who run the server."""

from typing import Any

from deedbox.client.call import Call
from deedbox.client.connection import AsyncConnection, Connection


class OperationsCalls:
    """For those who run the server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def livez(self) -> str:
        """The process runs."""
        return self._connection.text(Call("GET", "/livez", key=False))

    def readyz(self) -> str:
        """Requests can be answered."""
        return self._connection.text(Call("GET", "/readyz", key=False))

    def metrics(self) -> str:
        """Prometheus metrics."""
        return self._connection.text(Call("GET", "/metrics", key=False))

    def openapi_json(self) -> dict[str, Any]:
        """This description."""
        return self._connection.answer(Call("GET", "/openapi.json", key=False), dict[str, Any])


class AsyncOperationsCalls:
    """For those who run the server."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def livez(self) -> str:
        """The process runs."""
        return await self._connection.text(Call("GET", "/livez", key=False))

    async def readyz(self) -> str:
        """Requests can be answered."""
        return await self._connection.text(Call("GET", "/readyz", key=False))

    async def metrics(self) -> str:
        """Prometheus metrics."""
        return await self._connection.text(Call("GET", "/metrics", key=False))

    async def openapi_json(self) -> dict[str, Any]:
        """This description."""
        return await self._connection.answer(Call("GET", "/openapi.json", key=False), dict[str, Any])
