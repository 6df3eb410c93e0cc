"""The one error root. Domain code raises these; the web makes the envelope, the CLI makes the sentence."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class ErrorCode(StrEnum):
    """Machine-readable reasons, sent as `X-Service-Error-Code`. The value of each is part of the API."""

    INVALID_REQUEST = "invalid_request"
    INVALID_KEY = "invalid_key"
    MISSING_SCOPE = "missing_scope"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    TIMED_OUT = "timed_out"
    CONFLICT = "conflict"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    IDEMPOTENCY_IN_PROGRESS = "idempotency_in_progress"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    RATE_LIMITED = "rate_limited"
    INTERNAL_ERROR = "internal_error"
    FILE_LOST = "file_lost"
    DRAINING = "draining"
    BUSY = "busy"
    STORAGE_FULL = "storage_full"
    STORAGE_UNAVAILABLE = "storage_unavailable"
    DATABASE_UNAVAILABLE = "database_unavailable"
    OUTCOME_UNKNOWN = "outcome_unknown"
    SANDBOX_FAILED = "sandbox_failed"
    MODEL_MISSING = "model_missing"
    INDEX_WARMING = "index_warming"
    CHAT_FAILED = "chat_failed"


AWAY = frozenset({ErrorCode.STORAGE_FULL, ErrorCode.STORAGE_UNAVAILABLE, ErrorCode.DATABASE_UNAVAILABLE})
"""Nothing is wrong with what was asked: it goes as soon as the disk, the store or the database is there again."""

MEANING: dict[ErrorCode, str] = {
    ErrorCode.INVALID_REQUEST: "A parameter, a header or the body is missing or invalid; the message says which.",
    ErrorCode.INVALID_KEY: "The API key is missing, malformed, unknown, revoked or expired.",
    ErrorCode.MISSING_SCOPE: "The key is valid but lacks the scope that the message names.",
    ErrorCode.FORBIDDEN: "The caller may not do this, for the reason in the message.",
    ErrorCode.NOT_FOUND: "The resource or route does not exist in the caller's workspace.",
    ErrorCode.METHOD_NOT_ALLOWED: "The path exists, with other methods; `Allow` lists them.",
    ErrorCode.TIMED_OUT: "The request took too long and was stopped.",
    ErrorCode.CONFLICT: "The resource is not in a state that allows this.",
    ErrorCode.IDEMPOTENCY_CONFLICT: "The Idempotency-Key has already been used with a different request.",
    ErrorCode.IDEMPOTENCY_IN_PROGRESS: "A request with the same Idempotency-Key is still running; try again shortly.",
    ErrorCode.TOO_LARGE: "The body is larger than the route allows.",
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: "The Content-Type of the body is not one the route reads.",
    ErrorCode.RANGE_NOT_SATISFIABLE: "The `Range` contains no byte of the file; `Content-Range` gives its size.",
    ErrorCode.RATE_LIMITED: "Too many requests; wait until `X-RateLimit-Reset` (Unix seconds).",
    ErrorCode.INTERNAL_ERROR: "The server failed; `X-Request-Id` finds the cause in its log.",
    ErrorCode.FILE_LOST: "The file is missing from storage; `deedbox doctor` names such files.",
    ErrorCode.DRAINING: "The server is stopping; try again after `Retry-After` seconds.",
    ErrorCode.BUSY: "The server has too much to do at this moment; try again after `Retry-After` seconds.",
    ErrorCode.STORAGE_FULL: "The server's disk or object store is full or failing; nothing was changed.",
    ErrorCode.STORAGE_UNAVAILABLE: "The object store for files cannot be reached or refuses; nothing was changed.",
    ErrorCode.DATABASE_UNAVAILABLE: "The database cannot be reached; nothing was changed.",
    ErrorCode.OUTCOME_UNKNOWN: "The database was lost while the change was being saved: it may or may not have been "
    "made. Retrying with the same Idempotency-Key is safe.",
    ErrorCode.SANDBOX_FAILED: "The file could not be processed within its limits of time and memory.",
    ErrorCode.MODEL_MISSING: "No embedding model is installed; the message says what to run.",
    ErrorCode.INDEX_WARMING: "The search index of the workspace is being built; try again after `Retry-After` seconds.",
    ErrorCode.CHAT_FAILED: "The chat endpoint cannot be used or gave no answer; the message says why. "
    "With 503 a later try may succeed.",
}


class Saying(NamedTuple):
    """A sentence by its name in the tables of words, with what fills its places: for a reader of any language."""

    name: str
    values: Mapping[str, str]
    field_id: str = ""
    """The field that it is about, if it is about one,"""
    label: str = ""
    """and what that is called: by the sender, or by the name of a word."""


class ServiceError(Exception):
    """A failure with an HTTP status, a machine-readable code and a sentence for a person."""

    status = 500
    code = ErrorCode.INTERNAL_ERROR
    retry_after: int | None = None
    sayings: tuple[Saying, ...] = ()
    """The message for readers of other languages; none for what only programs get to read."""
    supported: tuple[str, ...] = ()
    """What would have been accepted, for programs: a second field of the search API's error body."""

    def __init__(self, message: str, *, code: ErrorCode | None = None, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.headers = headers or {}
        if code is not None:
            self.code = code


class BadRequest(ServiceError):
    status = 400
    code = ErrorCode.INVALID_REQUEST


class Unauthorized(ServiceError):
    status = 401
    code = ErrorCode.INVALID_KEY


class Forbidden(ServiceError):
    status = 403
    code = ErrorCode.FORBIDDEN


class NotFound(ServiceError):
    status = 404
    code = ErrorCode.NOT_FOUND


class MethodNotAllowed(ServiceError):
    status = 405
    code = ErrorCode.METHOD_NOT_ALLOWED


class TimedOut(ServiceError):
    status = 408
    code = ErrorCode.TIMED_OUT


class Conflict(ServiceError):
    status = 409
    code = ErrorCode.CONFLICT


class TooLarge(ServiceError):
    status = 413
    code = ErrorCode.TOO_LARGE


class UnsupportedMediaType(ServiceError):
    status = 415
    code = ErrorCode.UNSUPPORTED_MEDIA_TYPE


class RangeNotSatisfiable(ServiceError):
    status = 416
    code = ErrorCode.RANGE_NOT_SATISFIABLE


class TooManyRequests(ServiceError):
    status = 429
    code = ErrorCode.RATE_LIMITED


class LostFile(ServiceError):
    """A file that a row names is not in the storage. No 404: what was asked for exists, and cannot be given."""

    code = ErrorCode.FILE_LOST

    def __init__(self, where: str, what: str = "this file") -> None:
        super().__init__(
            f"The server has lost {what}: its records refer to it, but it is missing in storage. Ask the operator"
            " of the server to restore it from a backup."
        )
        self.add_note(f"lost: {where}")  # for the log: a caller has no use for it


class BadGateway(ServiceError):
    """Another server, which this one needs for the answer, gave none that can be used."""

    status = 502


class Unavailable(ServiceError):
    """Nothing was changed (unless the code says `outcome_unknown`); the caller may try again."""

    status = 503
    code = ErrorCode.BUSY
    retry_after = 1


class SetupError(Exception):
    """The installation cannot run as it is: what is wrong, and the next step. Ends a command without traceback."""

    def __init__(self, reason: str, next_step: str) -> None:
        super().__init__(f"{reason} {next_step}")
        self.reason = reason
        self.next_step = next_step
