"""Prefill: values that the sender gives by the labels of fields, for those who sign to find there."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.signing.new_document import NewField

F = TypeVar("F", bound=NewField)


def prefilled(asked: Sequence[F], values: Mapping[str, str]) -> list[F]:
    """The fields, each with the value of its label as its default; BadRequest for a label that none of them has."""
    labels = {field.label for field in asked}
    unknown = next((label for label in values if label not in labels), None)
    if unknown is not None:
        raise BadRequest(
            f"No field has the label {unknown[: limits.MISTAKE_CHARS]!r}, for which there is a value: labels are"
            " compared letter by letter"
        )
    return [replace(field, default=values.get(field.label or "", field.default)) for field in asked]


def left_for_tags(values: Mapping[str, str], tags: Sequence[NewField], asked: Sequence[NewField]) -> dict[str, str]:
    """The values of text tags that were not given back as fields: those that were have their own defaults by now."""
    given, tagged = {field.label for field in asked}, {tag.label for tag in tags}
    return {label: value for label, value in values.items() if label in tagged and label not in given}
