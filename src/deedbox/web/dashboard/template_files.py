"""Other files for a template: the next version, with the fields that still have a page in them."""

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits
from deedbox.kernel.errors import ServiceError
from deedbox.signing.actions import draw_template
from deedbox.signing.preparation.intake import RefusedFiles
from deedbox.signing.template import Template, TemplateChange
from deedbox.web.dashboard import template_version
from deedbox.web.dashboard.template_version import Next
from deedbox.web.http import context, page_files, page_forms
from deedbox.web.http.app_pages import app_page, asks_for_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go


@get("/app/templates/{template_id:str}/files", opt=person("documents:write"), include_in_schema=False)
async def files_page(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    return _page(request, await template_version.newest(request, template_id))


@post(
    "/app/templates/{template_id:str}/files",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=None,
)
async def replace_files(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    """The next version on these files; documents that were made keep theirs."""
    here, before = context.of(request), await template_version.newest(request, template_id)
    try:
        async with page_files.read_form(request, here.deedbox.blobs, limits.DOCUMENT_FILES) as given:
            return go(await _replaced(request, before, given))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _page(request, before, error) if asks_for_page(request) else page_forms.refusal(error)


async def _replaced(request: AnyRequest, before: Template, given: page_files.Filled) -> str:
    now = context.of(request).deedbox.clock.now()
    with page_forms.send_once(request, given.form) as sent:
        if led := await sent.before():
            return led
        if not given.files:
            raise page_forms.WrongForm({"file": WORDS["tpl_no_file"]})
        with page_forms.beside("file", RefusedFiles):
            wanted = Next(before, TemplateChange(), given.files)
            return await template_version.save(
                request, sent, wanted, lambda tx: draw_template.kept_over(tx, before, now, elsewhere=True)
            )


def _page(request: AnyRequest, found: Template, error: ServiceError | None = None) -> Response[Any]:
    return app_page(
        request,
        "dashboard/templates/files.html",
        error=error,
        found=found,
        once=page_forms.new_once(),
        files_most=limits.DOCUMENT_FILES,
        accept=page_files.ACCEPT,
        tag="{{signature:Tenant}}",
    )


ROUTES: list[Any] = [files_page, replace_files]
