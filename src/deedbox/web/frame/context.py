"""What a request carries from the guard to its route."""

import asyncio
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection

from deedbox.accounts.caller import Caller
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Unauthorized
from deedbox.signing.actions import expire
from deedbox.signing.desk import Desk
from deedbox.signing.model import Packet
from deedbox.wiring import Deedbox

KEY = "deedbox"

AnyRequest = Request[Any, Any, Any]


class Context:
    __slots__ = ("_caller", "deadline", "deedbox", "headers", "request_id", "subject")

    def __init__(self, deedbox: Deedbox, request_id: str) -> None:
        self.deedbox = deedbox
        self.request_id = request_id
        self.deadline: asyncio.Timeout | None = None
        self.subject = ""
        self.headers: list[tuple[bytes, bytes]] = [(b"x-request-id", request_id.encode())]
        """What the response carries beside the route's own headers."""
        self._caller: Caller | None = None

    @property
    def caller(self) -> Caller:
        """Who asks. Routes without a key have none, and must not ask."""
        if self._caller is None:
            raise Unauthorized("Missing API key")
        return self._caller

    @caller.setter
    def caller(self, caller: Caller) -> None:
        self._caller = caller

    def desk(self, tx: Tx) -> Desk:
        """The desk at which the caller acts on documents of their workspace."""
        return self.deedbox.office.desk(tx, self.caller.workspace_id, self.caller.id)

    async def packet_of(self, document_id: str) -> Packet:
        """The packet of the caller's document as it is now: one past its time expires at the first look."""
        office = self.deedbox.office
        return await expire.current(office, await office.packet_of(self.caller.workspace_id, document_id))


def of(connection: ASGIConnection[Any, Any, Any, Any]) -> Context:
    context: Context = connection.scope[KEY]  # type: ignore[literal-required]
    return context
