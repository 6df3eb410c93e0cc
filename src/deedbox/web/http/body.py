"""A JSON body: read within its bounds, and decoded once, into the struct that its route names."""

import asyncio
import base64
import re
import tempfile
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec
from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from deedbox.kernel import constraints, validation_errors
from deedbox.kernel.blobs.local import disk
from deedbox.kernel.decoders import decoder
from deedbox.kernel.errors import BadRequest, TooLarge, UnsupportedMediaType
from deedbox.web import limits
from deedbox.web.http import context, multipart
from deedbox.web.http.context import AnyRequest

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
    """The framework's request, whose body was read, and its JSON decoded, before it asks."""

    async def json(self) -> Any:
        return context.of(self).body

    async def body(self) -> bytes:
        content = context.of(self).content
        return await super().body() if content is None else content


async def decode(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Runs before a route that takes JSON, once its door is open: keeps in the context what the body says."""
    optional: Any = handler.opt.get(OPTIONAL_BODY)
    taken = handler.parsed_fn_signature.parameters.get("data")
    if optional is None and taken is None:
        return
    request, here = cast(AnyRequest, connection), context.of(connection)
    if taken is not None:
        need_json(request)
    content = await read(request)
    if taken is not None:
        here.body = await decode_as(request, taken.annotation, content)
    elif content:
        need_json(request)
        here.body = await decode_as(request, optional, content)
    else:
        here.body = optional()


def need_json(request: AnyRequest) -> None:
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise UnsupportedMediaType("Send the body as JSON with Content-Type: application/json")


async def read(request: AnyRequest, most: int = limits.DOCUMENT_JSON_BYTES) -> bytes:
    """The body. A large one comes into a file first, and into memory when all of it is there and has room."""
    here, announced = context.of(request), request.content_length
    if announced is None and "transfer-encoding" in request.headers:
        announced = limits.SMALL_BODY_BYTES + 1  # nobody knows
    if (announced or 0) <= limits.SMALL_BODY_BYTES:
        content = here.content = b"".join([chunk async for chunk in request.stream()])
        return content
    if (announced or 0) > most:
        raise TooLarge("The request body is too large")
    with tempfile.SpooledTemporaryFile(limits.SMALL_BODY_BYTES, dir=str(here.deedbox.settings.data_dir)) as spool:
        with disk():
            async for chunk in multipart.patiently(request, limits.REQUEST_SECONDS):
                if spool.tell() + len(chunk) > most:
                    raise TooLarge("The request body is too large")
                await asyncio.to_thread(spool.write, chunk)
        size = spool.tell()
        if size > limits.SMALL_BODY_BYTES:
            await here.room.take(size, here.holder)
            here.held += size
        spool.seek(0)
        content = here.content = await asyncio.to_thread(spool.read)
    return content


async def decode_as(request: AnyRequest, kind: type[T], content: bytes) -> T:
    """What the JSON says; BadRequest, naming the field, unless it is of this kind."""
    if len(content) <= limits.SMALL_BODY_BYTES:
        return decoded_now(kind, content)
    async with context.of(request).room.decoding:
        return await asyncio.to_thread(decoded_now, kind, content)


def of_kind(kind: type[T], value: Any) -> T:
    """As `decoded`, for what was decoded already as JSON of any kind."""
    try:
        return decoded_now(kind, msgspec.json.encode(value))
    except OverflowError as error:
        raise BadRequest("The body holds too large a number") from error


def decoded_now(kind: type[T], content: bytes, quotes: int = limits.JSON_QUOTES) -> T:
    """As `decoded`, for what may be decoded at once: it is small, or hardly anything is made of it."""
    if not content:
        raise BadRequest("The body is missing: a JSON object is expected")
    # Without the pairs, a backslash that is left begins an escape.
    if len(content) > limits.SMALL_BODY_BYTES and content.count(b'"') > quotes:
        raise BadRequest(f"The body holds more than {quotes // 2:,} names and texts")
    if b"\\u0000" in content and b"\\u0000" in content.replace(b"\\\\", b""):
        raise BadRequest("The body contains a NUL character")
    try:
        value = _strictly(kind, content)
    except msgspec.ValidationError as error:
        raise BadRequest(_refusal(kind, error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest("The body is not JSON in UTF-8, is cut short, or is nested too deeply") from error
    constraints.check(value)
    return value


def _strictly(kind: type[T], content: bytes) -> T:
    try:
        return decoder(kind).decode(content)
    except msgspec.ValidationError as error:
        # 5.0 is 5 in JSON, but not to the decoder. Worth a second look only where that is soon done.
        if "got `float`" not in str(error) or len(content) > limits.WHOLE_NUMBERS_BYTES:
            raise
    return decoder(kind).decode(_TOKEN.sub(_whole, content))


def _whole(token: re.Match[bytes]) -> bytes:
    """The token, or the digits of a whole number that is written as a fraction or a power."""
    text = token[0]
    if text.startswith(b'"') or text.lstrip(b"-").isdigit():
        return text
    number = float(text)
    return b"%d" % int(number) if number.is_integer() else text


def _refusal(kind: Any, error: msgspec.ValidationError) -> str:
    """What the kind of body says of such a mistake, if it has a word for it; else the field and the mistake."""
    own: str | None = kind.refusal(*validation_errors.split(error)) if hasattr(kind, "refusal") else None
    return own or validation_errors.describe(kind, error)


def from_base64(text: str) -> Iterator[bytes]:
    """The bytes that the text stands for, piece by piece, so that others get their turn; ValueError if it is none."""
    step = limits.BASE64_PIECE_CHARS
    for at in range(0, len(text), step):
        piece = base64.b64decode(text[at : at + step], validate=True)
        # Only the last piece may be padded: what follows an end is no base64.
        if len(piece) != step // 4 * 3 and at + step < len(text):
            raise ValueError("padding within base64")
        yield piece
