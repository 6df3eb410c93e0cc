"""The client's calls, one method for each operation of the OpenAPI document, synchronous and asynchronous."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

from client_records import Records, Schema, text

from deedbox.web.http.description.calls import method_name, module_name

_IMPORTS = """from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict, Unpack

from deedbox.client.call import Call, FileSource, Form, once, part
from deedbox.client.connection import AsyncConnection, Connection
from deedbox.client.download import AsyncDownload, Download
from deedbox.client.events import ServerEvent
"""
_WITHOUT = 'Without arguments, DEEDBOX_URL and DEEDBOX_API_KEY of the environment name the server and the key."""'


class Answer(NamedTuple):
    """How a method gets its answer from the connection."""

    method: str
    """The connection's method,"""
    arguments: str
    """and what it takes beside the call."""
    kind: str
    """What the caller gets at last."""


class Operation:
    """One operation, as a method says it."""

    def __init__(self, path: str, method: str, described: dict[str, Any], records: Records) -> None:
        self.path, self.method, self.described, self.records = path, method.upper(), described, records
        self.id: str = described["operationId"]
        self.parameters = [each for each in described.get("parameters", []) if each["in"] == "query"]
        self.is_once = any(each["name"] == "Idempotency-Key" for each in described.get("parameters", []))
        self.content: dict[str, Any] = described.get("requestBody", {}).get("content", {})

    def name(self, tag: str) -> str:
        return method_name(tag, self.id)

    @property
    def query(self) -> str:
        """The name of the TypedDict that holds the query parameters."""
        return "".join(word.capitalize() for word in self.id.split("_")) + "Query"

    def written_query(self) -> str:
        lines = [f"class {self.query}(TypedDict, total=False):", f'    """What `{self.id}` can be asked for."""']
        for each in self._chosen():
            kind = self.records.annotation(each["schema"], asked=True)
            if each["schema"].get("type") == "array":
                kind = f"{kind.removeprefix('list[').removesuffix(']')} | {kind}"
            lines += [f"    {each['name']}: {kind}", text(each["description"])]
        return "\n".join(lines) + "\n\n"

    def _chosen(self) -> list[dict[str, Any]]:
        # The iterator of a list brings its own cursor.
        return [each for each in self.parameters if each["name"] != "cursor" or not self._items()]

    def has_query(self) -> bool:
        return bool(self._chosen())

    def signature(self) -> str:
        names = [f"{name}: str" for name in re.findall(r"\{(\w+)\}", self.path)]
        taken = ["self", *names, *self._body_parameters()]
        if self.is_once:
            taken += ["*", "idempotency_key: str | None = None"]
        if self.has_query():
            taken.append(f"**query: Unpack[{self.query}]")
        return ", ".join(taken)

    def _body_parameters(self) -> Iterator[str]:
        optional = "" if self.described.get("requestBody", {}).get("required") else " | None = None"
        if schema := self.content.get("application/json", {}).get("schema"):
            yield f"body: {self.records.annotation(schema, asked=True)}{optional}"
        for name, schema in self._parts().items():
            yield _part_parameter(name, schema, bare="application/json" not in self.content)
        if self.content and not self.content.keys() & {"application/json", "multipart/form-data"}:
            yield "content: bytes"

    def _parts(self) -> dict[str, Schema]:
        """The parts of a form, those with files first; the one that is the JSON body is left out."""
        form = self.content.get("multipart/form-data", {}).get("schema", {})
        named = form.get("properties", {}).items()
        parts = {name: {**inner, "needed": name in form["required"]} for name, inner in named}
        files = {name: inner for name, inner in parts.items() if _is_file(inner)}
        return files if "application/json" in self.content else files | parts

    def call(self, accept: str = "") -> str:
        path = re.sub(r"\{(\w+)\}", r"{part(\1)}", self.path)
        given = [repr(self.method), f'f"{path}"' if "{" in path else repr(path)]
        given += ["query=query"] if self.has_query() else []
        given += ["headers=once(idempotency_key)"] if self.is_once else []
        given += [f'headers={{"Accept": {accept!r}}}'] if accept else []
        given += [f"body={body}"] if (body := self._body()) else []
        given += ["key=False"] if self.described["security"] != [{"key": []}] else []
        return f"Call({', '.join(given)})"

    def _body(self) -> str:
        if "multipart/form-data" in self.content:
            return self._form()
        if "application/json" in self.content:
            return "body"
        return "content" if self.content else ""

    def _form(self) -> str:
        parts = self._parts()
        files = [_form_files(name, inner) for name, inner in parts.items() if _is_file(inner)]
        texts = [f"{name!r}: {name}" for name, inner in parts.items() if not _is_file(inner)]
        if "application/json" not in self.content:
            return f"Form([{', '.join(files)}]{', {' + ', '.join(texts) + '}' if texts else ''})"
        named = self.content["multipart/form-data"]["schema"]["properties"]
        [json_part] = [name for name, inner in named.items() if not _is_file(inner)]
        given = " or ".join(_plural(name, inner) for name, inner in parts.items())
        return f"Form([{', '.join(files)}], {{{json_part!r}: body}}) if {given} else body"

    def _good(self) -> dict[int, dict[str, Any]]:
        return {
            int(status): response.get("content", {})
            for status, response in self.described["responses"].items()
            if int(status) < 300
        }

    def _items(self) -> Answer | None:
        """How to get the items of a list; None if the answer is no page of one."""
        content = self._good().get(200, {}).get("application/json", {}).get("schema", {})
        page = self.records.schemas.get(content.get("$ref", "").rpartition("/")[2], {}).get("properties", {})
        if "next_cursor" not in page or not any(each["name"] == "cursor" for each in self.parameters):
            return None
        [items] = [name for name, inner in page.items() if inner.get("type") == "array"]
        kind = self.records.annotation(page[items]["items"], asked=False)
        return Answer("pages", f"{self.records.annotation(content, asked=False)}, lambda page: page.{items}", kind)

    def answer(self) -> Answer:
        good = self._good()
        if items := self._items():
            return items
        kinds = {status: content for status, content in good.items() if content}
        if not kinds:
            return Answer("done", "", "None")
        first = next(iter(kinds.values()))
        if 206 in good or any("json" not in kind and kind not in ("text/plain", "text/event-stream") for kind in first):
            return Answer("download", "", "Download")
        if list(first) == ["text/event-stream"]:
            return Answer("events", "", "ServerEvent")
        return self._text_or_struct(kinds)

    def _text_or_struct(self, kinds: dict[int, dict[str, Any]]) -> Answer:
        if any("text/plain" in content for content in kinds.values()):
            binary = any(content["text/plain"]["schema"].get("format") == "binary" for content in kinds.values())
            return Answer("download", "", "Download") if binary else Answer("text", "", "str")
        schemas = [content["application/json"]["schema"] for content in kinds.values()]
        structs = [choice for schema in schemas for choice in schema.get("anyOf", [schema])]
        # The one with more fields first: what has them all is no other.
        structs.sort(key=lambda schema: -len(self.records.required(schema)))
        names = list(dict.fromkeys(self.records.annotation(schema, asked=False) for schema in structs))
        if len(names) == 1:
            return Answer("answer", names[0], names[0])
        first, second = names
        return Answer("either", f"{first}, {second}", f"{first} | {second}")

    def other_kinds(self) -> list[str]:
        """Media types beside JSON in which a list is given too."""
        return [kind for kind in self._good().get(200, {}) if self._items() and kind != "application/json"]


