"""The client's structs, from the schemas of the OpenAPI document."""

import keyword
import re
import textwrap
from collections.abc import Iterator
from typing import Any, TypeAlias

from deedbox.web.http.description.calls import struct_names

Schema: TypeAlias = dict[str, Any]

PARTS = ("records", "requests")
"""Structs of answers, some of which requests take too, and those of requests alone."""
_SIMPLE = {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_OUTER_BAR = re.compile(r" \| (?![^\[]*\])")
"""Between the kinds of a union, and not of one within a list."""
_IMPORTS = """from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
"""


class Records:
    """The schemas that operations use, each as a struct in the module of the first tag that uses it."""

    def __init__(self, described: dict[str, Any], taken: set[str]) -> None:
        self.schemas: dict[str, Schema] = described["components"]["schemas"]
        self._paths = described["paths"]
        self.asked = set(self._reached(_asked(each) for each in self._all()))
        self.given = set(self._reached(_given(each) for each in self._all()))
        self._names = struct_names(self.schemas, taken)
        self._modules = {
            name: (self._part(name), re.sub(r"\W", "_", tag)) for name, tag in self._placed(described["tags"])
        }
        self._tagged = {key: value for schema in self.schemas.values() for key, value in _discriminated(schema)}

    def operations(self, tag: str) -> list[tuple[str, str, dict[str, Any]]]:
        """The path, method and description of each operation with the tag."""
        return [
            (path, method, operation)
            for path, methods in self._paths.items()
            for method, operation in methods.items()
            if operation["tags"] == [tag]
        ]

    def module(self, part: str, tag: dict[str, str]) -> str:
        """The structs of a part and tag; nothing if there are none."""
        here = (part, re.sub(r"\W", "_", tag["name"]))
        mine = [name for name, module in self._modules.items() if module == here]
        if not mine:
            return ""
        written = self._modules.keys() - set(mine)
        bodies = [self._struct(name, written) for name in self._in_order(mine)]
        title = f'"""{part.capitalize()} of `{tag["name"]}`."""'
        return "\n".join([title, _IMPORTS, self.imports(without=".".join(here)), *bodies])

    def imports(self, without: str = "-") -> str:
        """Imports of every struct of other modules; ruff leaves out those that are not used."""
        return "\n".join(
            f"from {module} import {', '.join(names)}"
            for module, names in self.names_by_module().items()
            if not module.endswith(without)
        )

    def required(self, schema: Schema) -> list[str]:
        """The fields that a value of the schema always has."""
        required: list[str] = self.schemas[_referred(schema)]["required"] if "$ref" in schema else []
        return required

    def _part(self, name: str) -> str:
        return "records" if name in self.given else "requests"

    def names_by_module(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, (part, tag) in self._modules.items():
            found.setdefault(f"deedbox.client.{part}.{tag}", []).append(self._names[name])
        return {module: sorted(names) for module, names in found.items()}

    def annotation(self, schema: Schema, *, asked: bool) -> str:
        """The type of a value that a caller gives (`asked`) or gets."""
        if "$ref" in schema:
            return self._names[_referred(schema)]
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            return self._union(choices, asked, tagged="discriminator" in schema)
        if "enum" in schema:
            # What is given may have values that this version does not know.
            return f"Literal[{', '.join(map(repr, schema['enum']))}]" if asked else type(schema["enum"][0]).__name__
        return self._plain(schema, asked)

    def _plain(self, schema: Schema, asked: bool) -> str:
        kind = schema.get("type")
        if kind == "string":
            return "datetime | str" if asked and schema.get("format") == "date-time" else "str"
        if kind == "array":
            if "prefixItems" in schema:
                return f"tuple[{', '.join(self.annotation(item, asked=asked) for item in schema['prefixItems'])}]"
            return f"list[{self.annotation(schema.get('items', {}), asked=asked)}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {self.annotation(values, asked=asked) if isinstance(values, dict) else 'Any'}]"
        return _SIMPLE.get(str(kind), "Any")

    def _union(self, choices: list[Schema], asked: bool, tagged: bool) -> str:
        kinds = list(dict.fromkeys(self.annotation(choice, asked=asked) for choice in choices))
        structs = [choice for choice in choices if "$ref" in choice]
        if "Any" in kinds or (len(structs) > 1 and not asked and not tagged):
            return "Any"  # what comes could not be told apart
        return _joined(kinds)

    def _struct(self, name: str, written: set[str]) -> str:
        schema, asked = self.schemas[name], name not in self.given
        options = ["frozen=True", "kw_only=True", *(["omit_defaults=True"] if name in self.asked else [])]
        tag_field, tag = self._tagged.get(name, (None, None))
        if tag_field:
            options += [f"tag_field={tag_field!r}", f"tag={tag!r}"]
        keywords = {f"{field}_": field for field in schema.get("properties", {}) if keyword.iskeyword(field)}
        if keywords:
            options.append(f"rename={keywords!r}")
        fields = [
            self._field(field, inner, field in schema["required"], asked, written)
            for field, inner in schema.get("properties", {}).items()
            if field != tag_field and not (asked and _is_unchangeable(field, inner, schema))
        ]
        written.add(name)
        about = [text(schema["description"]) + "\n"] if "description" in schema else []
        lines = [*about, *fields] or ["    pass"]
        return "\n".join([f"class {self._names[name]}(Struct, {', '.join(options)}):", *lines, "\n"])

    def _field(self, name: str, schema: Schema, required: bool, asked: bool, written: set[str]) -> str:
        if name in ("str", "int", "float", "bool", "list", "dict", "tuple"):
            raise ValueError(f"A field cannot be called {name}: its struct could not be written")
        kind, default = self.annotation(schema, asked=asked), ""
        if "default" in schema:
            default = f" = {schema['default']!r}"
        elif not required:
            absent, default = ("UnsetType", " = UNSET") if asked else ("None", " = None")
            kind = _joined([kind, absent])
        kind = kind if set(_references(schema)) <= written else f'"{kind}"'
        called = f"{name}_" if keyword.iskeyword(name) else name
        return "\n".join([f"    {called}: {kind}{default}", *filter(None, [text(schema.get("description", ""))])])

    def _all(self) -> Iterator[dict[str, Any]]:
        return (operation for methods in self._paths.values() for operation in methods.values())

    def _reached(self, schemas: Iterator[Any]) -> Iterator[str]:
        """The names of the schemas that these lead to."""
        waiting, seen = [name for schema in schemas for name in _references(schema)], set[str]()
        while waiting:
            name = waiting.pop(0)
            if name not in seen:
                seen.add(name)
                yield name
                waiting += _references(self.schemas[name])

    def _placed(self, tags: list[dict[str, str]]) -> Iterator[tuple[str, str]]:
        placed = set[str]()
        for tag in (tag["name"] for tag in tags):
            mine = [operation for _, _, operation in self.operations(tag)]
            for name in self._reached(part(each) for each in mine for part in (_asked, _given)):
                if name not in placed:
                    placed.add(name)
                    yield name, tag

    def _in_order(self, names: list[str]) -> list[str]:
        """Each after those that it refers to."""
        ordered: list[str] = []

        def add(name: str, above: tuple[str, ...]) -> None:
            if name in ordered or name in above or name not in names:
                return
            for inner in _references(self.schemas[name]):
                add(inner, (*above, name))
            ordered.append(name)

        for name in names:
            add(name, ())
        return ordered


def _joined(kinds: list[str]) -> str:
    """A union without repetition, None last."""
    each = dict.fromkeys(kind for joined in kinds for kind in _OUTER_BAR.split(joined))
    return " | ".join(sorted(each, key=lambda kind: kind == "None"))


def _asked(operation: dict[str, Any]) -> Any:
    return operation.get("requestBody", {}).get("content", {})


def _given(operation: dict[str, Any]) -> Any:
    return [response.get("content", {}) for status, response in operation["responses"].items() if int(status) < 400]


def _references(thing: Any) -> list[str]:
    """The names of the schemas that a part of the document refers to."""
    if isinstance(thing, list):
        return [name for each in thing for name in _references(each)]
    if not isinstance(thing, dict):
        return []
    if str(thing.get("$ref", "")).startswith("#/components/schemas/"):
        return [_referred(thing)]
    return [name for key, value in thing.items() if key not in ("example", "examples") for name in _references(value)]


def _referred(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _discriminated(thing: Any) -> Iterator[tuple[str, tuple[str, str]]]:
    """The schemas that a field's value tells apart, with the field and the value."""
    if isinstance(thing, dict):
        if found := thing.get("discriminator"):
            for value, reference in found["mapping"].items():
                yield reference.rpartition("/")[2], (found["propertyName"], value)
        for value in thing.values():
            yield from _discriminated(value)
    elif isinstance(thing, list):
        for value in thing:
            yield from _discriminated(value)


def _is_unchangeable(field: str, schema: Schema, owner: Schema) -> bool:
    """A field that a change may only repeat: nobody needs to."""
    return field not in owner["required"] and not schema.keys() - {"description", "default"}


def text(words: str) -> str:
    """A docstring, broken into lines."""
    said = " ".join(words.split()).replace("\\", "\\\\").replace('"""', "'''")
    said = said if not said.endswith('"') else said + " "
    lines = textwrap.wrap(f'"""{said}"""', 110, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"    {line}" for line in lines) if said else ""
