"""The page that a verification code leads to: for people who hold a document and want to know what it is."""

from typing import Any
from urllib.parse import quote

from litestar import Response, get
from litestar.params import FromPath

from deedbox import words
from deedbox.kernel.errors import NotFound
from deedbox.signing.completion import verification_code
from deedbox.signing.completion.verification_code import Vouched
from deedbox.web.frame import context
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import PUBLIC, door
from deedbox.web.frame.pages import go, page


@get("/verify", opt=door(PUBLIC), include_in_schema=False)
async def verify_page(request: AnyRequest) -> Response[Any]:
    """Asks for the code."""
    code = request.query_params.get("code", "").strip()
    return go(f"/verify/{quote(code, safe='')}") if code else _page(request)


@get("/verify/{code:str}", opt=door(PUBLIC), include_in_schema=False)
async def code_page(request: AnyRequest, code: FromPath[str]) -> Response[str]:
    try:
        found = await context.of(request).deedbox.db.read(lambda tx: verification_code.by_code(tx, code))
    except NotFound:
        return _page(request, status=404, code=code)
    return _page(request, code=found.code, found=found)


def _page(request: AnyRequest, *, status: int = 200, code: str = "", found: Vouched | None = None) -> Response[str]:
    language = words.preferred(request.headers.get("accept-language", ""))
    return page(
        "public/verify.html",
        status=status,
        language=language,
        say=words.of_use(language, "verify"),
        code=code,
        found=found,
    )


ROUTES = [verify_page, code_page]
