"""Templates: made, shown, changed in versions, and deleted."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any, ClassVar

import msgspec
from litestar import Response, delete, get, patch, post
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.constraints import Constraints, exactly_one
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.signing.actions import change_template as change
from deedbox.signing.actions import create_template as create
from deedbox.signing.store import templates
from deedbox.signing.template import NewTemplate, Template, TemplateChange
from deedbox.web.api_v1.new_files import NamedPassword, NewFileBody, asked_for, store_file
from deedbox.web.api_v1.template_record import TemplateRecord, record
from deedbox.web.http import context, multipart, once, openapi, upload, write_back
from deedbox.web.http import cursor as cursors
from deedbox.web.http.auth import requires
from deedbox.web.http.blob_response import PICTURE, PictureQuery, page_number, page_picture
from deedbox.web.http.body import READS, decode_as, need_json
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.cursor import PageQuery
from deedbox.web.http.query import QUERY
from deedbox.web.http.write_back import WRITES

Text = Annotated[str, Meta(min_length=1, max_length=limits.FILTER_CHARS, extra_json_schema=limits.NO_NUL)]
Version = Annotated[int, Meta(ge=1, le=limits.TEMPLATE_VERSIONS)]
_BINARY = {"schema": {"type": "string", "format": "binary"}}


class NewTemplateBody(NewTemplate, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new template in JSON; its files come with it, or as parts of a form."""

    constraints: ClassVar[Constraints] = (exactly_one("file", "files", "document_id"), *NewTemplate.constraints)

    file: NewFileBody | None = None
    """The one file of the template."""
    files: Annotated[Sequence[NewFileBody], Meta(max_length=limits.DOCUMENT_FILES)] = []
    """The files of the template, if it has several; they are signed as one."""


