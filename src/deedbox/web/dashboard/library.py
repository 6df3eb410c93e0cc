"""The library for people: files are added, made searchable and deleted, by the same actions as in the search API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.accounts import workspace_profile
from deedbox.accounts.workspace_profile import WorkspaceChange
from deedbox.i18n.measures import size
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import NotFound, ServiceError
from deedbox.search.extract.kinds import KINDS, kind_of
from deedbox.search.indexing import ingest
from deedbox.search.indexing.embedders import MISSING
from deedbox.search.library import library
from deedbox.search.library.library import LibraryListing, ParsedFile
from deedbox.search.library.store import UploadSummary
from deedbox.web import limits
from deedbox.web.http import context, page_forms, upload
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page, asks_for_page
from deedbox.web.http.auth import person
from deedbox.web.http.blob_response import PictureQuery, file_response, page_number, page_picture
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go
from deedbox.web.http.query import QUERY

FORMATS = {kind.media_type: kind.name for kind in KINDS.values()}
ACCEPTED = ",".join(f".{extension}" for kind in KINDS.values() for extension in kind.extensions)


class LibraryPageQuery(msgspec.Struct, frozen=True):
    name: Annotated[str, Meta(max_length=shared_limits.FILENAME_CHARS)] = ""
    cursor: Annotated[str, cursors.of("upl")] | UnsetType = UNSET
    done: Annotated[str, Meta(max_length=limits.DONE_CHARS)] = ""


class FilePictureQuery(PictureQuery, frozen=True):
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = None
    """Of the file, where a replaced one still answers queries."""


class _Seen(msgspec.Struct, frozen=True):
    shelf: LibraryListing
    busy: bool
    takes_documents: bool


@get("/app/library", opt={**person("search:read"), QUERY: LibraryPageQuery}, include_in_schema=False)
async def library_page(request: AnyRequest) -> Response[Any]:
    return await _page(request, context.of(request).query)


@post("/app/library", opt=person("search:write"), include_in_schema=False, request_max_body_size=None)
async def add_file(request: AnyRequest) -> Response[Any]:
    """Takes the file in and has it indexed; a script is told what is wrong, others get the page with it."""
    scripted = not asks_for_page(request)
    try:
        async with _received(request) as (file, typed):
            with page_forms.send_once(request, typed) as sent:
                path = await sent.before() or await sent.once(lambda tx: _add(request, tx, file))
    except ServiceError as error:
        if scripted or error.status >= 500:
            raise
        return await _page(request, LibraryPageQuery(), error=error)
    return Response(None, status_code=204, media_type="text/plain") if scripted else go(path)


@asynccontextmanager
async def _received(request: AnyRequest) -> AsyncIterator[tuple[ParsedFile, FormMultiDict]]:
    """The file with its text, and what tells it from another that is sent."""
    here, page = context.of(request), upload.UploadPage("file")
    async with upload.one_file(request, here.deedbox.blobs, kind_of, page=page) as part:
        texts, workspace = here.deedbox.ingest.texts, here.caller.workspace_id
        async with texts.parsed(workspace, part.filename, kind_of(part.filename), part.received) as file:
            sha256 = part.received.blob.sha256
            yield file, FormMultiDict({**page.typed(), "sha256": sha256, "name": part.filename})


def _add(request: AnyRequest, tx: Tx, file: ParsedFile) -> str:
    here = context.of(request)
    workspace, search = here.caller.workspace_id, here.deedbox.search
    added = library.add(tx, workspace, file, now=here.deedbox.clock.now())
    if search.embedders.current is not None:
        ingest.plan(tx, search, here.reader, [added.id])
    return "/app/library?done=added"


@post("/app/library/index", opt=person("search:write"), include_in_schema=False)
async def index_all(request: AnyRequest) -> Response[Any]:
    return await _index(request, None, "/app/library")


@post("/app/library/documents", opt=person("workspace:write"), include_in_schema=False)
async def choose_documents(request: AnyRequest) -> Response[Any]:
    """Whether documents become searchable when they are completed."""
    here, form = context.of(request), await page_forms.form_of(request)
    change = WorkspaceChange(search_documents=page_forms.text(form, "search_documents") == "yes")
    now = here.deedbox.clock.now()
    await here.deedbox.db.write(lambda tx: workspace_profile.change(tx, here.caller, change, now=now))
    return go("/app/library?done=chosen")


@get("/app/library/{doc_id:str}", opt=person("search:read"), include_in_schema=False)
async def file_page(request: AnyRequest, doc_id: FromPath[str]) -> Response[Any]:
    return await _file_page(request, doc_id)


@post("/app/library/{doc_id:str}/index", opt=person("search:write"), include_in_schema=False)
async def index_file(request: AnyRequest, doc_id: FromPath[str]) -> Response[Any]:
    return await _index(request, doc_id, f"/app/library/{doc_id}")


@post("/app/library/{doc_id:str}/delete", opt=person("search:write"), include_in_schema=False)
async def delete_file(request: AnyRequest, doc_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    now = here.deedbox.clock.now()
    await here.deedbox.db.write(lambda tx: library.remove(tx, here.reader, doc_id, now=now))
    return go("/app/library?done=deleted")


@get("/app/library/{doc_id:str}/content", opt=person("search:read"), include_in_schema=False)
async def file_content(request: AnyRequest, doc_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    found, blob = await here.deedbox.db.read(lambda tx: library.content(tx, here.reader, doc_id))
    return await file_response(request, here.deedbox.blobs, blob, found.media_type, found.filename)


@get(
    "/app/library/{doc_id:str}/pages/{page:str}",
    opt={**person("search:read"), QUERY: FilePictureQuery},
    include_in_schema=False,
)
async def file_picture(request: AnyRequest, doc_id: FromPath[str], page: FromPath[str]) -> Response[Any]:
    here, number = context.of(request), page_number(page)
    sha256 = here.query.sha256
    found, blob = await here.deedbox.db.read(lambda tx: library.content(tx, here.reader, doc_id, sha256))
    if found.media_type != library.PDF.media_type or number is None or number > (found.pages or 0):
        raise NotFound("There is no picture of such a page")
    return await page_picture(request, blob, number, here.query.width)


async def _index(request: AnyRequest, doc_id: str | None, path: str) -> Response[Any]:
    here, search = context.of(request), context.of(request).deedbox.search
    doc_ids = None if doc_id is None else [doc_id]
    try:
        await here.deedbox.db.write(lambda tx: ingest.plan(tx, search, here.reader, doc_ids))
    except ServiceError as error:
        if error.message != MISSING:
            raise
        return await _page(request, LibraryPageQuery(), error=error)
    return go(f"{path}?done=indexing")


async def _page(request: AnyRequest, asked: LibraryPageQuery, *, error: ServiceError | None = None) -> Response[Any]:
    here, most = context.of(request), shared_limits.PAGE_DEFAULT
    workspace, before = here.caller.workspace_id, asked.cursor or None

    def look(tx: Tx) -> _Seen:
        return _Seen(
            library.list_shelf(tx, here.reader, asked.name.strip(), before, most + 1),
            ingest.under_way(tx, workspace),
            workspace_profile.row(tx, workspace).search_documents,
        )

    seen = await (here.deedbox.db.read_aside if asked.name.strip() else here.deedbox.db.read)(look)
    shown = seen.shelf.documents[:most]
    return app_page(
        request,
        "dashboard/library.html",
        error=error,
        address="/app/library",
        once=page_forms.new_once(),
        asked=asked,
        documents=shown,
        older=shown[-1].upload.id if len(seen.shelf.documents) > most else None,
        unindexed=seen.shelf.unindexed,
        counted=shared_limits.UNINDEXED_COUNTED,
        busy=seen.busy,
        size=size,
        takes_documents=seen.takes_documents,
        model=here.deedbox.search.embedders.current is not None,
        formats=FORMATS,
        accepted=ACCEPTED,
        most=shared_limits.UPLOAD_BYTES,
    )


async def _file_page(request: AnyRequest, doc_id: str) -> Response[Any]:
    here = context.of(request)
    workspace = here.caller.workspace_id

    def look(tx: Tx) -> tuple[UploadSummary, bool]:
        return library.find(tx, here.reader, doc_id), ingest.under_way(tx, workspace)

    found, busy = await here.deedbox.db.read(look)
    return app_page(
        request,
        "dashboard/library_file.html",
        found=found,
        file=found.upload,
        busy=busy,
        size=size,
        model=here.deedbox.search.embedders.current is not None,
        formats=FORMATS,
    )


ROUTES = [
    library_page,
    add_file,
    index_all,
    choose_documents,
    file_page,
    index_file,
    delete_file,
    file_content,
    file_picture,
]
