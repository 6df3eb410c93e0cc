"""How much a workspace sends, signs, asks and stores: four numbers, and four charts with a table behind each."""

from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from litestar import Response, get
from msgspec import UNSET, UnsetType

from deedbox.i18n.measures import size, span
from deedbox.kernel.clock import instant
from deedbox.usage import By, WorkspaceUsage, usage
from deedbox.web.dashboard import charts
from deedbox.web.dashboard.charts import Plot
from deedbox.web.http import context
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY


class UsagePageQuery(msgspec.Struct, frozen=True):
    by: By | UnsetType = UNSET


class Chart(NamedTuple):
    name: str
    """Its words begin with it."""
    plots: list[Plot]
    columns: list[list[str]]
    """What the table behind it says of each slot, after the slot itself."""
    series: int
    """How many kinds of bars a legend has to tell apart."""

    @property
    def is_empty(self) -> bool:
        return not any(plot.bars or plot.dots for plot in self.plots)


@get("/app/usage", opt={**person("workspace:read"), QUERY: UsagePageQuery}, include_in_schema=False)
async def usage_page(request: AnyRequest) -> Response[Any]:
    here, now = context.of(request), context.of(request).deedbox.clock.now()
    by: By = here.query.by or "day"
    found = await here.deedbox.db.read_aside(lambda tx: usage(tx, here.caller.workspace_id, by, now))
    return app_page(
        request,
        "dashboard/usage.html",
        found=found,
        slots=[_slot_name(by, one.slot) for one in found.slots],
        width=len(found.slots) * charts.STEP,
        step=charts.STEP,
        charts=[_documents(found), _times(found), _queries(found), _storage(found)],
        just_measured=found.measured_at == instant(now),
        size=size,
        span=span,
    )


def _documents(found: WorkspaceUsage) -> Chart:
    sent, completed = [one.sent for one in found.slots], [one.completed for one in found.slots]
    return Chart(
        "documents", [charts.bars([sent, completed], _count)], [_told(sent, _count), _told(completed, _count)], 2
    )


def _times(found: WorkspaceUsage) -> Chart:
    times = [one.sign_seconds for one in found.slots]
    plot = charts.bars([times], span, top=charts.nice_span(max(one or 0 for one in times)))
    return Chart("times", [plot], [_told(times, span)], 1)


def _queries(found: WorkspaceUsage) -> Chart:
    asked, took = [one.queries for one in found.slots], [one.query_ms for one in found.slots]
    slowest = charts.nice(max(one or 0 for one in took))
    plots = [charts.bars([asked], _count), charts.line(took, _ms, slowest)]
    return Chart("queries", plots, [_told(asked, _count), _told(took, _ms)], 1)


def _storage(found: WorkspaceUsage) -> Chart:
    documents, library = [one.document_bytes for one in found.slots], [one.library_bytes for one in found.slots]
    most = charts.nice_size(max((one or 0) + (other or 0) for one, other in zip(documents, library, strict=True)))
    plot = charts.bars([documents, library], _bytes, stacked=True, top=most)
    return Chart("storage", [plot], [_told(documents, _bytes), _told(library, _bytes)], 2)


def _told(numbers: charts.Numbers, say: charts.Say) -> list[str]:
    return ["–" if one is None else say(one) for one in numbers]


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _ms(number: float) -> str:
    return f"{number:,.0f} ms" if number < 1000 else span(number / 1000)


def _bytes(number: float) -> str:
    return size(round(number))


def _slot_name(by: By, slot: str) -> str:
    if by == "day":
        day = datetime.fromisoformat(slot)
        return f"{day.day} {day:%b}"
    return f"{datetime.fromisoformat(f'{slot}-01'):%b %Y}"


ROUTES = [usage_page]
