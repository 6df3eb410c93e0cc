"""The fields of a template: drawn in the field editor over a sketch, and saved as the next version."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from litestar import Response, get, post, put
from litestar.params import FromPath, JSONBody

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel.blobs import Blob
from deedbox.kernel.blobs import store as blobs_store
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound, ServiceError
from deedbox.signing.actions import change_template, draw_template
from deedbox.signing.actions.draw_template import TemplateDrawing
from deedbox.signing.sketch import DrawnFields
from deedbox.signing.store import sketches
from deedbox.web import limits
from deedbox.web.dashboard import sheets, template_version
from deedbox.web.dashboard.initials import initials
from deedbox.web.dashboard.sketch import SavedSketch, SketchRecord
from deedbox.web.dashboard.template_version import Next
from deedbox.web.http import context, page_forms
from deedbox.web.http.app_pages import app_page, long_app_page
from deedbox.web.http.auth import person
from deedbox.web.http.blob_response import page_lines
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go


class RoleFieldCount(NamedTuple):
    """A role, and how many fields it has and would have."""

    name: str
    before: int
    after: int


@get("/app/templates/{template_id:str}/fields", opt=person("documents:write"), include_in_schema=False)
async def editor(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    """The template's pages, on which its fields are drawn."""
    found = await _drawing(request, template_id)
    path, files = f"/app/templates/{template_id}", found.template.content.files
    return await long_app_page(
        request,
        sum(file.pages for file in files),
        "dashboard/editor.html",
        title=found.template.name,
        back=path,
        people_path=f"{path}/edit",
        sketch_path=f"{path}/sketch",
        lines_path=f"{path}/lines",
        api_path=f"/api/v1/templates/{template_id}",
        after={"path": f"{path}/save", "label": WORDS["tpl_editor_after"]},
        people=[*_people(found)],
        files=sheets.files_of([(file, path) for file in files]),
        bounds=sheets.BOUNDS,
    )


@get("/app/templates/{template_id:str}/sketch", opt=person("documents:write"), include_in_schema=False)
async def get_sketch(request: AnyRequest, template_id: FromPath[str]) -> SketchRecord:
    found = await _drawing(request, template_id)
    return SketchRecord(**msgspec.structs.asdict(found.sketch), version=found.version)


@put(
    "/app/templates/{template_id:str}/sketch",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.SKETCH_BYTES,
)
async def keep_sketch(request: AnyRequest, template_id: FromPath[str], data: JSONBody[DrawnFields]) -> SavedSketch:
    """The fields as they stand now: one row, so that it can be done after every move."""
    here, workspace = context.of(request), context.of(request).caller.workspace_id
    now = here.deedbox.clock.now()
    version = await here.deedbox.db.write(lambda tx: draw_template.draw_fields(tx, workspace, template_id, data, now))
    return SavedSketch(version)


@get(
    "/app/templates/{template_id:str}/lines/{file_id:str}/{number:int}",
    opt=person("documents:write"),
    include_in_schema=False,
)
async def lines(
    request: AnyRequest, template_id: FromPath[str], file_id: FromPath[str], number: FromPath[int]
) -> Response[Any]:
    """The places of the lines of text on a page, to which the edges of fields snap."""
    here = context.of(request)

    def look(tx: Tx) -> tuple[int, Blob]:
        template = change_template.find(tx, here.caller.workspace_id, template_id)
        position = sheets.position(template.content.files, file_id, number)
        if template.paper_sha256 is None:
            raise NotFound("There is no such page")
        return position, blobs_store.demand(tx, template.paper_sha256)

    position, blob = await here.deedbox.db.read(look)
    return await page_lines(request, blob, position)


@get("/app/templates/{template_id:str}/save", opt=person("documents:write"), include_in_schema=False)
async def save_page(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    """What the next version would have."""
    return _save_page(request, await _drawing(request, template_id))


@post(
    "/app/templates/{template_id:str}/save",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def save_fields(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    """The next version, with the fields of the sketch; documents that were made keep theirs."""
    form, drawn = await page_forms.form_of(request), await _drawing(request, template_id)
    try:
        with page_forms.send_once(request, form) as sent:
            if led := await sent.before():
                return go(led)
            if page_forms.text(form, "version") != str(drawn.version):
                raise Conflict(sketches.CHANGED)
            wanted = draw_template.laid_out(drawn, context.of(request).deedbox.clock.now())
            if wanted.fields == [*drawn.template.content.fields]:
                return go(f"/app/templates/{template_id}?done=same")
            following = Next(drawn.template, wanted)
            return go(
                await template_version.save(request, sent, following, lambda tx: draw_template.finish_sketch(tx, drawn))
            )
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _save_page(request, drawn, error)


@post("/app/templates/{template_id:str}/forget", opt=person("documents:write"), include_in_schema=False)
async def forget_sketch(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    """Throws away what was drawn since the newest version."""
    await _drawing(request, template_id)
    await context.of(request).deedbox.db.write(lambda tx: sketches.drop(tx, template_id))
    return go(f"/app/templates/{template_id}?done=forgotten")


async def _drawing(request: AnyRequest, template_id: str) -> TemplateDrawing:
    here = context.of(request)
    return await here.deedbox.db.read(lambda tx: draw_template.load_sketch(tx, here.caller.workspace_id, template_id))


def _save_page(request: AnyRequest, found: TemplateDrawing, error: ServiceError | None = None) -> Response[Any]:
    template, fields = found.template, found.sketch.fields
    roles = [
        RoleFieldCount(
            role.name,
            sum((field.party or "").casefold() == role.name.casefold() for field in template.content.fields),
            sum(field.who == party.key for field in fields),
        )
        for role, party in zip(template.content.roles, found.sketch.parties, strict=True)
    ]
    shown: dict[str, Any] = {"found": template, "roles": roles, "kept": found.kept, "initials": initials}
    shown |= {"drawn": found.version, "once": page_forms.new_once()}
    return app_page(request, "dashboard/templates/save.html", error=error, **shown)


def _people(found: TemplateDrawing) -> Iterator[dict[str, Any]]:
    """The roles that can be given a field."""
    roles = found.template.content.roles
    for number, (role, party) in enumerate(zip(roles, found.sketch.parties, strict=True)):
        if role.role == "signer":
            note = WORDS["tpl_role_stage"].format(order=role.order)
            yield {"key": party.key, "name": role.name, "number": number, "note": note} | {
                "initials": initials(role.name)
            }


ROUTES: list[Any] = [editor, get_sketch, keep_sketch, lines, save_page, save_fields, forget_sketch]
