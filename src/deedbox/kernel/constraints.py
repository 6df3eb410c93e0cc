"""Constraints between the fields of a request: declared once, checked here and published in the OpenAPI document.

A struct declares them as `constraints`, a class variable. Each is a list of choices, of which a value must meet one."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import NODEFAULT, inspect

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest


class Presence(Enum):
    """A field counts as sent when its value differs from its default."""

    SENT = "sent"
    LEFT_OUT = "left out"


class Is(NamedTuple):
    """The field has one of these values."""

    values: tuple[Any, ...]


class IsNot(NamedTuple):
    """The field has none of these values."""

    values: tuple[Any, ...]


State: TypeAlias = Presence | Is | IsNot
Choice: TypeAlias = Mapping[str, State]
SENT, LEFT_OUT = Presence.SENT, Presence.LEFT_OUT


class Constraint(NamedTuple):
    sentence: str
    """What a caller must do, for the reference and for the error message."""
    choices: tuple[Choice, ...]
    """States of fields by attribute name. A value must meet at least one choice."""
    exclusive: bool = False
    """Whether no value can meet two choices."""

    def is_met(self, value: Any, kind: type[msgspec.Struct] | None = None) -> bool:
        """Whether the value meets it, with the defaults of `kind`, or of the value's own struct."""
        owner: Any = kind or type(value)
        defaults = _defaults(owner)
        return any(
            all(_holds(state, getattr(value, name), defaults[name]) for name, state in choice.items())
            for choice in self.choices
        )

    def check(self, value: Any, place: str = "") -> None:
        """Raise BadRequest unless the struct meets it."""
        if not self.is_met(value):
            raise BadRequest(f"{place[: limits.MISTAKE_CHARS]}: {self.sentence}" if place else self.sentence)


Constraints: TypeAlias = tuple[Constraint, ...]


def exactly_one(*names: str) -> Constraint:
    choices = tuple({other: SENT if other == name else LEFT_OUT for other in names} for name in names)
    return Constraint(f"Send exactly one of {_listed(names)}.", choices, exclusive=True)


def at_most_one(one: str, other: str) -> Constraint:
    return Constraint(f"Send `{one}` or `{other}`, not both.", ({one: LEFT_OUT}, {other: LEFT_OUT}))


def at_least_one(*names: str) -> Constraint:
    return Constraint(f"Send at least one of {_listed(names)}.", tuple({name: SENT} for name in names))


def only_with(names: Sequence[str], needed: str) -> Constraint:
    """These fields may only be sent together with the one that they need."""
    left_out = dict.fromkeys(names, LEFT_OUT)
    return Constraint(f"Send {_listed(names)} only with `{needed}`.", (left_out, {needed: SENT}))


def never_with(names: Sequence[str], other: str) -> Constraint:
    """None of these fields may be sent together with the other one."""
    left_out = dict.fromkeys(names, LEFT_OUT)
    return Constraint(f"Do not send {_listed(names, 'or')} with `{other}`.", (left_out, {other: LEFT_OUT}))


def check(value: Any, place: str = "") -> None:
    """Raise BadRequest, naming the place, if the value or anything in it breaks a declared constraint."""
    if isinstance(value, msgspec.Struct):
        for constraint in constraints_of(type(value)):
            constraint.check(value, place)
        for name, shown in _leading(type(value)):
            check(getattr(value, name), f"{place}.{shown}" if place else shown)
    elif isinstance(value, dict):
        for name, inner in value.items():
            check(inner, f"{place}.{name}")
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            check(inner, f"{place}[{number}]")


def constraints_of(kind: type[msgspec.Struct]) -> Constraints:
    """The constraints of a struct."""
    return getattr(kind, "constraints", ())


def structs_in(node: Any, seen: set[type]) -> Iterator[type[msgspec.Struct]]:
    """Every struct that a described type holds, each once."""
    if isinstance(node, inspect.StructType):
        if node.cls in seen:
            return
        seen.add(node.cls)
        yield node.cls
    if isinstance(node, (list, tuple)):
        for each in node:
            yield from structs_in(each, seen)
    elif isinstance(node, (inspect.Type, inspect.Field)):
        for name in node.__struct_fields__:
            yield from structs_in(getattr(node, name), seen)


@functools.cache
def _leading(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """The fields that may hold structs with constraints, by attribute and by the name that callers see."""
    info = inspect.type_info(kind)
    fields = info.fields if isinstance(info, inspect.StructType) else ()
    return tuple(
        (field.name, field.encode_name) for field in fields if any(map(constraints_of, structs_in(field.type, set())))
    )


@functools.cache
def _defaults(kind: Any) -> dict[str, Any]:
    return {field.name: default_of(field) for field in msgspec.structs.fields(kind)}


def default_of(field: Any) -> Any:
    """The default of a struct's field; NODEFAULT if it is required."""
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def _holds(state: State, value: Any, default: Any) -> bool:
    if isinstance(state, Is):
        return value in state.values
    if isinstance(state, IsNot):
        return value not in state.values
    value = list(value) if isinstance(value, tuple) else value
    return (value != default) is (state is SENT)


def _listed(names: Sequence[str], word: str = "and") -> str:
    quoted = [f"`{name}`" for name in names]
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}" if len(quoted) > 1 else quoted[0]
