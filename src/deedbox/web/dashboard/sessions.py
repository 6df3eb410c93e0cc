"""A person's sessions, and the workspaces that they belong to."""

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from deedbox.accounts import sessions
from deedbox.kernel.errors import NotFound
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.app_pages import app_page, refusal_page
from deedbox.web.http.auth import PERSON, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import form_of, text
from deedbox.web.http.pages import go


@post("/account/sessions/{session_id:str}/end", opt=requires(PERSON), include_in_schema=False)
async def end_session(request: AnyRequest, session_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    try:
        await here.deedbox.db.write(lambda tx: sessions.end(tx, here.person.person_id, session_id))
    except NotFound as error:
        return refusal_page(request, error)
    return go("/account?done=ended#sessions")


@post("/account/sessions/end-others", opt=requires(PERSON), include_in_schema=False)
async def end_other_sessions(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    await here.deedbox.db.write(lambda tx: sessions.end_others(tx, here.person))
    return go("/account?done=ended#sessions")


@get("/account/workspaces", opt=requires(PERSON), include_in_schema=False)
async def workspaces_page(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    found = await here.deedbox.db.read(lambda tx: sessions.workspaces_of(tx, here.person.person_id))
    return app_page(request, "dashboard/workspaces.html", workspaces=found)


@post("/account/workspaces", opt=requires(PERSON), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def switch_workspace(request: AnyRequest) -> Response[Any]:
    """This session, in this browser, is in the chosen workspace from now on."""
    here, form = context.of(request), await form_of(request)
    wanted = text(form, "workspace")
    try:
        await here.deedbox.db.write(lambda tx: sessions.switch(tx, here.person, wanted))
    except NotFound as error:
        return refusal_page(request, error)
    return go("/app")


ROUTES: list[Any] = [end_session, end_other_sessions, workspaces_page, switch_workspace]