class FormTemplateBody(NewTemplate, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new template in a form, whose files are parts of their own; `files` names those that are locked."""

    files: Annotated[Sequence[NamedPassword], Meta(max_length=limits.DOCUMENT_FILES)] = []
    """The parts that are locked, each with its password."""


class TemplateChangeBody(TemplateChange, frozen=True, forbid_unknown_fields=True):
    """What is given is another in the next version; the rest stays."""

    files: Annotated[Sequence[NewFileBody], Meta(min_length=1, max_length=limits.DOCUMENT_FILES)] | UnsetType = UNSET
    """Take the place of all files, and with them the fields that those brought along."""


class TemplateListQuery(PageQuery, frozen=True, kw_only=True):
    q: Text | UnsetType = UNSET
    """Only templates whose name contains this."""
    cursor: Annotated[str, cursors.of("tpl")] | UnsetType = UNSET


class TemplateQuery(msgspec.Struct, frozen=True):
    version: Version | UnsetType = UNSET
    """Which version; the newest unless given."""


class TemplatePageQuery(PictureQuery, frozen=True):
    version: Version | UnsetType = UNSET
    """Of which version; of the newest unless given."""


class TemplateVersionsQuery(PageQuery, frozen=True, kw_only=True):
    cursor: Annotated[str, cursors.number()] | UnsetType = UNSET


class TemplatePage(msgspec.Struct, frozen=True):
    templates: list[TemplateRecord]
    """The templates of this page, each in its newest version."""
    count: int
    has_more: bool
    next_cursor: str | None


class TemplateVersions(msgspec.Struct, frozen=True):
    versions: list[TemplateRecord]
    """The versions of this page."""
    count: int
    has_more: bool
    next_cursor: str | None


@post(
    "/api/v1/templates",
    opt={
        **requires("documents:write"),
        READS: NewTemplateBody,
        multipart.FORM: upload.DOCUMENT_WITH_FILES,
        openapi.MAKES: {"template_id": "/id"},
        openapi.ALSO: (404, 409),
    },
    summary="Create a template from files, or from a document",
    tags=["templates"],
    status_code=201,
    request_max_body_size=None,
)
async def create_template(request: AnyRequest) -> Response[TemplateRecord]:
    """Text tags and the fields of a fillable PDF are found. Word and HTML are converted in the background."""
    here = context.of(request)
    services, preparation, workspace_id = here.deedbox.services, here.deedbox.paper_mill, here.caller.workspace_id
    with once.claim(request):
        async with (
            asked_for(request, NewTemplateBody, FormTemplateBody) as asked,
            create.prepare(services, preparation, workspace_id, asked.new, asked.files) as make,
        ):

            def act(tx: Tx) -> TemplateRecord:
                with here.action(tx) as ctx:
                    return record(make(ctx))

            answer: Response[Any] = await once.claim_once(request, act, status=201, content=asked.content)
            return answer


@get(
    "/api/v1/templates",
    opt={**requires("documents:read"), QUERY: TemplateListQuery},
    summary="List templates, newest first",
    tags=["templates"],
)
async def list_templates(request: AnyRequest) -> TemplatePage:
    here = context.of(request)
    asked, workspace = here.query, here.caller.workspace_id
    read = here.deedbox.db.read_aside if asked.q else here.deedbox.db.read
    found = await read(lambda tx: templates.page(tx, workspace, asked.q or None, asked.limit + 1, asked.start))
    shown, count, has_more, following = cursors.page(found, asked.limit, lambda template: template.id)
    return TemplatePage([record(template) for template in shown], count, has_more, following)


@get(
    "/api/v1/templates/{template_id:str}",
    opt={**requires("documents:read"), QUERY: TemplateQuery},
    summary="One template",
    tags=["templates"],
)
async def show_template(request: AnyRequest, template_id: FromPath[str]) -> TemplateRecord:
    return record(await _found(request, template_id, context.of(request).query.version or None))


@get(
    "/api/v1/templates/{template_id:str}/versions",
    opt={**requires("documents:read"), QUERY: TemplateVersionsQuery},
    summary="The versions of a template, newest first",
    tags=["templates"],
)
async def list_template_versions(request: AnyRequest, template_id: FromPath[str]) -> TemplateVersions:
    here = context.of(request)
    asked, workspace = here.query, here.caller.workspace_id

    def look(tx: Tx) -> list[Template]:
        change.find(tx, workspace, template_id)
        before = int(asked.start) if asked.start else None
        return templates.versions(tx, workspace, template_id, before, asked.limit + 1)

    found = await here.deedbox.db.read(look)
    shown, count, has_more, following = cursors.page(found, asked.limit, lambda template: str(template.version))
    return TemplateVersions([record(template) for template in shown], count, has_more, following)


@patch(
    "/api/v1/templates/{template_id:str}",
    opt={**requires("documents:write"), WRITES: (TemplateChangeBody, TemplateRecord)},
    summary="Change a template: a new version",
    tags=["templates"],
    request_max_body_size=None,
)
async def change_template(request: AnyRequest, template_id: FromPath[str]) -> TemplateRecord:
    """What was sent keeps its own version. What is given as it is changes nothing, and makes no version."""
    here = context.of(request)
    need_json(request)
    data = await decode_as(request, dict[str, Any], await upload.document_json(request))
    write_back.check(data, TemplateChangeBody, TemplateRecord)
    before = await _found(request, template_id)
    shown = record(before)
    wanted = write_back.changes(data, shown, TemplateChangeBody)
    if wanted is None:
        return shown
    services, preparation, blobs = here.deedbox.services, here.deedbox.paper_mill, here.deedbox.blobs
    async with AsyncExitStack() as held:
        sources = [] if wanted.files is UNSET else wanted.files
        files = [await store_file(blobs, source, held) for source in sources]
        make = await held.enter_async_context(change.prepare(services, preparation, before, wanted, files))

        def act(tx: Tx) -> Template:
            with here.action(tx) as ctx:
                return make(ctx)

        return record(await services.db.write(act))


@delete(
    "/api/v1/templates/{template_id:str}",
    opt=requires("documents:write"),
    summary="Delete a template; documents made from it live on",
    tags=["templates"],
)
async def delete_template(request: AnyRequest, template_id: FromPath[str]) -> None:
    here = context.of(request)

    def act(tx: Tx) -> None:
        with here.action(tx) as ctx:
            change.delete(ctx, template_id)

    await here.deedbox.db.write(act)


@get(
    "/api/v1/templates/{template_id:str}/pages/{page:str}",
    opt={
        **requires("documents:read"),
        QUERY: TemplatePageQuery,
        openapi.ANSWERS: PICTURE,
        openapi.ALSO: (409,),
    },
    summary="A page as a picture",
    tags=["templates"],
)
async def template_page_image(request: AnyRequest, template_id: FromPath[str], page: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    number = page_number(page)
    if number is None:
        raise NotFound("There is no such page")

    def look(tx: Tx) -> Blob:
        template = change.find(tx, here.caller.workspace_id, template_id, here.query.version or None)
        if template.paper_sha256 is None:
            raise Conflict(f"The template is not ready: it is {template.status}")
        return blobs_store.demand(tx, template.paper_sha256)

    blob = await here.deedbox.db.read(look)
    return await page_picture(request, blob, number, here.query.width)


async def _found(request: AnyRequest, template_id: str, version: int | None = None) -> Template:
    here = context.of(request)
    workspace = here.caller.workspace_id
    return await here.deedbox.db.read(lambda tx: change.find(tx, workspace, template_id, version))


ROUTES = [
    create_template,
    list_templates,
    show_template,
    list_template_versions,
    change_template,
    delete_template,
    template_page_image,
]
