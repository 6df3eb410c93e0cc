"""The constraints between the fields of a struct as JSON Schema, and as sentences of its description."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import NODEFAULT, UNSET

from deedbox.kernel.constraints import SENT, Choice, Constraint, Is, State, constraints_of, default_of


def publish(schema: dict[str, Any], kind: type[msgspec.Struct]) -> None:
    """Add the constraints that the struct declares to its schema."""
    constraints = constraints_of(kind)
    if not constraints:
        return
    written = [_schema(constraint, schema["properties"], kind) for constraint in constraints]
    sentences = [constraint.sentence for constraint in constraints]
    schema["description"] = " ".join(filter(None, [schema.get("description"), *sentences]))
    schema.update(written[0] if len(written) == 1 and "properties" not in written[0] else {"allOf": written})


def _schema(constraint: Constraint, properties: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    choices = [_choice(choice, properties, kind) for choice in constraint.choices]
    return choices[0] if len(choices) == 1 else {"oneOf" if constraint.exclusive else "anyOf": choices}


def _choice(choice: Choice, properties: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    said: dict[str, Any] = {}
    required, forbidden = list[str](), list[str]()
    for name, state in choice.items():
        shown, default = fields[name].encode_name, default_of(fields[name])
        if state is not SENT and not isinstance(state, tuple) and default is UNSET:
            forbidden.append(shown)
            continue
        if inner := _value(state, default, properties[shown]):
            said[shown] = inner
        if _must_be_there(state, default):
            required.append(shown)
    schema: dict[str, Any] = {"properties": said} if said else {}
    if required:
        schema["required"] = required
    if forbidden:
        there = [{"required": [name]} for name in forbidden]
        schema["not"] = there[0] if len(there) == 1 else {"anyOf": there}
    return schema


def _must_be_there(state: State, default: Any) -> bool:
    """Whether a value without the field is not in this state."""
    if isinstance(state, tuple):
        return default is NODEFAULT or (default in state.values) is not isinstance(state, Is)
    return state is SENT


def _value(state: State, default: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What the field's value must be in this state, in addition to what its own schema says."""
    if isinstance(state, Is):
        return {"enum": list(state.values)}
    if isinstance(state, tuple):
        return _without(state.values, schema)
    if state is SENT:
        return {} if default in (UNSET, NODEFAULT) else _without((default,), schema)
    if isinstance(default, list):
        return {"maxItems": 0}
    if isinstance(default, dict):
        return {"maxProperties": 0}
    return {"type": "null"} if default is None else {"enum": [default]}


def _without(values: Iterable[Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Every value of the schema but these."""
    refused = list(values)
    if refused == [[]]:
        return {"minItems": 1}
    if refused == [{}]:
        return {"minProperties": 1}
    if refused == [None]:
        kinds = sorted(_types(schema) - {"null"})
        return {"type": kinds if len(kinds) > 1 else kinds[0]}
    if (known := _known(schema)) is not None:
        return {"enum": [value for value in known if value not in refused]}
    return {"not": {"enum": refused}}


def _types(schema: Mapping[str, Any]) -> set[str]:
    """The JSON types of the values that a schema takes."""
    if "$ref" in schema:
        return {"object"}
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return {kind for choice in choices for kind in _types(choice)}
    if "enum" in schema:
        return {"null" if value is None else "string" for value in schema["enum"]}
    kind = schema["type"]
    return {kind} if isinstance(kind, str) else set(kind)


def _known(schema: Mapping[str, Any]) -> list[Any] | None:
    """Every value that a schema takes; None if they cannot be listed."""
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") in ("boolean", "null"):
        return [False, True] if schema["type"] == "boolean" else [None]
    parts = [_known(choice) for choice in schema.get("anyOf", ())]
    if not parts or any(part is None for part in parts):
        return None
    return [value for part in parts for value in part or ()]
