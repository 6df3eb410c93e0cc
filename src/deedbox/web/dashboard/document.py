"""The page of one document: where it stands, its people, its pages and files, and everything that happened to it."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Response, get
from litestar.params import FromPath
from msgspec import UNSET, Meta, UnsetType

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import NotFound, ServiceError, TooManyRequests
from deedbox.signing import parties
from deedbox.signing.action_context import document_in
from deedbox.signing.model import Document, Packet
from deedbox.signing.store import audit
from deedbox.web import limits
from deedbox.web.dashboard import document_status, reminding, subject, timeline
from deedbox.web.dashboard.timeline import Timeline
from deedbox.web.http import context, live, page_forms
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page, refusal_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import no_content
from deedbox.web.http.query import QUERY

_TIMELINE = "timeline"
_USUAL, _USUAL_MOST = (2, 2), 3
"""Reminders that are offered: after how many days and then every so many, and how often."""
UNDER_WAY = ("processing", "finalizing")


class DocumentPageQuery(msgspec.Struct, frozen=True):
    before: Annotated[str, cursors.number()] | UnsetType = UNSET
    """The row of the timeline before which the page of it begins."""
    done: Annotated[str, Meta(max_length=shared_limits.FILTER_CHARS)] = ""


class Picture(NamedTuple):
    """A page, as a small picture that leads to a large one."""

    path: str
    width: int
    height: int
    told: str


@get(
    "/app/documents/{document_id:str}",
    opt={**person("documents:read"), QUERY: DocumentPageQuery},
    include_in_schema=False,
)
async def document_page(request: AnyRequest, document_id: FromPath[str]) -> Response[Any]:
    return await shown(request, document_id)


async def shown(
    request: AnyRequest,
    document_id: str,
    error: ServiceError | None = None,
    typed: Mapping[str, Any] | None = None,
) -> Response[Any]:
    """The page, with what could not be done and what was typed for it."""
    here = context.of(request)
    try:
        packet = await here.packet_of(document_id)
    except NotFound as missing:
        return refusal_page(request, missing)
    document = document_in(packet, document_id)
    heads = await here.deedbox.db.read(lambda tx: audit.heads(tx, [document_id]))
    if live.has(request, packet, heads, here.deedbox.archive.is_on):
        return no_content(request)
    return app_page(
        request,
        "dashboard/document.html",
        error=kindly(error),
        address=f"/app/documents/{document_id}",
        **subject.shown(packet, document),
        packet=packet,
        document=document,
        kinds=document_status.KINDS,
        sentence=document_status.sentence(packet, document, here.deedbox.clock.now()),
        reason=document_status.reason(document),
        waiting=[*parties.waiting_for(packet)],
        stages=document_status.stages(packet, document),
        pictures=_pictures(document),
        pages_more=max(0, sum(file.pages for file in document.files) - limits.DOCUMENT_PAGES_SHOWN),
        timeline=await _timeline(request, packet, document_id),
        archiving=here.deedbox.archive.is_on,
        busy=document.status in UNDER_WAY or document.archive.status == "pending",
        typed={**default_forms(packet), **(typed or {})},
        once=page_forms.new_once(),
        pressed_once=pressed_once(heads),
        mails=here.deedbox.mailer.delivers,
    )


def pressed_once(heads: Sequence[tuple[str, int, str]]) -> str:
    """The hidden value of a button's form: the same until something happens, so that a double press acts once."""
    return f"{heads[0][0]}.{sum(number for _, number, _ in heads)}"


async def _timeline(request: AnyRequest, packet: Packet, document_id: str) -> Timeline | None:
    """The page of the timeline that is asked for; None where another part of the page is asked for alone."""
    here = context.of(request)
    if request.headers.get(live.PART, _TIMELINE) != _TIMELINE:
        return None
    before, checks = int(here.query.before) if here.query and here.query.before else None, here.deedbox.checked_trails
    if live.PART not in request.headers:
        checks.forget(document_id)  # whoever opens the page has all of it checked; whoever watches, what is new
    return await here.deedbox.db.read(lambda tx: timeline.look(tx, checks, packet, document_id, before))


def _pictures(document: Document) -> list[Picture]:
    if document.paper_sha256 is None:
        return []
    pages = [(file, number, size) for file in document.files for number, size in enumerate(file.sizes, 1)]
    return [
        Picture(
            f"/app/documents/{document.id}/files/{file.id}/pages/{number}.webp",
            round(size[0]),
            round(size[1]),
            WORDS["page_of_file"].format(file=file.name, page=number, pages=file.pages),
        )
        for file, number, size in pages[: limits.DOCUMENT_PAGES_SHOWN]
    ]


def default_forms(packet: Packet) -> dict[str, Any]:
    """What the forms hold before anyone types: expiry, reminders, and no reason."""
    plan = packet.reminders
    first, every = (reminding.days(plan.first_after_hours), reminding.days(plan.every_hours)) if plan else _USUAL
    until = packet.expires_at.removesuffix("Z")[: len("2026-01-01T00:00")] if packet.expires_at else ""
    return {
        "expires_at": until,
        "reminds": "yes" if plan else "",
        "first": first,
        "every": every,
        "max": plan.max if plan else _USUAL_MOST,
        "reason": "",
    }


def kindly(error: ServiceError | None) -> ServiceError | None:
    """The error, in minutes where someone has to wait."""
    if isinstance(error, TooManyRequests) and (seconds := error.headers.get("Retry-After")):
        error.message = WORDS["reminded_lately"].format(minutes=-(-int(seconds) // 60))
    return error


ROUTES: list[Any] = [document_page]
