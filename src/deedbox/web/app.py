"""The ASGI application: routes behind the guard."""

import asyncio
from typing import Any, NoReturn, cast

from litestar import Litestar
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin

from deedbox.web import limits
from deedbox.web.api_search import answers, collections, content, embeddings, health, index_runs, info, query
from deedbox.web.api_search import documents as uploads
from deedbox.web.api_v1 import (
    archive,
    bulk_rows,
    bulk_sends,
    changes,
    deliveries,
    document_files,
    document_list,
    document_moves,
    document_signers,
    documents,
    events,
    hooks,
    keys,
    mails,
    members,
    packet_files,
    packet_list,
    packet_moves,
    packets,
    templates,
    usage,
    verify,
    workspace,
)
from deedbox.web.dashboard import routes as dashboard
from deedbox.web.http import body, brand, head, openapi, options, static
from deedbox.web.http import query as queries
from deedbox.web.http.auth import Authenticator
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.guard import Guard, confirm
from deedbox.web.http.head import App
from deedbox.web.http.metrics import Metrics
from deedbox.web.mcp import routes as mcp
from deedbox.web.public import authority, embed, operations, reference
from deedbox.web.public import verify as verify_pages
from deedbox.web.signer import opening, session
from deedbox.web.signer import page as signing_page
from deedbox.wiring import Installation

ROUTES = [
    *operations.ROUTES,
    *authority.ROUTES,
    *embed.ROUTES,
    *verify_pages.ROUTES,
    *reference.ROUTES,
    *document_list.ROUTES,
    *documents.ROUTES,
    *document_moves.ROUTES,
    *document_signers.ROUTES,
    *document_files.ROUTES,
    *packet_list.ROUTES,
    *packets.ROUTES,
    *packet_moves.ROUTES,
    *packet_files.ROUTES,
    *bulk_sends.ROUTES,
    *bulk_rows.ROUTES,
    *templates.ROUTES,
    *verify.ROUTES,
    *archive.ROUTES,
    *keys.ROUTES,
    *members.ROUTES,
    *workspace.ROUTES,
    *changes.ROUTES,
    *mails.ROUTES,
    *usage.ROUTES,
    *hooks.ROUTES,
    *deliveries.ROUTES,
    *events.ROUTES,
    *health.ROUTES,
    *uploads.ROUTES,
    *collections.ROUTES,
    *content.ROUTES,
    *info.ROUTES,
    *index_runs.ROUTES,
    *query.ROUTES,
    *answers.ROUTES,
    *embeddings.ROUTES,
    *mcp.ROUTES,
    *static.ROUTES,
    *brand.ROUTES,
    *dashboard.ROUTES,
    *opening.ROUTES,
    *signing_page.ROUTES,
    *session.ROUTES,
]


def build(deedbox: Installation) -> Guard:
    """The application to serve."""
    routes = _routes(deedbox)
    app, metrics = put_together(routes), Metrics()
    # Not built here: that takes longer than the rest of the start. The server builds it once it listens.
    description = openapi.Description(routes, deedbox.settings.base_url or "/")
    app.state.update({"metrics": metrics, "description": description, "describing": asyncio.Lock()})
    guard = Guard(cast(App, app), deedbox, Authenticator(app), metrics)
    app.state.guard = guard
    return guard


class _Application(Litestar):
    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        """For structs alone. The framework's own are also for pydantic and attrs, and import them wherever they happen
        to be installed, at each start."""
        return [*plugins, MsgspecDIPlugin()]


def put_together(routes: list[Any]) -> Litestar:
    """These routes, and those for HEAD and OPTIONS beside them, for no installation yet."""
    served = head.routes(routes)
    return _Application(
        route_handlers=[*options.routes(served), *served],
        before_request=_before_the_route,
        request_class=body.JsonRequest,
        exception_handlers={Exception: _to_the_guard},
        openapi_config=None,
        request_max_body_size=limits.JSON_BODY_BYTES,
        logging_config=None,
    )


def _routes(deedbox: Installation) -> list[Any]:
    """Every route; that of time-stamps is the one that the settings choose."""
    if not deedbox.settings.tsa_public:
        return ROUTES
    return [authority.open_time_stamp if route is authority.time_stamp else route for route in ROUTES]


async def _before_the_route(request: AnyRequest) -> None:
    # Not as one of the framework's guards: for each of those it copies the handler, which takes longer than these do.
    handler = request.route_handler
    confirm(request, handler)
    queries.decode(request, handler)
    await body.decode(request, handler)


def _to_the_guard(_: AnyRequest, error: Exception) -> NoReturn:
    """The guard answers what a route refuses as it does what it refuses itself, without a response in between."""
    raise error
