"""The reference of both APIs, a page for each subject, made from the same description as `/openapi.json`."""

import asyncio
import functools
import gzip
from typing import Any

import msgspec
from litestar import Response, get
from litestar.params import FromPath

from deedbox.kernel.errors import NotFound
from deedbox.web.http import pages
from deedbox.web.http.auth import PUBLIC, requires
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.description.reference import ReferencePage


@get("/docs/api", opt=requires(PUBLIC), include_in_schema=False)
async def contents(request: AnyRequest) -> Response[Any]:
    return await _page(request, "")


@get("/docs/api/{subject:str}", opt=requires(PUBLIC), include_in_schema=False)
async def operations(request: AnyRequest, subject: FromPath[str]) -> Response[Any]:
    return await _page(request, subject)


async def _page(request: AnyRequest, subject: str) -> Response[Any]:
    # Rendered at the first request, in a thread, one page at a time.
    async with request.app.state.describing:
        described = await asyncio.to_thread(request.app.state.description.encoded)
        made = await asyncio.to_thread(_made, described, subject)
    headers = {**pages.HEADERS, "Referrer-Policy": "same-origin", "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(made, headers={**headers, "Content-Encoding": "gzip"}, media_type="text/html")
    return Response(gzip.decompress(made), headers=headers, media_type="text/html")


@functools.lru_cache(maxsize=32)
def _made(described: bytes, subject: str) -> bytes:
    """The page, as it is sent; NotFound for a subject that there is not."""
    reference = _reference(described)
    if not subject:
        return _zipped("contents", reference, subject=None)
    found = next((one for one in reference.subjects if one.slug == subject), None)
    if found is None:
        raise NotFound("The API has no such subject")
    return _zipped("operations", reference, subject=found)


def _zipped(template: str, reference: ReferencePage, **values: Any) -> bytes:
    text = pages.render(f"dashboard/reference/{template}.html", reference=reference, **values)
    return gzip.compress(text.encode(), mtime=0)


@functools.lru_cache(maxsize=2)
def _reference(described: bytes) -> ReferencePage:
    return ReferencePage(msgspec.json.decode(described))


ROUTES = [contents, operations]
