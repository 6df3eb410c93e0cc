"""A signer's own hand: signatures and initials as they come, and how a typed one will look."""

import asyncio
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import ReceivedBlob
from deedbox.kernel.errors import BadRequest, Saying
from deedbox.pdf.marks.fonts import Hand
from deedbox.pdf.marks.glyphs import describe, unprintable
from deedbox.pdf.marks.strokes import PadDrawing
from deedbox.signing.action_context import SigningServices
from deedbox.signing.actions import sign
from deedbox.signing.model import SignerSignature
from deedbox.web import limits
from deedbox.web.http import context, openapi
from deedbox.web.http.auth import SIGNER, requires
from deedbox.web.http.blob_response import etag_of, made_response
from deedbox.web.http.body import from_base64
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.query import QUERY
from deedbox.web.signer.inside import inside
from deedbox.web.signer.records import Drawn, Typed, UploadedMark

UNUSABLE = Saying(
    "signature_image",
    {
        "megabytes": str(shared_limits.SIGNATURE_IMAGE_BYTES // shared_limits.MB),
        "megapixels": str(shared_limits.SIGNATURE_IMAGE_PIXELS // 10**6),
    },
)
"""What is said of a picture that is too large or none."""
_IMAGE_TYPES = ("data:image/png;base64,", "data:image/jpeg;base64,")


async def store_mark(
    services: SigningServices, given: Typed | Drawn | UploadedMark, held: AsyncExitStack
) -> tuple[SignerSignature, list[ReceivedBlob]]:
    """A signature or initials, with the stored file of what was not typed."""
    if isinstance(given, Typed):
        return SignerSignature("typed", text=given.text, hand=given.hand), []
    if isinstance(given, Drawn) and given.strokes is not None:
        drawing = PadDrawing(given.strokes, given.width, given.height)
        signature, strokes = await held.enter_async_context(sign.store_strokes(services, drawing))
        return signature, [strokes]
    kind: Literal["drawn", "uploaded"] = "drawn" if isinstance(given, Drawn) else "uploaded"
    try:
        picture = await asyncio.to_thread(_picture, given.image or "")
        signature, image = await held.enter_async_context(sign.image(services, kind, picture))
    except BadRequest as error:
        error.sayings = (UNUSABLE,)
        raise
    return signature, [image]


def _picture(url: str) -> bytes:
    """The bytes of a data URL."""
    head = next((head for head in _IMAGE_TYPES if url.startswith(head)), None)
    if head is None:
        raise BadRequest("The signature's image must be a data URL of a PNG or JPEG image")
    try:
        return b"".join(from_base64(url[len(head) :]))
    except ValueError as error:
        raise BadRequest("The signature's image is not base64") from error


class HandQuery(msgspec.Struct, frozen=True):
    text: Annotated[
        str, Meta(min_length=1, max_length=shared_limits.SIGNER_NAME_CHARS, extra_json_schema=shared_limits.NO_NUL)
    ]
    """What is typed."""
    hand: Hand = "dancing"
    """In which hand it is written."""


@get(
    "/sign/{signer_id:str}/hand.svg",
    opt={
        **requires(SIGNER),
        QUERY: HandQuery,
        openapi.ANSWERS: {
            "200": {"description": "The signature", "content": {"image/svg+xml": {"schema": {"type": "string"}}}},
            "304": {"description": "The caller has this picture: If-None-Match names its ETag"},
        },
    },
    summary="A typed signature as it will be sealed",
    tags=["signer"],
)
async def hand_svg(request: AnyRequest, signer_id: FromPath[str]) -> Response[Any]:  # noqa: ARG001
    """Paths only: it looks the same wherever it is shown."""
    await inside(request)
    asked: HandQuery = context.of(request).query
    if missing := unprintable(asked.text):
        raise refusal(BadRequest, "signature_unprintable", letters=describe(missing))
    etag = etag_of("hand", asked.hand, asked.text)
    workshop = context.of(request).deedbox.workshop
    return await made_response(request, etag, "image/svg+xml", lambda: workshop.hand(asked.text, asked.hand))


@post(
    "/sign/{signer_id:str}/photo.png",
    opt=requires(SIGNER),
    include_in_schema=False,
    status_code=200,
    request_max_body_size=limits.SIGNING_BODY_BYTES,
)
async def photo_shown(request: AnyRequest, signer_id: FromPath[str], data: JSONBody[UploadedMark]) -> Response[Any]:  # noqa: ARG001
    """The photo of a signature as it will be sealed: its ink alone. `Ink: small` says that a better photo is needed."""
    await inside(request)
    try:
        picture = await asyncio.to_thread(_picture, data.image)
        png, is_small = await context.of(request).deedbox.workshop.shown_signature(picture)
    except BadRequest as error:
        error.sayings = (UNUSABLE,)
        raise
    headers = {"Ink": "small" if is_small else "good", "Cache-Control": "no-store"}
    return Response(png, headers=headers, media_type="image/png")


ROUTES: list[Any] = [hand_svg, photo_shown]
