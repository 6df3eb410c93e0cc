"""Prefill: values that the sender gives by the labels of fields, for those who sign to find there."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.signing.new_document import NewField

F = TypeVar("F", bound=NewField)


def prefilled(asked: Sequence[F], values: Mapping[str, str]) -> list[F]:
    """The fields, each with the value of its label as its default; BadRequest for a label that none of them has.

    For the group of radio buttons, the value is the label of the one that is chosen."""
    labels = {field.label for field in asked} | {field.group for field in asked}
    unknown = next((label for label in values if label not in labels), None)
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
    if field.group in values and field.group is not None:
        return replace(field, default="true" if values[field.group] == field.label else None)
    return replace(field, default=values.get(field.label or "", field.default))


def left_for_tags(values: Mapping[str, str], tags: Sequence[NewField], asked: Sequence[NewField]) -> dict[str, str]:
    """The values of text tags that were not given back as fields: those that were have their own defaults by now."""
    given, tagged = {field.label for field in asked}, {tag.label for tag in tags}
    return {label: value for label, value in values.items() if label in tagged and label not in given}
