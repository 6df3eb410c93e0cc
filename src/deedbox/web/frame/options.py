"""Answers to OPTIONS. The framework's own name only the first route of a path that has several."""

from collections.abc import Sequence

from litestar import Response, route
from litestar.handlers import HTTPRouteHandler


def routes(served: Sequence[HTTPRouteHandler]) -> list[HTTPRouteHandler]:
    """One OPTIONS route for each path; to be registered before the others, or the framework adds its own."""
    methods: dict[str, set[str]] = {}
    for handler in served:
        for path in handler.paths:
            methods.setdefault(path, {"OPTIONS"}).update(handler.http_methods)
    return [_route(path, ", ".join(sorted(names))) for path, names in methods.items()]


def _route(path: str, allow: str) -> HTTPRouteHandler:
    @route(path, http_method=["OPTIONS"], status_code=204, include_in_schema=False)
    async def options() -> Response[None]:
        return Response(None, status_code=204, headers={"Allow": allow}, media_type="text/plain")

    return options
