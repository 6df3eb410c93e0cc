"""Where a workspace's documents stand in the long-term archive."""

from typing import Any

from litestar import Response, get, post

from deedbox.archive import overview, store
from deedbox.archive.verify import ArchiveVerdict
from deedbox.i18n.dashboard import WORDS
from deedbox.i18n.measures import size
from deedbox.kernel.archive_url import ArchiveFolder, Web
from deedbox.kernel.errors import Conflict, ServiceError
from deedbox.kernel.settings import Settings
from deedbox.kernel.settings.shown import shown
from deedbox.web import limits
from deedbox.web.http import context
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go

PATH = "/app/settings/archive"


@get(PATH, opt=person("workspace:write"), include_in_schema=False)
async def archive(request: AnyRequest) -> Response[Any]:
    return await _page(request)


@post(f"{PATH}/retry", opt=person("workspace:write"), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def retry(request: AnyRequest) -> Response[Any]:
    """Pushes what waits now, instead of in its time."""
    here = context.of(request)
    if here.deedbox.archive.is_on:
        await here.deedbox.archive.backfill.retry_workspace(here.caller.workspace_id)
        here.deedbox.jobs.wake()
    return go(f"{PATH}?done=retried")


@post(f"{PATH}/check", opt=person("workspace:write"), include_in_schema=False, request_max_body_size=limits.FORM_BYTES)
async def check(request: AnyRequest) -> Response[Any]:
    """Fetches the newest package, and compares every byte of it with its receipt, seal and evidence."""
    try:
        for verdict in await _newest_checked(request):
            _demand(verdict)
    except ServiceError as error:
        return await _page(request, error=error)
    return go(f"{PATH}?done=whole")


async def _newest_checked(request: AnyRequest) -> list[ArchiveVerdict]:
    here, told = context.of(request), list[ArchiveVerdict]()
    newest = await here.deedbox.db.read(lambda tx: store.newest_of(tx, here.caller.workspace_id, 1))
    if not newest or not here.deedbox.archive.is_on:
        raise Conflict(WORDS["archive_none"])
    await here.deedbox.archive.verification().document(newest[0], told.append)
    return told


def _demand(verdict: ArchiveVerdict) -> None:
    if verdict.problem:
        raise Conflict(WORDS["archive_broken"].format(said=verdict.problem))
    if verdict.unseen or verdict.other_key:
        raise Conflict(WORDS["archive_unseen"].format(said=verdict.unseen or WORDS["archive_other_key"]))


async def _page(request: AnyRequest, *, error: ServiceError | None = None) -> Response[Any]:
    here = context.of(request)
    settings, workspace = here.deedbox.settings, here.caller.workspace_id
    found = await here.deedbox.db.read(lambda tx: overview.of_workspace(tx, workspace))
    return app_page(
        request,
        "dashboard/settings/archive.html",
        error=error,
        is_on=here.deedbox.archive.is_on,
        place=_place(settings),
        lock=None if isinstance(settings.archive, (ArchiveFolder, Web)) else settings.archive_lock,
        lock_days=settings.archive_lock_days,
        found=found,
        size=size,
        rows=shown(settings)["archive"],
    )


def _place(settings: Settings) -> str:
    place = settings.archive
    if isinstance(place, ArchiveFolder):
        return str(place.path)
    return place.url if isinstance(place, Web) else str(place)


ROUTES = [archive, retry, check]
