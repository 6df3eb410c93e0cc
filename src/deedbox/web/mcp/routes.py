"""`/mcp`: the Model Context Protocol over streamable HTTP, one exchange a request and nothing kept between two."""

import asyncio
import importlib
import importlib.util
from typing import Any

from litestar import Response, post

from deedbox.kernel.errors import BadRequest
from deedbox.web import limits
from deedbox.web.http import body, context
from deedbox.web.http.auth import Requirement, requires
from deedbox.web.http.context import AnyRequest

_ASSISTANT = Requirement("key", repeats=True, own_site=True)
"""Opens to any key that works: each tool asks for the scope of the route behind it. As the protocol demands, a page of
another site is refused by its `Origin`: its address may have been made to lead here."""


@post("/mcp", opt=requires(_ASSISTANT), include_in_schema=False, status_code=200, request_max_body_size=None)
async def exchange(request: AnyRequest) -> Response[Any]:
    here = context.of(request)
    here.take_time(limits.MCP_SECONDS)
    body.need_json(request)
    content = await body.read(request, limits.MCP_BODY_BYTES)
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > limits.MCP_BODY_ITEMS:
        raise BadRequest(f"The body holds more than {limits.MCP_BODY_ITEMS:,} values")
    # The first time this takes a second or more, which nobody else should have to wait for.
    transport = await asyncio.to_thread(importlib.import_module, "deedbox.web.mcp.transport")
    answer: Response[Any] = await transport.respond(request, content)
    return answer


ROUTES: list[Any] = [exchange] if importlib.util.find_spec("mcp") else []
"""Only where the extra is installed."""
