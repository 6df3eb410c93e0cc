"""The rows of a bulk send, and what became of each: in pages, or all of them as CSV."""

from typing import Annotated, Any, cast

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from litestar.response import Stream as StreamedResponse
from msgspec import UNSET, UnsetType

from deedbox.signing.bulk import moves, results, store
from deedbox.signing.bulk.model import Row, RowStatus
from deedbox.web import limits
from deedbox.web.http import context, openapi
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.blob_response import patiently
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY

_CSV = "text/csv"


class BulkRowPage(msgspec.Struct, frozen=True):
    rows: list[Row]
    """The rows of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


class BulkRowQuery(PageQuery, frozen=True, kw_only=True):
    status: RowStatus | UnsetType = UNSET
    """Only rows of this status."""
    cursor: Annotated[str, cursors.number()] | UnsetType = UNSET


_ANSWERS = {
    "200": {
        "description": "Some rows as JSON; or, with `Accept: text/csv`, all of them as CSV",
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/BulkRowPage"}},
            _CSV: {
                "schema": {"type": "string"},
                "example": "index,key,status,document_id,error\r\n0,ana,sent,doc_01JD0000000000000000000000,\r\n",
            },
        },
    }
}


@get(
    "/api/v1/bulk-sends/{bulk_send_id:str}/rows",
    opt={**requires("documents:read"), QUERY: BulkRowQuery, openapi.ANSWERS: _ANSWERS},
    summary="The rows of a bulk send, and what became of them",
    tags=["bulk sends"],
)
async def list_bulk_send_rows(request: AnyRequest, bulk_send_id: FromPath[str]) -> Response[BulkRowPage]:
    """As CSV, cells that a spreadsheet would take for a formula begin with an apostrophe."""
    here = context.of(request)
    workspace, asked = here.caller.workspace_id, here.query
    status: RowStatus | None = asked.status or None
    after = int(asked.start or -1)
    await here.deedbox.db.read(lambda tx: moves.find(tx, workspace, bulk_send_id))
    if _CSV in request.headers.get("accept", ""):
        each, in_all = limits.DOWNLOAD_STALL_SECONDS, limits.DOWNLOAD_SECONDS
        pieces = results.written(here.deedbox.db, bulk_send_id, status, after)
        headers = {"Content-Disposition": f'attachment; filename="{bulk_send_id}.csv"', "Content-Type": results.KIND}
        streamed: Any = StreamedResponse(patiently(here, pieces, each=each, in_all=in_all), headers=headers)
        return cast("Response[BulkRowPage]", streamed)
    found = await here.deedbox.db.read(lambda tx: store.rows(tx, bulk_send_id, status, after, asked.limit + 1))
    return Response(BulkRowPage(*cursors.page(found, asked.limit, lambda row: str(row.index))))


ROUTES = [list_bulk_send_rows]
