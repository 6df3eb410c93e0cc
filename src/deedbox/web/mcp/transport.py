"""The package's transport for one exchange. Imported at the first call: it takes seconds."""

from typing import Any

from litestar import Response
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from deedbox.assistant.server import create_server
from deedbox.kernel.errors import BadRequest
from deedbox.web import limits
from deedbox.web.http.context import AnyRequest
from deedbox.web.mcp.own_api import Heard, OwnApi, sent


async def respond(request: AnyRequest, content: bytes) -> Response[Any]:
    """What the protocol answers to this body: JSON, never a stream, so that no server has to remember anything."""
    manager = StreamableHTTPSessionManager(
        create_server(OwnApi(request)), json_response=True, stateless=True, max_request_body_size=limits.MCP_BODY_BYTES
    )
    scope: Any = request.scope
    own = {name: scope[name] for name in ("type", "asgi", "http_version", "method", "scheme", "path", "query_string")}
    heard = Heard(limits.MCP_ANSWER_BYTES)
    async with manager.run():
        await manager.handle_request({**own, "headers": scope["headers"]}, sent(content, request), heard.send)
    if not heard.is_whole:
        raise BadRequest("The answer is too large for a tool. Ask for less.")
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in heard.headers}
    headers.pop("content-length", None)
    media_type = headers.pop("content-type", "application/json")
    return Response(bytes(heard.body), status_code=heard.status, headers=headers, media_type=media_type)
