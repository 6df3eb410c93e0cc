"""What can go wrong in a call, as exceptions."""

import httpx


class DeedboxError(Exception):
    """The root of every failure that the client reports."""


class NoAnswer(DeedboxError):
    """The server could not be reached, or the connection broke, and trying again did not help."""


class ApiError(DeedboxError):
    """The server refused the call, or failed at it."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.code = response.headers.get("X-Service-Error-Code", "")
        """The reason, for programs; docs/reference/errors.md lists them."""
        self.request_id = response.headers.get("X-Request-Id", "")
        """Finds the request in the server's log."""
        self.retry_after = seconds(response)
        """How many seconds the server asks to wait, if it does."""
        self.message = _message(response)
        super().__init__(f"{self.message} ({self.status} {self.code}, request {self.request_id})")


class BadSignature(DeedboxError):
    """A delivery that was not signed with the secret, or too long ago."""


def seconds(response: httpx.Response) -> float | None:
    """The answer's Retry-After; None if there is none in seconds."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None


def _message(response: httpx.Response) -> str:
    try:
        error = response.json()["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        return f"{response.url.host} answered with {response.status_code}, and not as Deedbox does."