def _is_file(schema: Schema) -> bool:
    return bool(schema.get("format") == "binary" or schema.get("items", {}).get("format") == "binary")


def _plural(name: str, schema: Schema) -> str:
    return f"{name}s" if schema.get("type") == "array" else name


def _part_parameter(name: str, schema: Schema, *, bare: bool) -> str:
    """A part of a form as a parameter; beside a JSON body, no part is needed."""
    needed = bare and schema["needed"]
    if schema.get("type") == "array":
        return f"{name}s: Sequence[FileSource]{'' if needed else ' = ()'}"
    kind = "FileSource" if _is_file(schema) else "str"
    return f"{name}: {kind}{'' if needed else ' | None = None'}"


def _form_files(name: str, schema: Schema) -> str:
    if schema.get("type") == "array":
        return f"*(({name!r}, each) for each in {name}s)"
    return f"({name!r}, {name})" if schema["needed"] else f"*([({name!r}, {name})] if {name} is not None else [])"


def calls(tag: dict[str, str], records: Records) -> str:
    """The module of a tag: its query types, and its two classes of calls."""
    found = [Operation(*each, records) for each in records.operations(tag["name"])]
    lines = [f'"""{tag["description"]}."""', _IMPORTS, records.imports(), ""]
    lines += [operation.written_query() for operation in found if operation.has_query()]
    for prefix, connection in (("", "Connection"), ("Async", "AsyncConnection")):
        lines += [f"class {prefix}{_title(tag)}Calls:", f'    """{tag["description"]}."""', ""]
        lines += [f"    def __init__(self, connection: {connection}) -> None:"]
        lines += ["        self._connection = connection", ""]
        lines += [_method(operation, tag["name"], asynchronous=bool(prefix)) for operation in found]
        lines.append("")
    return "\n".join(lines)


