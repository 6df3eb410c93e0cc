"""What a request carries from the guard to its route."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from litestar import Request
from litestar.connection import ASGIConnection

from deedbox.accounts.caller import Caller
from deedbox.accounts.people import PersonSession as Person
from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Unauthorized
from deedbox.search.library.reader import SearchReader
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import expire
from deedbox.signing.model import Packet
from deedbox.signing.sessions import SignerSession as Signer
from deedbox.web.http.auth import Requirement
from deedbox.wiring import Installation

if TYPE_CHECKING:
    from deedbox.kernel.fairness import MemoryBudget

KEY = "deedbox"
OUTER = "deedbox.outer"
"""In the scope of a request that a route makes of another, for its own caller: the context of that route's request."""

AnyRequest = Request[Any, Any, Any]

T = TypeVar("T")


class Context:
    __slots__ = (
        "_caller",
        "_person",
        "_signer",
        "_token",
        "body",
        "content",
        "deadline",
        "deedbox",
        "door",
        "frames",
        "headers",
        "held",
        "holder",
        "in_frame",
        "language",
        "named",
        "query",
        "request_id",
        "room",
        "subject",
        "version",
    )

    def __init__(self, deedbox: Installation, request_id: str, door: "Requirement", room: "MemoryBudget") -> None:
        self.deedbox = deedbox
        self.request_id = request_id
        self.door = door
        """The one that the guard has opened."""
        self.named: Mapping[str, Any] = {}
        """What the path names, by the names of its route."""
        self.room = room
        self.held = 0
        """Bytes of the room that this request's body takes up until the end."""
        self.holder = ""
        """Whose request this is where what there is must be shared: places, room in memory, the embedding model."""
        self.content: bytes | None = None
        """The body as it came, once it was read."""
        self.body: Any = None
        """What the body says, decoded as the route's kind of body."""
        self.query: Any = None
        """What the address asks for, as the route's struct of query parameters."""
        self.deadline: asyncio.Timeout | None = None
        self.language: str | None = None
        """That of the signer, once it is known: in it they read what is refused."""
        self.subject = ""
        self.headers: list[tuple[bytes, bytes]] = [(b"x-request-id", request_id.encode())]
        """What the response carries beside the route's own headers."""
        self.frames: Sequence[str] = ()
        """The sites that may show the answer in a frame, once it is known who asks."""
        self.in_frame = False
        """Whether the cookie that opened the door is that of a frame."""
        self.version: str | None = None
        """What stands for everything that the live part asked for is made of, once that is known."""
        self._caller: Caller | None = None
        self._person: Person | None = None
        self._signer: Signer | None = None
        self._token: Secret | None = None

    @property
    def caller(self) -> Caller:
        """The key that asks, or the person who is signed in. Routes behind other doors have none, and must not ask."""
        if self._caller is None:
            raise Unauthorized("Missing API key")
        return self._caller

    @caller.setter
    def caller(self, caller: Caller) -> None:
        self._caller = caller
        self.subject = caller.id

    @property
    def reader(self) -> SearchReader:
        """The caller, as one who looks at the library: signed documents are there for who may read documents,
        and collections for whose key is not limited to others."""
        caller = self.caller
        return SearchReader(caller.workspace_id, caller.may("documents:read"), caller.collections)

    @property
    def person(self) -> Person:
        """Who is signed in, at the door PERSON."""
        if self._person is None:
            raise Unauthorized("You are not signed in")
        return self._person

    @property
    def knows_person(self) -> bool:
        """Whether someone is signed in; what is refused before that is told to nobody in particular."""
        return self._person is not None

    @property
    def signer(self) -> Signer:
        """Who signs, at the door SIGNER."""
        if self._signer is None:
            raise Unauthorized("There is no signing session")
        return self._signer

    @property
    def token(self) -> Secret:
        """The cookie's value that opened the door PERSON or SIGNER."""
        if self._token is None:
            raise Unauthorized("There is no cookie")
        return self._token

    def enter(self, session: Person | Signer, token: Secret) -> None:
        """Keeps whose cookie opened the door."""
        self._token = token
        if isinstance(session, Person):
            self._person, self.caller = session, session.caller
        else:
            self._signer, self.subject = session, session.signer_id

    def take_time(self, seconds: float) -> None:
        """Lets the request last so long from now: what it does takes longer than one may otherwise."""
        if self.deadline is not None:
            self.deadline.reschedule(asyncio.get_running_loop().time() + seconds)

    def action(self, tx: Tx) -> ActionContext:
        """Return the context in which the caller acts on documents of their workspace."""
        return self.deedbox.services.action(tx, self.caller.workspace_id, self.caller.id)

    async def packet_of(self, document_id: str) -> Packet:
        """The packet of the caller's document as it is now: one past its time expires at the first look."""
        services = self.deedbox.services
        return await expire.current(services, await services.packet_of(self.caller.workspace_id, document_id))

    async def packet(self, packet_id: str) -> Packet:
        """The caller's packet as it is now: one past its time expires at the first look."""
        services = self.deedbox.services
        return await expire.current(services, await services.packet(self.caller.workspace_id, packet_id))


def of(connection: ASGIConnection[Any, Any, Any, Any]) -> Context:
    context: Context = connection.scope[KEY]  # type: ignore[literal-required]
    return context


def origin(request: AnyRequest) -> tuple[str, str]:
    """The address and the program that a request comes from."""
    client = request.scope.get("client")
    agent = request.headers.get("user-agent", "")[: limits.USER_AGENT_CHARS]
    return client[0] if client else "unknown", agent


async def unless_gone(request: AnyRequest, work: Coroutine[Any, Any, T]) -> T:
    """Return what the work returns, and end it when the caller hangs up: nobody would read its answer."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise BadRequest("The connection was closed before the answer was complete")
    finally:
        working.cancel()
        leaving.cancel()


async def _hung_up(request: AnyRequest) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
