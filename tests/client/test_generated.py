"""The client covers every operation of the API, and takes and gives what the OpenAPI document says."""

import inspect
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import msgspec
import pytest

from deedbox.client import ApiError, AsyncDeedbox, AsyncDownload, Deedbox, DeedboxError, Download, Reason
from tests.api.description import description
from tests.docs.commands import ROOT

PATH_VALUE = "a/b?c"
_SAMPLES = {"body": Reason(reason="x"), "content": b"x", "file": ("a.pdf", b"x"), "files": [("a.pdf", b"x")]}


class Recorder(httpx.MockTransport):
    """A server that gives the example of every answer, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[httpx.Request] = []
        super().__init__(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        operation = description()["paths"][path_of(request)][request.method.lower()]
        status, response = next(iter(operation["responses"].items()))
        [(kind, content), *_] = response.get("content", {"": {}}).items()
        if "examples" in content:
            name = content["examples"]["usual"]["$ref"].rpartition("/")[2]
            example = {**description()["components"]["examples"][name]["value"], "a_field_of_tomorrow": 1}
            example = {**example, "next_cursor": None} if "next_cursor" in example else example
            return httpx.Response(int(status), content=msgspec.json.encode(example))
        if kind == "text/event-stream":
            return httpx.Response(200, content=b'event: end\ndata: {"id": 1}\n\n')
        return httpx.Response(int(status), content=b"{}" if kind == "application/json" else b"text")


def path_of(request: httpx.Request) -> str:
    """The path of the document that the request's fits; the one with the fewest places."""
    path = request.url.raw_path.decode().partition("?")[0]
    fitting: list[str] = [
        known
        for known, methods in description()["paths"].items()
        if request.method.lower() in methods and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known), path)
    ]
    return min(fitting, key=lambda known: known.count("{"))


def methods(client: Deedbox | AsyncDeedbox) -> dict[str, Callable[..., Any]]:
    """Every call of the client, by group and name."""
    groups = [tag["name"].replace(" ", "_") for tag in description()["tags"]]
    return {
        f"{group}.{name}": method
        for group in groups
        for name, method in inspect.getmembers(getattr(client, group), inspect.ismethod)
        if not name.startswith("_")
    }


def arguments(method: Callable[..., Any]) -> dict[str, Any]:
    taken = inspect.signature(method).parameters.values()
    named = [each.name for each in taken if each.kind is not each.VAR_KEYWORD and each.name != "idempotency_key"]
    return {name: _SAMPLES.get(name, PATH_VALUE) for name in named}


def asked(recorder: Recorder) -> tuple[str, str]:
    [request] = recorder.asked
    return request.method, path_of(request)


def called(method: Callable[..., Any]) -> Any:
    given = method(**arguments(method))
    if isinstance(given, Download):
        return given.read()
    return list(given) if isinstance(given, Iterator) else given


async def called_async(method: Callable[..., Any]) -> Any:
    given = method(**arguments(method))
    if isinstance(given, AsyncDownload):
        return await given.read()
    if isinstance(given, AsyncIterator):
        return [each async for each in given]
    return await given


def every_operation() -> set[tuple[str, str]]:
    return {(method.upper(), path) for path, methods in description()["paths"].items() for method in methods}


def test_every_operation_has_its_call_and_every_call_its_operation() -> None:
    """Each call is made, and what goes over the wire is compared with the document."""
    seen: dict[tuple[str, str], list[str]] = {}
    for name in methods(Deedbox("http://deedbox", "key")):
        recorder = Recorder()
        with Deedbox("http://deedbox", "key", transport=recorder) as client:
            called(methods(client)[name])
        seen.setdefault(asked(recorder), []).append(name)
    assert set(seen) == every_operation()
    assert {what: names for what, names in seen.items() if len(names) > 1 and not names[1].startswith(names[0])} == {}


@pytest.mark.anyio
async def test_the_asynchronous_client_makes_the_same_calls() -> None:
    names = list(methods(Deedbox("http://deedbox", "key")))
    assert list(methods(AsyncDeedbox("http://deedbox", "key"))) == names
    for name in names:
        here, there = Recorder(), Recorder()
        with Deedbox("http://deedbox", "key", transport=here) as client:
            one = called(methods(client)[name])
        async with AsyncDeedbox("http://deedbox", "key", transport=there) as client_too:
            assert await called_async(methods(client_too)[name]) == one, name
        assert asked(here) == asked(there)


def test_a_call_carries_the_key_only_where_it_is_needed_and_a_post_its_idempotency_key() -> None:
    recorder = Recorder()
    with Deedbox("http://deedbox", "deed_live_x", transport=recorder) as client:
        for call in methods(client).values():
            called(call)
    for request in recorder.asked:
        operation = description()["paths"][path_of(request)][request.method.lower()]
        keyed = any(each["name"] == "Idempotency-Key" for each in operation.get("parameters", []))
        assert ("Authorization" in request.headers) is (operation["security"] == [{"key": []}]), request
        assert ("Idempotency-Key" in request.headers) is keyed, request


def test_the_committed_client_is_what_the_script_writes() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/client.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_answer_that_is_not_deedbox_s_is_said_in_a_sentence() -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(200, text="<html>"))
    with Deedbox("http://deedbox", "key", transport=page) as one, pytest.raises(DeedboxError, match="not as Deedbox"):
        one.keys.me()
    moved = httpx.MockTransport(lambda _: httpx.Response(301, headers={"Location": "https://deedbox/"}))
    with Deedbox("http://deedbox", "key", transport=moved) as other, pytest.raises(ApiError, match="301"):
        other.hooks.delete("hook_x")
