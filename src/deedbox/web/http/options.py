"""Answers to OPTIONS. The framework's own name only the first route of a path that has several."""

from collections.abc import Sequence

from litestar import Response, route
from litestar.handlers import HTTPRouteHandler

from deedbox.web.http import auth
from deedbox.web.http.auth import Requirement


def routes(served: Sequence[HTTPRouteHandler]) -> list[HTTPRouteHandler]:
    """One OPTIONS route for each path; to be registered before the others, or the framework adds its own."""
    by_path: dict[str, list[HTTPRouteHandler]] = {}
    for handler in served:
        for path in handler.paths:
            by_path.setdefault(path, []).append(handler)
    return [_route(path, handlers) for path, handlers in by_path.items()]


def _route(path: str, handlers: Sequence[HTTPRouteHandler]) -> HTTPRouteHandler:
    allow = ", ".join(sorted({"OPTIONS"}.union(*(handler.http_methods for handler in handlers))))
    known = [door for handler in handlers if isinstance(door := handler.opt.get(auth.OPTION), Requirement)]

    # A path without any door gets none here either, so that it cannot be built into the app.
    @route(
        path,
        http_method=["OPTIONS"],
        status_code=204,
        include_in_schema=False,
        opt=auth.requires(auth.beside(known)) if known else {},
    )
    async def options() -> Response[None]:
        return Response(None, status_code=204, headers={"Allow": allow}, media_type="text/plain")

    return options
