"""The list of documents: by state, searched and filtered by its address alone, newest first."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args
from urllib.parse import urlencode

import msgspec
from litestar import Response, get
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.signing.model import Document, Filter, Packet, PageRequest, Status
from deedbox.signing.store import document_counts, document_list, templates
from deedbox.web import limits
from deedbox.web.dashboard import document_status
from deedbox.web.http import context
from deedbox.web.http import cursor as cursors
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY

_PLACE = "/app/documents"
_View: TypeAlias = Literal["mine", "all", "drafts", "open", "completed", "ended", "failed"]
_VIEWS: dict[_View, tuple[Status, ...]] = {
    "mine": ("sent",),
    "all": (),
    "drafts": ("draft", "processing"),
    "open": ("sent", "finalizing"),
    "completed": ("completed",),
    "ended": ("declined", "expired", "voided"),
    "failed": ("failed",),
}
_Text = Annotated[str, Meta(max_length=shared_limits.FILTER_CHARS, pattern=r"^[^\x00]*$")]
_Day = Annotated[str, Meta(pattern=r"^(\d{4}-\d\d-\d\d)?$")]


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What the address asks for; a form that is sent with an empty field asks for nothing by it."""

    view: _View = "all"
    status: Literal["", Status] = ""
    """One state, whatever the view."""
    q: _Text = ""
    person: _Text = ""
    template: _Text = ""
    packet: _Text = ""
    bulk: _Text = ""
    since: _Day = ""
    until: _Day = ""
    cursor: Annotated[str, cursors.of("doc")] | UnsetType = UNSET
    done: _Text = ""

    @property
    def filters(self) -> dict[str, str]:
        """What narrows a view down, by name."""
        return {name: value for name, value in asdict(self).items() if value and name not in ("view", "cursor", "done")}

    def at(self, **changes: str) -> str:
        """The address of the same list with something else in it."""
        said = {"view": self.view if self.view != "all" else "", **self.filters, **changes}
        query = urlencode({name: value for name, value in said.items() if value})
        return f"{_PLACE}?{query}" if query else _PLACE

    def filter(self, me: str | None) -> Filter:
        """The documents to show to whoever has this address."""
        return Filter(
            statuses=(self.status,) if self.status else _VIEWS[self.view],
            waits_for=me or "" if self.view == "mine" else None,
            q=self.q or None,
            signer_email=self.person.strip().lower() or None,
            template_id=self.template or None,
            packet_id=self.packet or None,
            bulk_send_id=self.bulk or None,
            created_after=_midnight("since", self.since, timedelta(seconds=-1)),
            created_before=_midnight("until", self.until, timedelta(days=1)),
        )


class Tab(NamedTuple):
    name: _View
    path: str
    counted: str
    """How many; empty beside a filter."""
    current: bool


class DocumentRow(NamedTuple):
    document: Document
    people: list[document_status.PersonRow]
    more: int
    """People for whom there is no room."""
    last: str
    last_at: str


@get(_PLACE, opt={**person("documents:read"), QUERY: ListQuery}, include_in_schema=False)
async def show_documents(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    asked: ListQuery = here.query
    workspace, me = here.caller.workspace_id, here.person.email
    wanted, part = asked.filter(me), PageRequest(shared_limits.PAGE_DEFAULT + 1, asked.cursor or None)

    def look(tx: Tx) -> tuple[list[tuple[Packet, Document]], dict[_View, int], str]:
        found = document_list.page(tx, workspace, wanted, part)
        # Counts are of all documents: beside a filter they would say what nobody sees.
        counts = {} if asked.filters else _counts(tx, workspace, me)
        template = templates.find(tx, workspace, asked.template) if asked.template else None
        return found, counts, template.name if template else asked.template

    found, counts, template = await (here.deedbox.db.read_aside if wanted.q else here.deedbox.db.read)(look)
    shown, _, _, following = cursors.page(found, shared_limits.PAGE_DEFAULT, lambda one: one[1].id)
    return app_page(
        request,
        "dashboard/documents.html",
        asked=asked,
        template_name=template,
        tabs=[_tab(asked, view, counts.get(view)) for view in _VIEWS],
        rows=[_row(packet, document) for packet, document in shown],
        kinds=document_status.KINDS,
        statuses=get_args(Status),
        busy=any(document.status in ("processing", "finalizing") for _, document in shown),
        clear=_PLACE if asked.view == "all" else f"{_PLACE}?view={asked.view}",
        older=asked.at(cursor=following) if following else None,
        newest=asked.at() if asked.cursor else None,
        as_api=_as_api(wanted),
    )


def _counts(tx: Tx, workspace_id: str, me: str | None) -> dict[_View, int]:
    most = shared_limits.COUNTED_MOST + 1
    states = document_counts.by_status(tx, workspace_id, most)
    counts = {view: sum(states[one] for one in statuses or states) for view, statuses in _VIEWS.items()}
    return {**counts, "mine": document_counts.waiting_for(tx, workspace_id, me, most) if me else 0}


def _tab(asked: ListQuery, view: _View, count: int | None) -> Tab:
    said = "" if count is None else f"{count:,}"
    if count is not None and count > shared_limits.COUNTED_MOST:
        said = WORDS["more_than"].format(count=f"{shared_limits.COUNTED_MOST:,}")
    path = asked.at(view="" if view == "all" else view, status="")
    return Tab(view, path, said, view == ("all" if asked.status else asked.view))


def _row(packet: Packet, document: Document) -> DocumentRow:
    everyone = document_status.people(packet, document)
    shown = everyone if len(everyone) <= limits.DOTS_SHOWN else everyone[: limits.DOTS_SHOWN - 1]
    return DocumentRow(document, shown, len(everyone) - len(shown), *document_status.last_act(packet, document))


def _as_api(wanted: Filter) -> str:
    """The API's list of the same documents; whose turn it is, its records tell."""
    given: Mapping[str, Any] = {name: value for name, value in asdict(wanted).items() if value}
    statuses = [("status", status) for status in given.get("statuses", ())]
    rest = [("signer_email" if name == "waits_for" else name, value) for name, value in given.items()]
    query = urlencode([*statuses, *((name, value) for name, value in rest if name != "statuses")])
    return f"/api/v1/documents?{query}" if query else "/api/v1/documents"


def _midnight(name: str, day: str, more: timedelta) -> str | None:
    """So long after the beginning of the day; None without one."""
    if not day:
        return None
    try:
        return instant(datetime.combine(date.fromisoformat(day), time(), UTC) + more)
    except (ValueError, OverflowError) as error:
        raise BadRequest(f"{name} must be a day such as 2026-03-01") from error


ROUTES: list[Any] = [show_documents]
