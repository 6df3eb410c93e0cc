"""The one error root. Domain code raises these; the web makes the envelope, the CLI makes the sentence."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Code(StrEnum):
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


AWAY = frozenset({Code.STORAGE_FULL, Code.STORAGE_UNAVAILABLE, Code.DATABASE_UNAVAILABLE})
"""Nothing is wrong with what was asked: it goes as soon as the disk, the store or the database is there again."""

MEANING: dict[Code, str] = {
    Code.INVALID_REQUEST: "A parameter, a header or the body is missing or invalid; the message says which.",
    Code.INVALID_KEY: "The API key is missing, malformed, unknown, revoked or expired.",
    Code.MISSING_SCOPE: "The key is valid but lacks the scope that the message names.",
    Code.FORBIDDEN: "The caller may not do this, for the reason in the message.",
    Code.NOT_FOUND: "The resource or route does not exist in the caller's workspace.",
    Code.METHOD_NOT_ALLOWED: "The path exists, with other methods; `Allow` lists them.",
    Code.TIMED_OUT: "The request took too long and was stopped.",
    Code.CONFLICT: "The resource is not in a state that allows this.",
    Code.IDEMPOTENCY_CONFLICT: "The Idempotency-Key has already been used with a different request.",
    Code.IDEMPOTENCY_IN_PROGRESS: "A request with the same Idempotency-Key is still running; try again shortly.",
    Code.TOO_LARGE: "The body is larger than the route allows.",
    Code.UNSUPPORTED_MEDIA_TYPE: "The Content-Type of the body is not one the route reads.",
    Code.RANGE_NOT_SATISFIABLE: "The requested `Range` contains no byte of the file; `Content-Range` gives its size.",
    Code.RATE_LIMITED: "Too many requests; wait until `X-RateLimit-Reset` (Unix seconds).",
    Code.INTERNAL_ERROR: "The server failed; `X-Request-Id` finds the cause in its log.",
    Code.FILE_LOST: "The server has the file on record, but not in its storage; `deedbox doctor` names such files.",
    Code.DRAINING: "The server is stopping; try again after `Retry-After` seconds.",
    Code.BUSY: "The server has too much to do at this moment; try again after `Retry-After` seconds.",
    Code.STORAGE_FULL: "The server's disk or object store is full or failing; nothing was changed.",
    Code.STORAGE_UNAVAILABLE: "The object store for files cannot be reached or refuses; nothing was changed.",
    Code.DATABASE_UNAVAILABLE: "The database cannot be reached; nothing was changed.",
    Code.OUTCOME_UNKNOWN: "The database was lost while the change was being saved: it may or may not have been "
    "made. Retrying with the same Idempotency-Key is safe.",
    Code.SANDBOX_FAILED: "The file could not be processed within its limits of time and memory.",
    Code.MODEL_MISSING: "No embedding model is installed; the message says what to run.",
    Code.INDEX_WARMING: "The search index of the workspace is being built; try again after `Retry-After` seconds.",
    Code.CHAT_FAILED: "The chat endpoint that writes answers cannot be used, or gave no answer; the message says why. "
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


class DeedboxError(Exception):
    """A failure with an HTTP status, a machine-readable code and a sentence for a person."""

    status = 500
    code = Code.INTERNAL_ERROR
    retry_after: int | None = None
    sayings: tuple[Saying, ...] = ()
    """The message for readers of other languages; none for what only programs get to read."""
    supported: tuple[str, ...] = ()
    """What would have been accepted, for programs: a second field of the search API's error body."""

    def __init__(self, message: str, *, code: Code | None = None, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.headers = headers or {}
        if code is not None:
            self.code = code


class BadRequest(DeedboxError):
    status = 400
    code = Code.INVALID_REQUEST


class Unauthorized(DeedboxError):
    status = 401
    code = Code.INVALID_KEY


class Forbidden(DeedboxError):
    status = 403
    code = Code.FORBIDDEN


class NotFound(DeedboxError):
    status = 404
    code = Code.NOT_FOUND


class MethodNotAllowed(DeedboxError):
    status = 405
    code = Code.METHOD_NOT_ALLOWED


class TimedOut(DeedboxError):
    status = 408
    code = Code.TIMED_OUT


class Conflict(DeedboxError):
    status = 409
    code = Code.CONFLICT


class TooLarge(DeedboxError):
    status = 413
    code = Code.TOO_LARGE


class UnsupportedMediaType(DeedboxError):
    status = 415
    code = Code.UNSUPPORTED_MEDIA_TYPE


class RangeNotSatisfiable(DeedboxError):
    status = 416
    code = Code.RANGE_NOT_SATISFIABLE


class TooManyRequests(DeedboxError):
    status = 429
    code = Code.RATE_LIMITED


class LostFile(DeedboxError):
    """A file that a row names is not in the storage. No 404: what was asked for exists, and cannot be given."""

    code = Code.FILE_LOST

    def __init__(self, where: str, what: str = "this file") -> None:
        super().__init__(
            f"The server has lost {what}: its records refer to it, but it is missing in storage. Ask the operator"
            " of the server to restore it from a backup."
        )
        self.add_note(f"lost: {where}")  # for the log: a caller has no use for it


class BadGateway(DeedboxError):
    """Another server, which this one needs for the answer, gave none that can be used."""

    status = 502


class Unavailable(DeedboxError):
    """Nothing was changed (unless the code says `outcome_unknown`); the caller may try again."""

    status = 503
    code = Code.BUSY
    retry_after = 1


class SetupError(Exception):
    """The installation cannot run as it is: what is wrong, and the next step. Ends a command without traceback."""

    def __init__(self, reason: str, next_step: str) -> None:
        super().__init__(f"{reason} {next_step}")
        self.reason = reason
        self.next_step = next_step
