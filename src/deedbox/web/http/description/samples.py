"""Samples of an operation: what calls it from a shell, and from Python with the client."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from deedbox.web.http.description.calls import method_name, module_name, struct_names

_FILE = "content_base64"
_WIDTH = 88


class ExampleSource:
    def __init__(self, described: Mapping[str, Any]) -> None:
        self._schemas: dict[str, Any] = described["components"]["schemas"]
        self._names = struct_names(self._schemas)
        self._told_apart = dict(_discriminated(list(self._schemas.values())))
        """The field of a struct that only says which one it is: Python says that by its name."""

    def curl(self, path: str, method: str, told: Mapping[str, Any]) -> str:
        """The command; `DEEDBOX_URL` and `DEEDBOX_API_KEY` are those that the client knows too."""
        verb = "" if method == "get" else f" -X {method.upper()}"
        lines = [f'curl{verb} "$DEEDBOX_URL{_filled(path, told)}"']
        if told["security"] == [{"key": []}]:
            lines.append('-H "Authorization: Bearer $DEEDBOX_API_KEY"')
        elif told["security"]:
            lines.append("-b cookies.txt")
        content = told.get("requestBody", {}).get("content", {})
        body, files = _without_files(content.get("application/json", {}).get("example"))
        if "multipart/form-data" in content and (files or "application/json" not in content):
            parts = content["multipart/form-data"]["schema"]["properties"]
            told_part = [name for name in parts if name != "file"]
            lines += [f"-F {shlex.quote(f'{name}={_compact(body)}')}" for name in told_part if body is not None]
            lines += [f"-F file=@{name}" for name in files or ["lease.pdf"]]
        elif "application/json" in content:
            lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(_compact(body))}"]
        elif content:
            lines += [f"-H 'Content-Type: {next(iter(content))}'", "--data-binary @request.tsq"]
        return " \\\n  ".join(lines)

    def python(self, told: Mapping[str, Any]) -> str:
        """The program; the client finds server and key in the environment."""
        [tag] = told["tags"]
        given, used = [repr(one["example"]) for one in _named(told, "path")], set[str]()
        content = told.get("requestBody", {}).get("content", {})
        body, files = _without_files(content.get("application/json", {}).get("example"))
        if "application/json" in content:
            given.append(self._value(body, content["application/json"]["schema"], used, 1))
        if "multipart/form-data" in content and (files or "application/json" not in content):
            given.append(repr(files) if files else "'lease.pdf'")
        elif content and "application/json" not in content:
            given.append('Path("request.tsq").read_bytes()')
        call = f"deedbox.{module_name(tag)}.{method_name(tag, told['operationId'])}({', '.join(given)})"
        imports = f"from deedbox.client import {', '.join(['Deedbox', *sorted(used)])}\n"
        first = "from pathlib import Path\n\n" if "Path(" in call else ""
        if _is_list(told):
            return f"{first}{imports}\nwith Deedbox() as deedbox:\n    for one in {call}:\n        print(one)\n"
        return f"{first}{imports}\nwith Deedbox() as deedbox:\n    answer = {call}\n"

    def _value(self, value: Any, schema: Mapping[str, Any], used: set[str], depth: int) -> str:
        """The value as Python says it: a struct where the schema has a name."""
        name, inner = self._named_schema(value, schema)
        if isinstance(value, dict):
            properties = inner.get("properties", {})
            tag = self._told_apart.get(name or "")
            said = {
                key: self._value(one, properties.get(key, _values_of(inner)), used, depth + 1)
                for key, one in value.items()
            }
            if name is None:
                return _broken("{", [f"{key!r}: {one}" for key, one in said.items()], "}", depth)
            used.add(self._names[name])
            return _broken(
                f"{self._names[name]}(", [f"{key}={one}" for key, one in said.items() if key != tag], ")", depth
            )
        if isinstance(value, list):
            return _broken(
                "[", [self._value(one, inner.get("items", {}), used, depth + 1) for one in value], "]", depth
            )
        return repr(value)

    def _named_schema(self, value: Any, schema: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
        """The schema that the value is of, with its name if it has one."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return name, self._schemas[name]
        choices = schema.get("anyOf") or schema.get("oneOf") or []
        found = [self._named_schema(value, choice) for choice in choices]
        if isinstance(value, dict):
            fitting = [one for one in found if one[0] and set(value) <= set(one[1].get("properties", {}))]
            return fitting[0] if fitting else next(iter(found), (None, schema))
        if isinstance(value, list):
            return next((one for one in found if one[1].get("type") == "array"), (None, schema))
        return None, schema


def _discriminated(thing: Any) -> Iterator[tuple[str, str]]:
    if isinstance(thing, dict):
        if found := thing.get("discriminator"):
            yield from ((each.rpartition("/")[2], found["propertyName"]) for each in found["mapping"].values())
        thing = list(thing.values())
    for each in thing if isinstance(thing, list) else ():
        yield from _discriminated(each)


def _values_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    values = schema.get("additionalProperties")
    return values if isinstance(values, Mapping) else {}


def _broken(opened: str, parts: list[str], closed: str, depth: int) -> str:
    """On one line if it is short, else a line for each part."""
    line = f"{opened}{', '.join(parts)}{closed}"
    if len(line) + 4 * depth <= _WIDTH or not parts:
        return line
    inner, outer = "    " * (depth + 1), "    " * depth
    return f"{opened}\n" + "".join(f"{inner}{part},\n" for part in parts) + f"{outer}{closed}"


def _without_files(example: Any) -> tuple[Any, list[str]]:
    """The body without the bytes of its files, and the names of those files: they go beside it in a form."""
    names: list[str] = []

    def stripped(value: Any) -> Any:
        if isinstance(value, list):
            return [stripped(one) for one in value]
        if not isinstance(value, dict):
            return value
        kept = {}
        for key, one in value.items():
            held = one if isinstance(one, list) else [one]
            if held and all(isinstance(each, dict) and _FILE in each for each in held):
                names.extend(each["name"] for each in held)
            else:
                kept[key] = stripped(one)
        return kept

    return stripped(example), names


def _filled(path: str, told: Mapping[str, Any]) -> str:
    values = {one["name"]: quote(str(one["example"]), safe="") for one in _named(told, "path")}
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], path)


def _named(told: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    return [one for one in told.get("parameters", []) if one["in"] == where]


def _is_list(told: Mapping[str, Any]) -> bool:
    return any(one["name"] == "cursor" for one in told.get("parameters", []))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
