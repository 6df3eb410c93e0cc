"""Whether the search API works."""

from typing import Literal

import msgspec
from litestar import get

from deedbox.accounts import workspaces
from deedbox.kernel.clock import instant
from deedbox.web.http import context
from deedbox.web.http.auth import ANY_KEY, requires
from deedbox.web.http.context import AnyRequest


class Health(msgspec.Struct, frozen=True):
    status: Literal["healthy"]
    timestamp: str
    """The server's time."""


@get("/health", opt=requires(ANY_KEY), summary="Whether the service is operational", tags=["search"])
async def health(request: AnyRequest) -> Health:
    """Asks the database, so that `healthy` means that requests can be answered."""
    here = context.of(request)
    deedbox = here.deedbox
    await deedbox.db.read(lambda tx: workspaces.find(tx, here.caller.workspace_id))
    return Health("healthy", instant(deedbox.clock.now()))


ROUTES = [health]
