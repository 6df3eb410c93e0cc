"""What others need to trust a seal: time-stamps, revocation lists, and the installation's certificates."""

from dataclasses import dataclass
from typing import Any, Final

from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import OpenAPIFormat, OpenAPIMediaType, OpenAPIType, Operation, RequestBody, Schema
from litestar.params import FromPath

from deedbox.kernel.errors import BadRequest, NotFound, UnsupportedMediaType
from deedbox.pdf.seal.timestamp import QUERY_TYPE, REPLY_TYPE
from deedbox.web import limits
from deedbox.web.http import context, openapi
from deedbox.web.http.auth import PUBLIC, Requirement, requires
from deedbox.web.http.context import AnyRequest

CRL_TYPE: Final = "application/pkix-crl"
CERTIFICATE_TYPE: Final = "application/pkix-cert"
PEM_TYPE: Final = "application/x-pem-file"
_KEPT = {"Cache-Control": "public, max-age=3600", "X-Content-Type-Options": "nosniff"}
_FRESH = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_BINARY = {"schema": {"type": "string", "format": "binary"}}


@dataclass
class _TakesQuery(Operation):
    """The framework knows no body that is neither JSON nor a form."""

    def __post_init__(self) -> None:
        query = Schema(
            type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY, min_length=1, max_length=limits.TSA_QUERY_BYTES
        )
        kind = OpenAPIMediaType(schema=query)
        self.request_body = RequestBody(content={QUERY_TYPE: kind}, required=True)


def _opt(description: str, media_type: str, opener: Requirement = PUBLIC) -> dict[str, Any]:
    answers = {"200": {"description": description, "content": {media_type: _BINARY}}}
    return {**requires(opener), openapi.ANSWERS: answers}


def _time_stamp(opener: Requirement) -> HTTPRouteHandler:
    """The route of the time-stamp unit, behind this door."""
    answer = "A timestamp, or a rejection with its reason: both are a TimeStampResp of RFC 3161"
    return post(
        "/tsa",
        opt={**_opt(answer, REPLY_TYPE, opener), openapi.ALSO: (415,)},
        status_code=200,
        summary="A timestamp (RFC 3161) from this server's clock",
        tags=["authority"],
        operation_class=_TakesQuery,
        request_max_body_size=limits.TSA_QUERY_BYTES,
    )(stamp_time)


async def stamp_time(request: AnyRequest) -> Response[bytes]:
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != QUERY_TYPE:
        raise UnsupportedMediaType(f"Send a TimeStampReq of RFC 3161 with Content-Type: {QUERY_TYPE}")
    query = await request.body()
    if not query:
        raise BadRequest("The body is missing: a TimeStampReq of RFC 3161 is expected")
    deedbox = context.of(request).deedbox
    unit = await deedbox.certificates.timestamper()
    return Response(unit.answer(query, deedbox.clock.now()), headers=_FRESH, media_type=REPLY_TYPE)


@get(
    "/crl/{name:str}",
    opt=_opt("The list, in DER", CRL_TYPE),
    summary="What an authority has revoked; `name` is `root`, `issuing` or an authority's id, and `.crl`",
    tags=["authority"],
)
async def revocation_list(request: AnyRequest, name: FromPath[str]) -> Response[bytes]:
    found = await context.of(request).deedbox.certificates.crl(_authority(name, ".crl"))
    return Response(found, headers=_KEPT, media_type=CRL_TYPE)


@get(
    "/ca/{name:str}",
    opt=_opt("The certificate, in DER", CERTIFICATE_TYPE),
    summary="An authority's certificate; `name` is `root`, `issuing` or an authority's id, and `.cer`",
    tags=["authority"],
)
async def certificate(request: AnyRequest, name: FromPath[str]) -> Response[bytes]:
    found = await context.of(request).deedbox.certificates.certificate(_authority(name, ".cer"))
    return Response(found, headers=_KEPT, media_type=CERTIFICATE_TYPE)


@get(
    "/ca.pem",
    opt=_opt("The root certificate, in PEM", PEM_TYPE),
    summary="The root certificate: what others have to trust",
    tags=["authority"],
)
async def root(request: AnyRequest) -> Response[bytes]:
    found = await context.of(request).deedbox.certificates.root_pem()
    return Response(found, headers=_KEPT, media_type=PEM_TYPE)


def _authority(name: str, suffix: str) -> str:
    if not name.endswith(suffix):
        raise NotFound(f"There is nothing here with this name; names end in {suffix}")
    return name.removesuffix(suffix)


time_stamp = _time_stamp(Requirement("key", scope="verify:read", repeats=True))
"""A time-stamp carries the installation's name: who asks for one is known, unless the operator wants it otherwise."""
open_time_stamp = _time_stamp(PUBLIC)
"""The same with the setting `tsa_public`."""

ROUTES: list[Any] = [time_stamp, revocation_list, certificate, root]
