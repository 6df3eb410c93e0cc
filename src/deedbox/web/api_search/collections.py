"""The collections that documents lie in."""

import msgspec
from litestar import get
from msgspec import UNSET, UnsetType

from deedbox.kernel.collection import CollectionName
from deedbox.search.library import library
from deedbox.web.http import context
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY


class CollectionQuery(PageQuery, frozen=True, kw_only=True):
    cursor: CollectionName | UnsetType = UNSET
    """`next_cursor` of the page before."""


class CollectionRecord(msgspec.Struct, frozen=True):
    name: str
    """What it is called."""
    documents: int
    """How many documents lie in it."""


class CollectionPage(msgspec.Struct, frozen=True):
    collections: list[CollectionRecord]
    """The collections of this page, by name."""
    count: int
    has_more: bool
    next_cursor: str | None


@get(
    "/collections",
    opt={**requires("search:read"), QUERY: CollectionQuery},
    summary="List collections, by name, and how many documents lie in each",
    tags=["search"],
)
async def list_collections(request: AnyRequest) -> CollectionPage:
    """A collection exists while a document lies in it."""
    here = context.of(request)
    asked, reader = here.query, here.reader
    after, most = asked.start or "", asked.limit + 1
    # Of very many documents it takes a while, in which nobody else is to wait.
    found = await here.deedbox.db.read_aside(lambda tx: library.collections(tx, reader, after, most))
    records = [CollectionRecord(*one) for one in found]
    return CollectionPage(*cursors.page(records, asked.limit, lambda one: one.name))


ROUTES = [list_collections]
