"""The script for pages of others that embed signing: the one file of ours that has an address for ever."""

from typing import Any

from litestar import Response, get

from deedbox.web import limits
from deedbox.web.http.auth import STATIC, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.static import load_static_files


@get("/static/embed.js", opt=requires(STATIC), include_in_schema=False)
async def embed_script(request: AnyRequest) -> Response[Any]:
    """For any site to load, and asked for anew soon: who embeds it cannot know a digest."""
    found, kind = load_static_files().files["embed.js"], "text/javascript"
    headers = {
        "Cache-Control": f"public, max-age={limits.EMBED_SCRIPT_SECONDS}",
        "ETag": found.etag,
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "X-Content-Type-Options": "nosniff",
    }
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(None, status_code=304, headers=headers, media_type=kind)
    return Response(found.content, headers=headers, media_type=kind)


ROUTES: list[Any] = [embed_script]
