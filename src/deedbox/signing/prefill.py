"""Prefill: values that the sender gives by the labels of fields, for those who sign to find there."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.signing.new_document import NewField

F = TypeVar("F", bound=NewField)


def prefill(asked: Sequence[F], values: Mapping[str, str]) -> list[F]:
    """The fields, each with the value of its label as its default; BadRequest for a label that none of them has.

    For the group of radio buttons, the value is the label of the one that is chosen."""
    unknown = next((label for label in values if label not in _names(asked)), None)
    if unknown is not None:
        raise BadRequest(
            f"No field has the label {unknown[: limits.MISTAKE_CHARS]!r}, for which there is a value: labels are"
            " compared letter by letter"
        )
    for group in {field.group for field in asked if field.group and field.group in values}:
        choices = [field.label for field in asked if field.group == group]
        if values[group] not in choices:
            raise BadRequest(f"{group}: choose one of {', '.join(map(str, choices))}")
    return [_with_value(field, values) for field in asked] if values else [*asked]


def _with_value(field: F, values: Mapping[str, str]) -> F:
    given = values.get(_name(field) or "")
    if given is None:
        return field
    if field.is_button:
        return replace(field, default="true" if given == field.label else None)
    return replace(field, default=given)


def _names(fields: Sequence[NewField]) -> set[str | None]:
    return {_name(field) for field in fields}


def _name(field: NewField) -> str | None:
    """By which the field gets its value: a radio button's own label is a choice, and may be that of another field."""
    return field.group if field.is_button else field.label


def left_for_tags(values: Mapping[str, str], tags: Sequence[NewField], asked: Sequence[NewField]) -> dict[str, str]:
    """The values of text tags that were not given back as fields: those that were have their own defaults by now."""
    left = _names(tags) - _names(asked)
    return {label: value for label, value in values.items() if label in left}