def _title(tag: dict[str, str]) -> str:
    return "".join(word.capitalize() for word in module_name(tag["name"]).split("_"))


def _method(operation: Operation, tag: str, *, asynchronous: bool) -> str:
    answer = operation.answer()
    method = _one(operation, operation.name(tag), operation.call(), answer, asynchronous)
    for kind in operation.other_kinds():
        short = re.sub(r"\W", "_", kind.partition("/")[2])
        name = f"{operation.name(tag)}_{short}"
        method += _one(operation, name, operation.call(kind), Answer("download", "", "Download"), asynchronous)
    return method


def _one(operation: Operation, name: str, call: str, answer: Answer, asynchronous: bool) -> str:
    kind, waits = answer.kind, asynchronous
    if answer.method in ("pages", "events"):
        kind, waits = f"{'Async' if asynchronous else ''}Iterator[{kind}]", False
    elif answer.method == "download":
        kind, waits = f"{'Async' if asynchronous else ''}Download", False
    arguments = ", ".join(filter(None, [call, answer.arguments]))
    given = f"{'await ' if waits else ''}self._connection.{answer.method}({arguments})"
    about = " ".join(re.sub(r"Needs .*", "", operation.described.get("description", "")).split())
    lines = [f'"""{operation.described["summary"]}.', *(["", *textwrap.wrap(about, 110)] if about else [])]
    words = "\n".join(f"        {line}".rstrip() for line in lines)
    return "\n".join(
        [
            f"    {'async ' if waits else ''}def {name}({operation.signature()}) -> {kind}:",
            words + '"""',
            f"        {'return ' if answer.method != 'done' else ''}{given}",
            "\n",
        ]
    )


def facade(tags: list[dict[str, str]]) -> str:
    """The two classes that hold the calls of every tag."""
    lines = ['"""The client itself."""', "from functools import cached_property"]
    lines.append("from deedbox.client.connection import AsyncConnection, Connection")
    for tag in tags:
        module = f"deedbox.client.calls.{module_name(tag['name'])}"
        lines.append(f"from {module} import Async{_title(tag)}Calls, {_title(tag)}Calls")
    for prefix, waits in (("", "waits for each answer"), ("Async", "is for asyncio")):
        lines += [f"class {prefix}Deedbox({prefix}Connection):"]
        lines += [
            f'    """Every operation of a Deedbox server, by subject; this one {waits}.',
            "",
            f"    {_WITHOUT}",
            "",
        ]
        for tag in tags:
            lines += [
                "    @cached_property",
                f"    def {module_name(tag['name'])}(self) -> {prefix}{_title(tag)}Calls:",
            ]
            lines += [f'        """{tag["description"]}."""', f"        return {prefix}{_title(tag)}Calls(self)", ""]
    return "\n".join(lines)
