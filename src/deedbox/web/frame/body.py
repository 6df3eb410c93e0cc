"""A JSON body: read within its bounds, and decoded once, into the struct that its route names."""

import asyncio
import functools
import re
from typing import Any, TypeVar, cast

import msgspec
from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest, UnsupportedMediaType
from deedbox.web.frame import context, mistakes
from deedbox.web.frame.context import AnyRequest

T = TypeVar("T")

OPTIONAL_BODY = "optional_body"
"""The `opt` that names the kind of body that a route reads if one is sent; the route finds it in its context."""
READS = "reads"
"""The `opt` that names the kind of JSON that a route reads by itself, beside a form."""

_TOKEN = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"?'  # a text, so that no number is looked for in it,
    rb"|(?<![0-9.eE+-])-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![0-9.eE+-])",  # or a number
    re.DOTALL,
)


class JsonRequest(Request[Any, Any, Any]):
    """The framework's request, whose JSON was decoded before it asks."""

    async def json(self) -> Any:
        return context.of(self).body


async def decode(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Runs before a route that takes JSON, once its door is open: keeps in the context what the body says."""
    optional: Any = handler.opt.get(OPTIONAL_BODY)
    taken = handler.parsed_fn_signature.parameters.get("data")
    if optional is None and taken is None:
        return
    request, here = cast(AnyRequest, connection), context.of(connection)
    if taken is not None:
        need_json(request)
    await hold(request, cast(HTTPRouteHandler, handler).resolve_request_max_body_size() or limits.JSON_BODY_BYTES)
    content = await request.body()
    if taken is not None:
        here.body = await decoded(request, taken.annotation, content)
    elif content:
        need_json(request)
        here.body = await decoded(request, optional, content)
    else:
        here.body = optional()


def need_json(request: AnyRequest) -> None:
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise UnsupportedMediaType("Send the body as JSON with Content-Type: application/json")


async def hold(request: AnyRequest, most: int) -> None:
    """Waits for room in memory, which the request has until its end, if its body may be a large one."""
    announced = request.content_length
    if announced is None and "transfer-encoding" in request.headers:
        announced = most
    # One that is too large is refused before it is read.
    if announced is None or not limits.SMALL_BODY_BYTES < announced <= most:
        return
    here = context.of(request)
    await here.room.take(announced)
    here.held += announced


async def decoded(request: AnyRequest, kind: type[T], content: bytes) -> T:
    """What the JSON says; BadRequest, naming the field, unless it is of this kind."""
    if len(content) <= limits.SMALL_BODY_BYTES:
        return _decoded(kind, content)
    async with context.of(request).room.decoding:
        return await asyncio.to_thread(_decoded, kind, content)


def of_kind(kind: type[T], value: Any) -> T:
    """As `decoded`, for what was decoded already as JSON of any kind."""
    try:
        return _decoded(kind, msgspec.json.encode(value))
    except OverflowError as error:
        raise BadRequest("The body holds too large a number") from error


def _decoded(kind: type[T], content: bytes) -> T:
    if not content:
        raise BadRequest("The body is missing: a JSON object is expected")
    # Without the pairs, a backslash that is left begins an escape.
    if len(content) > limits.SMALL_BODY_BYTES and content.count(b'"') > limits.JSON_QUOTES:
        raise BadRequest(f"The body holds more than {limits.JSON_QUOTES // 2:,} names and texts")
    if b"\\u0000" in content and b"\\u0000" in content.replace(b"\\\\", b""):
        raise BadRequest("The body contains a NUL character")
    try:
        return _strictly(kind, content)
    except msgspec.ValidationError as error:
        raise BadRequest(_refusal(kind, error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("The body is not JSON in UTF-8, is cut short, or is nested too deeply") from error


def _strictly(kind: type[T], content: bytes) -> T:
    decoder = _decoder(kind)  # type: ignore[arg-type]
    try:
        return cast(T, decoder.decode(content))
    except msgspec.ValidationError as error:
        # 5.0 is 5 in JSON, but not to the decoder. Worth a second look only where that is soon done.
        if "got `float`" not in str(error) or len(content) > limits.WHOLE_NUMBERS_BYTES:
            raise
    return cast(T, decoder.decode(_TOKEN.sub(_whole, content)))


def _whole(token: re.Match[bytes]) -> bytes:
    """The token, or the digits of a whole number that is written as a fraction or a power."""
    text = token[0]
    if text.startswith(b'"') or text.lstrip(b"-").isdigit():
        return text
    number = float(text)
    return b"%d" % int(number) if number.is_integer() else text


def _refusal(kind: Any, error: msgspec.ValidationError) -> str:
    """What the kind of body says of such a mistake, if it has a word for it; else the field and the mistake."""
    own: str | None = kind.refusal(*mistakes.split(error)) if hasattr(kind, "refusal") else None
    return own or mistakes.named(kind, error)


@functools.lru_cache(maxsize=512)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
