"""The API as tools ask it: of the server that they run in, or of one elsewhere."""

from collections.abc import Mapping
from typing import Literal, Protocol, TypeVar

import msgspec

from deedbox.kernel.decoders import decoder

T = TypeVar("T")
JSON = "application/json"


class Asked(msgspec.Struct, frozen=True):
    """A request; its path holds nothing that would have to be quoted."""

    method: Literal["GET", "POST"]
    path: str
    query: Mapping[str, str | int] = {}
    body: bytes = b""
    content_type: str = JSON


class Refused(Exception):
    """What the API, or the tool itself, says to a request that cannot be done."""


class Api(Protocol):
    async def ask(self, asked: Asked) -> bytes:
        """The body of the good answer; Refused with the message of any other."""
        ...


def get(path: str, **query: str | int | None) -> Asked:
    """A question; what is None is not asked for."""
    return Asked("GET", path, {name: value for name, value in query.items() if value is not None})


def post(path: str, content: object) -> Asked:
    """An order in JSON."""
    return Asked("POST", path, body=msgspec.json.encode(content))


def post_file(path: str, name: str, content: bytes, boundary: str) -> Asked:
    """An order that is one file, as a form; the boundary must not stand in the file."""
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
    return Asked("POST", path, body=body, content_type=f"multipart/form-data; boundary={boundary}")


async def answer(api: Api, asked: Asked, kind: type[T]) -> T:
    """The answer as a struct."""
    content = await api.ask(asked)
    try:
        return decoder(kind).decode(content)
    except msgspec.DecodeError as error:
        raise Refused(f"The server answered {asked.path}, and not as this version of Deedbox does.") from error
