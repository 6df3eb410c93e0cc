"""Templates for people who are signed in: cards, one with its roles, pages and versions, and new ones from files."""

from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox import i18n
from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.signing.actions import change_template as change
from deedbox.signing.actions import create_template as create
from deedbox.signing.model import Document, Filter, PageRequest
from deedbox.signing.new_document import Id
from deedbox.signing.preparation.intake import RefusedFiles
from deedbox.signing.store import document_list, templates
from deedbox.signing.template import NewTemplate, Role, Template
from deedbox.web import limits
from deedbox.web.dashboard.bulk import Done
from deedbox.web.dashboard.initials import initials
from deedbox.web.dashboard.names import few
from deedbox.web.dashboard.rows import replace_rows, rows
from deedbox.web.http import context, document_files, page_files, page_forms
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page, asks_for_page
from deedbox.web.http.auth import person
from deedbox.web.http.blob_response import PictureQuery
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import text
from deedbox.web.http.pages import go
from deedbox.web.http.query import QUERY

Version = Annotated[int, Meta(ge=1, le=shared_limits.TEMPLATE_VERSIONS)]
ROLE_ROWS = 2
"""Empty rows for roles in the form of a new template."""


class TemplatesQuery(msgspec.Struct, frozen=True):
    q: Annotated[str, Meta(max_length=shared_limits.FILTER_CHARS)] = ""
    cursor: Annotated[str, cursors.of("tpl")] | UnsetType = UNSET
    done: Done = ""


class TemplateFilterQuery(msgspec.Struct, frozen=True):
    version: Version | UnsetType = UNSET
    done: Done = ""


class TemplatePictureQuery(PictureQuery, frozen=True):
    version: Version | UnsetType = UNSET


class NewTemplateQuery(msgspec.Struct, frozen=True):
    document: Id | UnsetType = UNSET


class RolesForm(msgspec.Struct, frozen=True):
    roles: Annotated[list[Role], Meta(max_length=shared_limits.DOCUMENT_PARTIES)] = []


class Card(NamedTuple):
    template: Template
    used: int
    """How many documents were made from it, up to the most that are counted."""


