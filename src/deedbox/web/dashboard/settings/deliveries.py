"""One delivery: what was sent, what came back, and once more."""

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from deedbox.kernel.db import Tx
from deedbox.web import limits
from deedbox.web.dashboard.settings.form_actions import run_action
from deedbox.web.dashboard.settings.hooks import state_of
from deedbox.web.http import context, page_forms
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.webhooks import deliveries

PLACE = "/app/settings/deliveries"


@get(f"{PLACE}/{{delivery_id:str}}", opt=person("hooks:write"), include_in_schema=False)
async def show_delivery(request: AnyRequest, delivery_id: FromPath[str]) -> Response[Any]:
    here = context.of(request)
    now = here.deedbox.clock.now()
    found = await here.deedbox.db.read(lambda tx: deliveries.get(tx, here.caller.workspace_id, delivery_id))
    return app_page(
        request,
        "dashboard/settings/delivery.html",
        delivery=found,
        state_of=state_of,
        busy=deliveries.under_way(found, now),
        once=page_forms.new_once(),
    )


@post(
    f"{PLACE}/{{delivery_id:str}}/redeliver",
    opt=person("hooks:write"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def redeliver(request: AnyRequest, delivery_id: FromPath[str]) -> Response[Any]:
    """The same bytes once more; the page of the delivery that takes them follows it."""
    here = context.of(request)
    now = here.deedbox.clock.now()

    def again(tx: Tx) -> str:
        return f"{PLACE}/{deliveries.redeliver(tx, here.caller.workspace_id, delivery_id, now=now).id}?done=again"

    return await run_action(request, again)


ROUTES = [show_delivery, redeliver]
