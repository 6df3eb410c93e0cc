"""The reference of the API: whole, light, and with samples that the client takes."""

import gzip
import inspect
import re
from html import unescape
from typing import Any

import msgspec
import pytest

import deedbox.client as client_package
from deedbox.client import Deedbox
from deedbox.web.http.description.samples import ExampleSource
from tests.api.conftest import Api

pytestmark = [pytest.mark.anyio, pytest.mark.one_database]
MOST = 150_000


async def read(api: Api, path: str) -> str:
    answer = await api.get(path, key=None)
    assert answer.status_code == 200, path
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(gzip.compress(answer.content)) < MOST
    assert "connect-src 'self'" in answer.headers["Content-Security-Policy"]
    return answer.text


async def test_each_operation_of_the_description_is_on_it(api: Api) -> None:
    described = (await api.get("/openapi.json", key=None)).json()
    contents = await read(api, "/docs/api")
    subjects = sorted(set(re.findall(r'href="(/docs/api/[\w-]+)"', contents)))
    text = {subject: await read(api, subject) for subject in subjects}
    for path, operations in described["paths"].items():
        for method, told in operations.items():
            [subject] = {f"/docs/api/{tag.replace(' ', '-')}" for tag in told["tags"]}
            [shown] = re.findall(rf'<article [^>]*id="{told["operationId"]}">.*?</article>', text[subject], re.DOTALL)
            assert f'href="{subject}#{told["operationId"]}"' in contents
            said = unescape(shown)
            assert f"<code>{path}</code>" in said
            assert f">{method.upper()}<" in said
            for parameter in told.get("parameters", []):
                assert f"<code>{parameter['name']}</code>" in said
            for status in told["responses"]:
                assert f"<code>{status}</code>" in said
            assert "curl" in said
            assert "with Deedbox() as deedbox" in said
    for subject, page in text.items():
        linked = set(re.findall(r'href="#([\w-]+)"', page))
        assert linked <= set(re.findall(r'id="([\w-]+)"', page)), f"{subject} leads nowhere"
    assert (await api.get("/docs/api/unknown", key=None)).status_code == 404


async def test_every_sample_in_python_is_a_call_that_the_client_has(api: Api) -> None:
    described = (await api.get("/openapi.json", key=None)).json()
    samples, recorded = ExampleSource(described), Recorded()
    names: dict[str, Any] = {name: getattr(client_package, name) for name in client_package.__all__}
    for operations in described["paths"].values():
        for told in operations.values():
            program = samples.python(told)
            body = program.partition("with Deedbox() as deedbox:\n")[2]
            assert body, program
            call = re.sub(r"^ +(answer = |for one in )", "", body).partition(":\n        print")[0]
            called, bound = eval(call.strip(), {**names, "deedbox": recorded, "Path": FakePath})
            example = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
            if example is not None:
                sent = msgspec.to_builtins(bound["body"])
                assert set(sent) <= set(example), called
                assert {name: sent[name] for name in sent if not has_files(example[name])} == {
                    name: example[name] for name in sent if not has_files(example[name])
                }, called


def has_files(value: Any) -> bool:
    return "content_base64" in str(value)


class FakePath:
    """Stands for a file that is not there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read_bytes(self) -> bytes:
        return b""


class Recorded:
    """Has the calls of the client; each tells what it was given by which name."""

    def __getattr__(self, subject: str) -> Any:
        calls = inspect.signature(vars(Deedbox)[subject].func).return_annotation
        kind = calls if isinstance(calls, type) else inspect.get_annotations(vars(Deedbox)[subject].func)["return"]
        return _Calls(kind)


class _Calls:
    def __init__(self, kind: type) -> None:
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._kind, name)

        def call(*given: Any, **named: Any) -> tuple[str, dict[str, Any]]:
            return name, inspect.signature(function).bind(None, *given, **named).arguments

        return call
