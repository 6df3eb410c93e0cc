"""What every answer must be, and the table of routes that the tests go through."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import httpx
import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from deedbox.web.http import auth
from deedbox.web.http.auth import Requirement
from deedbox.web.http.guard import Guard

RATE_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


class Route(NamedTuple):
    method: str
    path: str
    """With every parameter filled in."""
    door: Requirement
    handler: HTTPRouteHandler

    @property
    def keyed(self) -> bool:
        return self.door.opener == "key"

    @property
    def need(self) -> str:
        """The scope that the key must have."""
        return self.door.scope

    @property
    def has_body(self) -> bool:
        return "data" in self.handler.parsed_fn_signature.parameters

    @property
    def signing(self) -> bool:
        return self.path.startswith(("/api/v1/", "/sign/", "/s/"))


SHOWN_ONCE = ("key", "secret", "link")
"""Fields of a first answer that no later answer has."""


def repeated(answer: httpx.Response) -> bytes:
    """The body of the answer when its request is repeated under its Idempotency-Key."""
    body = answer.json()
    return msgspec.json.encode({name: None if name in SHOWN_ONCE else value for name, value in body.items()})


def routes(guard: Guard) -> list[Route]:
    """Every method of every path of the application."""
    return list(_routes(cast(Litestar, guard.app)))


def keyed(guard: Guard) -> list[Route]:
    found = [route for route in routes(guard) if route.keyed]
    assert found, "the table of routes is empty"
    return found


def _routes(app: Litestar) -> Iterator[Route]:
    for path, handler in auth.list_routes(app):
        filled = re.sub(r"\{(\w+?)(_id)?\}", "key_01JD0000000000000000000000", path.replace("{number}", "1"))
        for method in handler.http_methods:
            yield Route(str(method), filled, auth.of(handler), handler)


def faults(path: str, response: httpx.Response, status: int | None = None) -> list[str]:
    """What is wrong with an error's answer; nothing, if it is as promised."""
    found = _header_faults(response)
    if status is not None and response.status_code != status:
        found.append(f"status {response.status_code} instead of {status}")
    if response.request.method != "HEAD":
        found += _body_faults(path, response)
    for code, header in ((401, "WWW-Authenticate"), (405, "Allow"), (429, "Retry-After"), (503, "Retry-After")):
        if response.status_code == code and not response.headers.get(header):
            found.append(f"{code} without {header}")
    return [f"{response.request.method} {path}: {fault}" for fault in found]


def _header_faults(response: httpx.Response) -> list[str]:
    found = []
    for name in RATE_HEADERS:
        values = response.headers.get_list(name)
        if len(values) != 1 or not values[0].isdigit():
            found.append(f"{name} is {values}")
    if len(response.headers.get_list("X-Request-Id")) != 1:
        found.append("no X-Request-Id")
    return found


def _body_faults(path: str, response: httpx.Response) -> list[str]:
    body: Any
    try:
        body = response.json()
    except ValueError:
        return [f"the body is not JSON: {response.content[:80]!r}"]
    if path.startswith("/v1/"):
        return _openai_faults(body)
    signing = path.strip("/") in ("api/v1", "sign") or path.strip("/").startswith(("api/v1/", "sign/", "s/"))
    expected = {"error", "status"} if signing else {"error"}
    unsupported = not signing and isinstance(body, dict) and str(body.get("error")).startswith("Unsupported file type")
    expected |= {"supported"} if unsupported else set()
    if not isinstance(body, dict) or set(body) != expected or not isinstance(body.get("error"), str):
        return [f"the envelope is {body!r}"]
    if signing and body["status"] != response.status_code:
        return [f"the body says {body['status']}, the answer {response.status_code}"]
    if response.status_code == 500 and body["error"] != "Internal server error":
        return [f"a 500 tells {body['error']!r}"]
    if not response.headers["content-type"].startswith("application/json"):
        return [f"content type {response.headers['content-type']}"]
    return [] if body["error"] and response.headers.get("X-Service-Error-Code") else ["no sentence or no code"]


def reason(response: httpx.Response) -> str:
    """Return the sentence of an error, in whichever envelope it came."""
    error = response.json()["error"]
    return str(error["message"] if isinstance(error, dict) else error)


def _openai_faults(body: Any) -> list[str]:
    error = body.get("error") if isinstance(body, dict) else None
    fields = {"message", "type", "param", "code"}
    if not isinstance(error, dict) or set(body) != {"error"} or set(error) != fields:
        return [f"the envelope is {body!r}"]
    return [] if error["message"] and error["type"] and error["code"] else ["no sentence, type or code"]
