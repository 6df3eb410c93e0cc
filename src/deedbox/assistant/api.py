"""The API as tools ask it: of the server that they run in, or of one elsewhere."""

from collections.abc import Mapping
from typing import Literal, Protocol, TypeVar

import msgspec

from deedbox.kernel.decoders import decoder

T = TypeVar("T")
JSON = "application/json"


class ApiRequest(msgspec.Struct, frozen=True):
    """A request; its path holds nothing that would have to be quoted."""

    method: Literal["GET", "POST"]
    path: str
    query: Mapping[str, str | int] = {}
    body: bytes = b""
    content_type: str = JSON


class ApiRefusal(Exception):
    """What the API, or the tool itself, says to a request that cannot be done."""


class Api(Protocol):
    async def ask(self, asked: ApiRequest) -> bytes:
        """The body of the good answer; Refused with the message of any other."""
        ...


def get(path: str, **query: str | int | None) -> ApiRequest:
    """A question; what is None is not asked for."""
    return ApiRequest("GET", path, {name: value for name, value in query.items() if value is not None})


def post(path: str, content: object) -> ApiRequest:
    """An order in JSON."""
    return ApiRequest("POST", path, body=msgspec.json.encode(content))


def post_file(path: str, name: str, content: bytes, boundary: str) -> ApiRequest:
    """An order that is one file, as a form; the boundary must not stand in the file."""
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
    return ApiRequest("POST", path, body=body, content_type=f"multipart/form-data; boundary={boundary}")


async def answer(api: Api, asked: ApiRequest, kind: type[T]) -> T:
    """The answer as a struct."""
    content = await api.ask(asked)
    try:
        return decoder(kind).decode(content)
    except msgspec.DecodeError as error:
        raise ApiRefusal(f"The server answered {asked.path}, and not as this version of Deedbox does.") from error
