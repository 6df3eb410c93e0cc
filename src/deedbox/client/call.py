"""One call, described so that it can be sent again."""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx
import msgspec

from deedbox.kernel.clock import instant

FileSource: TypeAlias = str | os.PathLike[str] | tuple[str, bytes]
"""A file to upload: its path, or its name and its bytes."""

REPEATABLE = ("GET", "PUT", "PATCH", "DELETE")
"""Methods that have the same effect when they are sent twice."""


class Form(msgspec.Struct, frozen=True):
    """The parts of a multipart body."""

    files: Sequence[tuple[str, FileSource]]
    """Each with the name of its part."""
    texts: Mapping[str, str | msgspec.Struct | None] = {}
    """Parts without a file, by name; a struct goes as JSON, None not at all."""


class Call(msgspec.Struct, frozen=True):
    """A request to the server; paths begin with a slash and have their names filled in."""

    method: str
    path: str
    query: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    body: msgspec.Struct | bytes | Form | None = None
    key: bool = True
    """Whether it carries the API key."""
    redirects: bool = False
    """Whether a good answer is a redirect, which is not followed."""

    @property
    def is_repeatable(self) -> bool:
        return self.method in REPEATABLE or "Idempotency-Key" in self.headers

    @contextmanager
    def request(self, http: httpx.Client | httpx.AsyncClient, api_key: str) -> Iterator[httpx.Request]:
        """The request; its files are open for as long as this lasts."""
        headers = dict(self.headers)
        if self.key:
            headers["Authorization"] = f"Bearer {api_key}"
        if isinstance(self.body, msgspec.Struct) and not isinstance(self.body, Form):
            headers["Content-Type"] = "application/json"
        with ExitStack() as opened:
            content = _content(self.body, opened)
            yield http.build_request(self.method, self.path, params=_params(self.query), headers=headers, **content)


def _content(body: msgspec.Struct | bytes | Form | None, opened: ExitStack) -> dict[str, Any]:
    if body is None:
        return {}
    if isinstance(body, bytes):
        return {"content": body}
    if not isinstance(body, Form):
        return {"content": msgspec.json.encode(body)}
    texts = {name: _text(value) for name, value in body.texts.items() if value is not None}
    return {"data": texts, "files": [(part, _opened(source, opened)) for part, source in body.files]}


def _text(value: str | msgspec.Struct) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _opened(source: FileSource, opened: ExitStack) -> tuple[str, Any]:
    if isinstance(source, tuple):
        return source
    path = Path(source)
    return path.name, opened.enter_context(path.open("rb"))


def _params(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _param(value) for name, value in query.items() if value is not None}


def _param(value: Any) -> Any:
    return instant(value) if isinstance(value, datetime) else value


def part(value: str) -> str:
    """A value as one part of a path."""
    return quote(value, safe="")


def once(idempotency_key: str | None) -> dict[str, str]:
    """The header that makes a call sent twice have one effect; without a key of the caller's, with a new one."""
    return {"Idempotency-Key": idempotency_key or secrets.token_urlsafe(24)}
