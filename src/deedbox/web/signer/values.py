"""What signers write into their fields, as it is kept: numbers come with the signs of their language."""

from collections.abc import Mapping, Sequence

from deedbox.i18n import numbers
from deedbox.i18n.refusals import wrong_values
from deedbox.kernel.errors import Saying
from deedbox.signing.field_value import fault_of
from deedbox.signing.model import Field


def read_values(fields: Sequence[Field], values: Mapping[str, str], language: str) -> dict[str, str]:
    """What a person has typed on a page of this language; the plain form where the language reads nothing."""
    found = dict(values)
    for field in _numbers(fields, values):
        text = values[field.id]
        found[field.id] = numbers.read(language, text) or text
    return found


def sent(fields: Sequence[Field], values: Mapping[str, str], language: str) -> dict[str, str]:
    """What a program has sent for a signer of this language, who may have typed it; plain numbers are its own.

    BadRequest where the two readings differ: 1.234 is a thousand and more for a German, and little for a program."""
    faults: list[Saying] = []
    for field in _numbers(fields, values):
        text = values[field.id]
        local, plain = numbers.read(language, text), numbers.plain(text)
        if local and plain and local != plain:
            first, second = numbers.format_ungrouped(language, local), numbers.format_ungrouped(language, plain)
            faults.append(fault_of(field, "number_two_ways", text=text.strip(), first=first, second=second))
    if faults:
        raise wrong_values(faults)
    return read_values(fields, values, language)


def _numbers(fields: Sequence[Field], values: Mapping[str, str]) -> list[Field]:
    return [field for field in fields if field.type == "number" and field.id in values]
