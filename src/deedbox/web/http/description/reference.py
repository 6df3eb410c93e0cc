"""The OpenAPI document as pages tell it: subjects with their operations, and the schemas of these."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from deedbox.web.http.description.samples import ExampleSource

_SCHEMAS = "#/components/schemas/"
_BOUNDS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "from {}",
    "maximum": "to {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}
"""What is told of the values that a schema takes."""


_USUAL = {"minLength": 1, "minItems": 1}
"""Bounds that say nothing."""
_PHRASES = {
    "Request fulfilled, document follows": "Done",
    "Document created, URL follows": "Made",
    "Request fulfilled, nothing follows": "Done; the answer has no body",
    "Request accepted, processing continues off-line": "Begun",
}
"""What the framework says of an answer that nobody has described, said better."""


class TextRun(NamedTuple):
    """A piece of a text: plain, code, or the name of a schema."""

    text: str
    kind: str = ""


class ReferenceRow(NamedTuple):
    """A parameter, or a field of a schema."""

    name: str
    kind: list[TextRun]
    required: bool
    text: list[TextRun]
    bounds: str
    where: str = ""


class Body(NamedTuple):
    media_type: str
    kind: list[TextRun]
    rows: list[ReferenceRow]
    """Of a form, whose parts have no schema of their own."""
    example: str


class ResponseRow(NamedTuple):
    status: str
    text: list[TextRun]
    kind: list[TextRun]
    example: str


class Schema(NamedTuple):
    name: str
    text: list[TextRun]
    rows: list[ReferenceRow]


class Operation(NamedTuple):
    id: str
    method: str
    path: str
    summary: str
    text: list[TextRun]
    parameters: list[ReferenceRow]
    bodies: list[Body]
    answers: list[ResponseRow]
    errors: list[ResponseRow]
    curl: str
    python: str
    tried: str
    """What the form that tries it is made from, as JSON; empty where a page cannot."""


class TagOperations:
    """The operations of a tag."""

    def __init__(self, reference: "ReferencePage", name: str, text: str) -> None:
        self._reference, self.name, self.text = reference, name, text
        self.slug = re.sub(r"\W+", "-", name)
        self.title = name[:1].upper() + name[1:]

    @cached_property
    def operations(self) -> list[Operation]:
        return [self._reference.operation(*each) for each in self._reference.tagged(self.name)]

    @cached_property
    def schemas(self) -> list[Schema]:
        """Every schema that these operations lead to, by name."""
        return self._reference.reached([operation for _, _, operation in self._reference.tagged(self.name)])


class ReferencePage:
    def __init__(self, described: Mapping[str, Any]) -> None:
        self._paths = described["paths"]
        self._components = described["components"]
        self._schemas: dict[str, Any] = self._components["schemas"]
        self._samples = ExampleSource(described)
        self.version: str = described["info"]["version"]
        self.subjects = [TagOperations(self, tag["name"], tag["description"]) for tag in described["tags"]]
        self.subjects = [one for one in self.subjects if any(self.tagged(one.name))]

    @property
    def errors(self) -> list[tuple[str, str]]:
        """Every status that an operation may refuse with, and what it means."""
        named = self._components["responses"].items()
        return [(name.removeprefix("Signing"), each["description"]) for name, each in named if name[:7] == "Signing"]

    def tagged(self, tag: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, methods in self._paths.items():
            for method, operation in methods.items():
                if operation["tags"] == [tag]:
                    yield path, method, operation

    def operation(self, path: str, method: str, told: dict[str, Any]) -> Operation:
        answers = [self._answer(status, each) for status, each in sorted(told["responses"].items())]
        return Operation(
            id=told["operationId"],
            method=method.upper(),
            path=path,
            summary=told["summary"].replace("`", ""),
            text=words(told.get("description", "")),
            parameters=[self._parameter(each) for each in told.get("parameters", [])],
            bodies=[self._body(*each) for each in told.get("requestBody", {}).get("content", {}).items()],
            answers=[one for one in answers if int(one.status) < 400],
            errors=[one for one in answers if int(one.status) >= 400],
            curl=self._samples.curl(path, method, told),
            python=self._samples.python(told),
            tried=_tried(path, method, told),
        )

    def reached(self, things: Sequence[Any]) -> list[Schema]:
        waiting, seen = [name for thing in things for name in _references(thing)], set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += _references(self._schemas[name])
        return [self._schema(name) for name in sorted(seen)]

    def _schema(self, name: str) -> Schema:
        schema = self._schemas[name]
        return Schema(name, words(schema.get("description", "")), self._rows(schema))

    def _rows(self, schema: Mapping[str, Any]) -> list[ReferenceRow]:
        needed = schema.get("required", [])
        return [self._row(name, each, name in needed) for name, each in schema.get("properties", {}).items()]

    def _row(
        self, name: str, schema: Mapping[str, Any], required: bool, text: str = "", where: str = ""
    ) -> ReferenceRow:
        told = text or schema.get("description", "")
        return ReferenceRow(name, kind_of(schema), required, words(told), _bounds(schema), where)

    def _parameter(self, told: Mapping[str, Any]) -> ReferenceRow:
        needed, text = told.get("required", False), told.get("description", "")
        return self._row(told["name"], told["schema"], needed, text, told["in"])

    def _body(self, media_type: str, content: Mapping[str, Any]) -> Body:
        schema, example = content["schema"], content.get("example")
        rows = [] if "$ref" in schema else self._rows(schema)
        shown = "" if rows or example is None or isinstance(example, str) else _written(example)
        return Body(media_type, kind_of(schema), rows, shown)

    def _answer(self, status: str, told: Mapping[str, Any]) -> ResponseRow:
        if "$ref" in told:
            told = self._components["responses"][told["$ref"].rpartition("/")[2]]
        text = words(_PHRASES.get(told["description"], told["description"]))
        for media_type, content in told.get("content", {}).items():
            example = content.get("example")
            if usual := content.get("examples", {}).get("usual"):
                example = self._components["examples"][usual["$ref"].rpartition("/")[2]]["value"]
            shown = _written(example) if media_type == "application/json" and int(status) < 400 else ""
            kind = kind_of(content["schema"]) if "$ref" in content["schema"] else [TextRun(media_type, "code")]
            return ResponseRow(status, text, kind, shown)
        return ResponseRow(status, text, [], "")


def words(text: str) -> list[TextRun]:
    """The text in pieces: what stands in backticks is code."""
    parts = text.split("`")
    return [TextRun(part, "code" if number % 2 else "") for number, part in enumerate(parts) if part]


def kind_of(schema: Mapping[str, Any]) -> list[TextRun]:
    """What a value is, in words; the names of schemas lead to them."""
    if "$ref" in schema:
        return [TextRun(schema["$ref"].rpartition("/")[2], "schema")]
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return _between([kind_of(choice) for choice in choices], " or ")
    if "enum" in schema:
        return _between([[TextRun(str(one), "code")] for one in schema["enum"]], " or ")
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items") or {}
        return [TextRun("list of "), *kind_of(items)] if items else [TextRun("list")]
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return [TextRun("object of "), *kind_of(schema["additionalProperties"])]
    if isinstance(kind, list):
        return [TextRun(" or ".join(kind))]
    named = {"date-time": "time", "binary": "file", "uri": "address"}.get(schema.get("format", ""))
    return [TextRun(named or kind or "any value")]


def _between(kinds: Sequence[list[TextRun]], joint: str) -> list[TextRun]:
    return [word for number, kind in enumerate(kinds) for word in ([TextRun(joint)] if number else []) + kind]


def _bounds(schema: Mapping[str, Any]) -> str:
    inner = [each for each in schema.get("anyOf", []) if each.get("type") != "null"]
    if len(inner) == 1:
        schema = {**inner[0], **schema}
    known = [name for name in _BOUNDS if name in schema and schema[name] != _USUAL.get(name)]
    told = [_BOUNDS[name].format(f"{schema[name]:,}") for name in known]
    default = schema.get("default")
    if isinstance(default, str | int | float) and default != "":
        told.append(f"default {msgspec.json.encode(default).decode()}")
    return ", ".join(told)


def _tried(path: str, method: str, told: Mapping[str, Any]) -> str:
    """Where a key or nothing opens: a page cannot have a signer's cookie in its hand."""
    if told["security"] not in ([], [{"key": []}]):
        return ""
    content = told.get("requestBody", {}).get("content", {})
    example = content.get("application/json", {}).get("example")
    files = content.get("multipart/form-data", {}).get("schema", {}).get("properties", {})
    parameters = [
        {
            "name": one["name"],
            "in": one["in"],
            "required": one.get("required", False),
            "example": one.get("example", ""),
        }
        for one in told.get("parameters", [])
    ]
    form = {
        "method": method.upper(),
        "path": path,
        "keyed": bool(told["security"]),
        "parameters": parameters,
        "body": _written(example) if "application/json" in content else None,
        "file": "application/json" not in content and "file" in files,
    }
    return msgspec.json.encode(form).decode()


def _written(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(_shortened(value)), indent=2).decode()


def _shortened(value: Any) -> Any:
    """The value without most of the bytes of files, which nobody reads."""
    if isinstance(value, dict):
        return {name: _shortened(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_shortened(each) for each in value[:3]]
    return f"{value[:60]}…" if isinstance(value, str) and len(value) > 400 else value


def _references(thing: Any) -> list[str]:
    if isinstance(thing, list):
        return [name for each in thing for name in _references(each)]
    if not isinstance(thing, dict):
        return []
    if str(thing.get("$ref", "")).startswith(_SCHEMAS):
        return [thing["$ref"].removeprefix(_SCHEMAS)]
    return [name for key, value in thing.items() if key not in ("example", "examples") for name in _references(value)]