@get("/app/templates", opt={**person("documents:read"), QUERY: TemplatesQuery}, include_in_schema=False)
async def template_cards(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    workspace, asked = here.caller.workspace_id, here.query

    def look(tx: Tx) -> tuple[list[Card], str | None]:
        found = templates.page(tx, workspace, asked.q or None, shared_limits.PAGE_DEFAULT + 1, asked.cursor or None)
        shown, _, _, older = cursors.page(found, shared_limits.PAGE_DEFAULT, lambda one: one.id)
        return [Card(one, templates.count_uses(tx, one.id, limits.TEMPLATE_USES_COUNTED)) for one in shown], older

    cards, older = await (here.deedbox.db.read_aside if asked.q else here.deedbox.db.read)(look)
    return app_page(
        request,
        "dashboard/templates/list.html",
        cards=cards,
        older=older,
        begun=bool(asked.cursor),
        q=asked.q,
        initials=initials,
        most=limits.TEMPLATE_USES_COUNTED,
    )


@get("/app/templates/new", opt={**person("documents:write"), QUERY: NewTemplateQuery}, include_in_schema=False)
async def new_template(request: AnyRequest) -> Response[Any]:
    return await _new_page(request, FormMultiDict({"document_id": context.of(request).query.document or ""}))


@post("/app/templates/new", opt=person("documents:write"), include_in_schema=False, request_max_body_size=None)
async def create_template(request: AnyRequest) -> Response[Any]:
    """The template of the files, or of a document; what the files ask for by text tags or form fields is found."""
    here, form = context.of(request), FormMultiDict()
    deedbox, workspace = here.deedbox, here.caller.workspace_id
    try:
        async with page_files.read_form(request, deedbox.blobs, shared_limits.DOCUMENT_FILES) as given:
            form = given.form
            with page_forms.send_once(request, form) as sent:
                if before := await sent.before():
                    return go(before)
                new = _asked(form, given.files)
                making = create.prepare(deedbox.services, deedbox.paper_mill, workspace, new, given.files)
                with page_forms.beside("file", RefusedFiles):
                    async with making as make:

                        def act(tx: Tx) -> str:
                            with here.action(tx) as ctx:
                                return f"/app/templates/{make(ctx).id}?done=made"

                        return go(await sent.once(act))
    except ServiceError as error:
        if error.status >= 500:
            raise
        if not asks_for_page(request):
            return page_forms.refusal(error)
        return await _new_page(request, form, error)


@get(
    "/app/templates/{template_id:str}",
    opt={**person("documents:read"), QUERY: TemplateFilterQuery},
    include_in_schema=False,
)
async def template_page(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    """The newest version, or the one that the address names."""
    here = context.of(request)
    workspace, asked = here.caller.workspace_id, here.query

    def look(tx: Tx) -> tuple[Template, list[Template], int]:
        found = change.find(tx, workspace, template_id, asked.version or None)
        versions = templates.versions(tx, workspace, template_id, None, shared_limits.PAGE_DEFAULT)
        return found, versions, templates.count_uses(tx, template_id, limits.TEMPLATE_USES_COUNTED)

    found, versions, used = await here.deedbox.db.read(look)
    return app_page(
        request,
        "dashboard/templates/one.html",
        found=found,
        versions=versions,
        languages=i18n.NAMES,
        newest=versions[0].version,
        used=used,
        most=limits.TEMPLATE_USES_COUNTED,
        initials=initials,
        lasting=format_duration,
        once=page_forms.new_once(),
        fell_off=few(found.content.fell_off),
    )


@get(
    "/app/templates/{template_id:str}/files/{file_id:str}/pages/{page:str}",
    opt={**person("documents:read"), QUERY: TemplatePictureQuery},
    include_in_schema=False,
)
async def template_picture(
    request: AnyRequest, template_id: FromPath[str], file_id: FromPath[str], page: FromPath[str]
) -> Response[Any]:
    """The page of the file that `7.webp` names."""
    return await document_files.page_of_template(request, template_id, file_id, page)


@post(
    "/app/templates/{template_id:str}/delete",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def delete_template(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)

    def act(tx: Tx) -> str:
        with here.action(tx) as ctx:
            change.delete(ctx, template_id)
        return "/app/templates?done=deleted"

    return go(await page_forms.press(request, act))


def format_duration(hours: int) -> str:
    """So many hours as the forms ask for them: in days, where they are whole ones."""
    days, over = divmod(hours, 24)
    unit, count = ("hour", hours) if over else ("day", days)
    return WORDS[f"tpl_lasts_{unit}{'' if count == 1 else 's'}"].format(count=count)


def roles_of(form: FormMultiDict) -> list[dict[str, str]]:
    """The rows of roles that have a name, as they were typed."""
    return rows(form, "roles", ["name"])


def asked_roles(form: FormMultiDict) -> list[Role]:
    """The roles that the form asks for; WrongForm names the row of one that is wrong."""
    typed = [{name: value for name, value in row.items() if name in Role.__struct_fields__} for row in roles_of(form)]
    return page_forms.read_struct(replace_rows(form, {"roles": typed}), RolesForm).roles


def _asked(form: FormMultiDict, files: list[Any]) -> NewTemplate:
    """What the form asks for; a template is called as its first file unless it is given a name."""
    document_id = text(form, "document_id")
    if not files and not document_id:
        raise page_forms.WrongForm({"file": WORDS["tpl_no_file"]})
    name = text(form, "name").strip() or (
        page_files.title_from_name(files[0].name, shared_limits.TITLE_CHARS) if files else ""
    )
    if len(name) > shared_limits.TITLE_CHARS or not name:
        raise page_forms.WrongForm({"name": WORDS["tpl_wrong_name"].format(most=shared_limits.TITLE_CHARS)})
    if document_id:
        return NewTemplate(name=name, document_id=document_id)
    return NewTemplate(name=name, roles=asked_roles(form))


async def _new_page(request: AnyRequest, form: FormMultiDict, error: ServiceError | None = None) -> Response[Any]:
    here = context.of(request)
    workspace = here.caller.workspace_id

    def look(tx: Tx) -> list[Document]:
        recent = document_list.page(tx, workspace, Filter(), PageRequest(shared_limits.PAGE_DEFAULT))
        return [document for _, document in recent if document.paper_sha256]

    return app_page(
        request,
        "dashboard/templates/new.html",
        error=error,
        once=page_forms.new_once(),
        typed={"name": text(form, "name"), "document_id": text(form, "document_id")},
        roles=[*roles_of(form), *[{}] * ROLE_ROWS],
        documents=await here.deedbox.db.read(look),
        files_most=shared_limits.DOCUMENT_FILES,
        accept=page_files.ACCEPT,
        tag="{{signature:Tenant}}",
    )


ROUTES: list[Any] = [
    template_cards,
    new_template,
    create_template,
    template_page,
    template_picture,
    delete_template,
]
