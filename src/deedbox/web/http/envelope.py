"""The one function that makes the body of an error, in the shape of the API that was asked."""

from typing import Any, NamedTuple

import msgspec
from litestar.exceptions import (
    ClientException,
    HTTPException,
    InternalServerException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)

from deedbox.kernel.errors import (
    BadRequest,
    MethodNotAllowed,
    NotFound,
    ServiceError,
    TooLarge,
    UnsupportedMediaType,
)
from deedbox.kernel.validation_errors import plain

_encode = msgspec.json.Encoder().encode
_DISCONNECTED = "client disconnected prematurely"
"""The framework's word for a caller that hangs up: no failure of ours, and nothing for the log."""


_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_NEITHER = ("/tsa", "/login", "/account", "/app")
"""What belongs to neither API, so that a wrong content type has its own status there."""


class ErrorBody(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def normalize_path(raw: str) -> str:
    """The path as the routes see it: however many slashes stand in it, one answer has one shape."""
    return "/" + "/".join(part for part in raw.split("/") if part)


def is_v1(path: str) -> bool:
    """Whether a path belongs to the signing API, whose errors carry their status in the body."""
    return path in ("/api/v1", "/sign") or path.startswith(("/api/v1/", "/sign/", "/s/"))


def is_openai(path: str) -> bool:
    """Whether a path belongs to the OpenAI-compatible routes, whose errors OpenAI's clients must understand."""
    return path == "/v1" or path.startswith("/v1/")


def envelope(path: str, error: ServiceError) -> ErrorBody:
    signing = is_v1(path)
    status = error.status
    if not signing and isinstance(error, TooLarge):
        status = 400  # the search API has no 413 and 415: a wrong body is an invalid parameter
    if isinstance(error, UnsupportedMediaType) and not signing and not path.startswith(_NEITHER):
        status = 400
    body = _encode(_body(path, error, status))
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"x-service-error-code", error.code.encode()),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.retry_after is not None:
        headers.append((b"retry-after", b"%d" % error.retry_after))
    headers += [(name.lower().encode(), value.encode()) for name, value in error.headers.items()]
    return ErrorBody(status, headers, body)


def _body(path: str, error: ServiceError, status: int) -> dict[str, Any]:
    if is_v1(path):
        return {"error": error.message, "status": status}
    if is_openai(path):
        kind = _OPENAI_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
        return {"error": {"message": error.message, "type": kind, "param": None, "code": error.code}}
    if error.supported:
        return {"error": error.message, "supported": error.supported}
    return {"error": error.message}


def translate(error: Exception) -> ServiceError:
    """The framework's exceptions, and any other, as one of ours."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, NotFoundException):
        return NotFound("No such route. The API is described at /openapi.json")
    if isinstance(error, MethodNotAllowedException):
        allowed = (error.headers or {}).get("allow", "")
        return MethodNotAllowed(f"This path does not take that method. Allowed: {allowed}", headers={"Allow": allowed})
    if isinstance(error, ValidationException):
        return BadRequest(_what_is_invalid(error))
    if isinstance(error, ClientException) and error.status_code == 413:
        return TooLarge("The request body is too large")
    if isinstance(error, HTTPException) and error.status_code < 500:
        return BadRequest(error.detail or "The request cannot be understood")
    if isinstance(error, InternalServerException) and error.detail == _DISCONNECTED:
        return BadRequest("The connection was closed before the body was complete")
    return ServiceError("Internal server error")


def _what_is_invalid(error: ValidationException) -> str:
    """Each invalid parameter, and what is wrong with it."""
    parts = []
    for detail in error.extra or []:
        if isinstance(detail, dict) and "message" in detail:
            key = detail.get("key")
            said = plain(str(detail["message"]))
            parts.append(f"{key}: {said}" if key else said)
    return "; ".join(parts) if parts else error.detail
