"""API keys, and who the caller is."""

from typing import Annotated, Any

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, UnsetType

from deedbox.accounts import keys, workspaces
from deedbox.accounts.keys import KeyChange, KeyRecord, NewKey
from deedbox.accounts.workspaces import Workspace
from deedbox.kernel.db import Tx
from deedbox.web.http import context, openapi, timestamps, write_back
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import ANY_KEY, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.once import once
from deedbox.web.http.query import QUERY
from deedbox.web.http.write_back import WRITES


class MadeKey(KeyRecord, frozen=True, kw_only=True):
    key: str | None
    """The key itself. It is shown only here; null in the answer to a repeated Idempotency-Key."""


class KeyQuery(PageQuery, frozen=True, kw_only=True):
    cursor: Annotated[str, cursors.of("key")] | UnsetType = UNSET


class KeyPage(msgspec.Struct, frozen=True):
    keys: list[KeyRecord]
    """The keys of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


class Me(msgspec.Struct, frozen=True):
    key: KeyRecord
    """The key in use."""
    workspace: Workspace
    """The workspace that it belongs to."""


@get("/api/v1/me", opt=requires(ANY_KEY), summary="The key in use and its workspace", tags=["keys"])
async def me(request: AnyRequest) -> Me:
    here = context.of(request)
    now = here.deedbox.clock.now()

    def look(tx: Tx) -> Me:
        return Me(keys.mine(tx, here.caller, now=now), workspaces.find(tx, here.caller.workspace_id))

    return await here.deedbox.db.read(look)


@get(
    "/api/v1/keys",
    opt={**requires("keys:read"), QUERY: KeyQuery},
    summary="List API keys, newest first",
    tags=["keys"],
)
async def list_keys(request: AnyRequest) -> KeyPage:
    here = context.of(request)
    asked, now = here.query, here.deedbox.clock.now()
    found = await here.deedbox.db.read(
        lambda tx: keys.page(tx, here.caller, limit=asked.limit + 1, after=asked.start, now=now)
    )
    return KeyPage(*cursors.page(found, asked.limit, lambda key: key.id))


@post(
    "/api/v1/keys",
    opt={**requires("keys:write"), openapi.MAKES: {"key_id": "/id"}},
    summary="Create an API key",
    tags=["keys"],
    status_code=201,
)
async def create_key(request: AnyRequest, data: JSONBody[NewKey]) -> Response[MadeKey]:
    here = context.of(request)
    now = here.deedbox.clock.now()
    new = msgspec.structs.replace(data, expires_at=timestamps.in_utc("expires_at", data.expires_at))

    def make(tx: Tx) -> MadeKey:
        made = keys.create(tx, here.caller, new, now=now)
        return MadeKey(**msgspec.structs.asdict(made.record), key=made.plain.reveal())

    answer: Response[Any] = await once(request, make, status=201, shown_once="key")
    return answer


@get("/api/v1/keys/{key_id:str}", opt=requires("keys:read"), summary="One API key", tags=["keys"])
async def get_key(request: AnyRequest, key_id: FromPath[str]) -> KeyRecord:
    here = context.of(request)
    now = here.deedbox.clock.now()
    return await here.deedbox.db.read(lambda tx: keys.get(tx, here.caller, key_id, now=now))


@patch(
    "/api/v1/keys/{key_id:str}",
    opt={**requires("keys:write"), WRITES: (KeyChange, KeyRecord)},
    summary="Change an API key's name, rate or end, only downwards",
    tags=["keys"],
)
async def change_key(request: AnyRequest, key_id: FromPath[str], data: JSONBody[dict[str, Any]]) -> KeyRecord:
    here = context.of(request)
    now = here.deedbox.clock.now()
    write_back.check(data, KeyChange, KeyRecord)

    def change(tx: Tx) -> KeyRecord:
        shown = keys.get(tx, here.caller, key_id, now=now)
        wanted = write_back.changes(_without_use(data, shown), shown, KeyChange)
        if wanted is None:
            return shown
        ends = wanted.expires_at if wanted.expires_at is UNSET else timestamps.in_utc("expires_at", wanted.expires_at)
        return keys.change(tx, here.caller, key_id, msgspec.structs.replace(wanted, expires_at=ends), now=now)

    return await here.deedbox.db.write(change)


def _without_use(given: dict[str, Any], shown: KeyRecord) -> dict[str, Any]:
    """The time of last use goes on by itself: whoever reads a key with that very key sends back an earlier one."""
    used, now = given.get("last_used_at", ""), shown.last_used_at
    earlier = used is None or (isinstance(used, str) and used <= (now or ""))
    return {name: value for name, value in given.items() if name != "last_used_at" or not earlier}


@delete(
    "/api/v1/keys/{key_id:str}",
    opt=requires("keys:write"),
    summary="Revoke an API key and the keys that it made; only one that lies within the calling key",
    tags=["keys"],
)
async def revoke_key(request: AnyRequest, key_id: FromPath[str]) -> None:
    here = context.of(request)
    now = here.deedbox.clock.now()
    await here.deedbox.db.write(lambda tx: keys.revoke(tx, here.caller, key_id, now=now))


ROUTES = [me, list_keys, create_key, get_key, change_key, revoke_key]
