"""What the properties of a field demand of each other: what nobody could ever fill in is refused."""

from collections.abc import Callable, Sequence

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.constraints import Constraint
from deedbox.kernel.errors import BadRequest
from deedbox.signing import answers, limits, pattern
from deedbox.signing.model import Field
from deedbox.signing.new_document import CHOICES, GROUPED, NOT_FIXED, NOT_PREFILLED, SIGNING_DATE, TEXT_ONLY, NewField
from deedbox.signing.show_if import FILLED_FOR_THEM, describe, waited_for


def _grouped(field: Field) -> str:
    if field.type != "radio":
        return f"{describe(field)} has a group, which only a radio field may have"
    if field.options:
        return f"{describe(field)} has options and a group. Give options, or a group with a field for each button."
    return (
        f"{describe(field)} needs a group and a label: the label is what is chosen. Or give one field for all buttons,"
        " with options."
    )


_FAULTS: list[tuple[Constraint, Callable[[Field], str]]] = [
    (TEXT_ONLY, lambda field: f"{describe(field)} has a {_text_only(field)}, which only a text field may have"),
    (
        GROUPED,
        _grouped,
    ),
    (CHOICES, lambda _: "A select field needs options"),
    (
        SIGNING_DATE,
        lambda field: (
            f"{describe(field)} is filled in with the day of signing, so it takes no value. Use the type `date` for a"
            " day that you or the signer choose."
        ),
    ),
    (
        NOT_PREFILLED,
        lambda field: f"The {field.type} on page {field.page} has a default, but only its signer can fill it",
    ),
    (NOT_FIXED, lambda field: f"The {field.type} on page {field.page} is read_only, but only its signer can fill it"),
]
"""The constraints of a field that its file asks for, or that is drawn on a page, with the words for its sender."""


def check(field: Field) -> None:
    """Raises BadRequest for properties that do not go together."""
    for constraint, fault in _FAULTS:
        if not constraint.is_met(field, NewField):
            raise BadRequest(fault(field))
    if field.type == "radio" and field.options:
        _check_options(field)
    filled_for_them = field.is_button or field.type in (*FILLED_FOR_THEM, "date_signed")
    fixed = field.read_only and field.required and not filled_for_them
    if fixed and (not field.default or (field.type == "checkbox" and field.default != "true")):
        raise BadRequest(f"{describe(field)} is required and read_only, so it needs a default or a value of yours")


def _text_only(field: Field) -> str:
    return "max_length" if field.max_length is not None else "pattern"


def _check_options(field: Field) -> None:
    """Raises BadRequest for options of a radio field that signers could not tell apart."""
    if not 2 <= len(field.options) <= limits.RADIO_OPTIONS:
        raise BadRequest(
            f"{describe(field)} has {len(field.options)} options. A radio field has from 2 to {limits.RADIO_OPTIONS};"
            " use a select for more, and a checkbox for one."
        )
    if any(not option.strip() or option != option.strip() for option in field.options):
        raise BadRequest(f"{describe(field)} has an option that is empty, or that begins or ends with a space")
    if len(set(field.options)) < len(field.options):
        raise BadRequest(f"{describe(field)} has the same option twice")


def check_all(fields: Sequence[Field]) -> None:
    """Raises BadRequest for radio buttons that do not make a group, more files than can be joined, and patterns that
    would take too long."""
    _check_patterns(fields)
    if sum(field.type == "attachment" for field in fields) > limits.DOCUMENT_ATTACHMENTS:
        raise BadRequest(f"A document has at most {limits.DOCUMENT_ATTACHMENTS} attachments")
    for (_, _, name), group in answers.groups(fields).items():
        if len({field.label for field in group}) < len(group):
            raise BadRequest(f"Two radio buttons of the group {name!r} have the same label")
        if len({field.read_only for field in group}) > 1:
            raise BadRequest(f"The radio buttons of the group {name!r} must all be read_only, or none of them")
        offered = sum(field.default == "true" for field in group)
        if offered > 1:
            raise BadRequest(f"Two radio buttons of the group {name!r} are chosen by default: one may be")
        if group[0].read_only and not offered and any(field.required for field in group):
            raise BadRequest(f"The group {name!r} is required and read_only, so one of it needs the default 'true'")


def _check_patterns(fields: Sequence[Field]) -> None:
    waited, work = waited_for(fields), 0
    for field in fields:
        if field.pattern is not None:
            texts = 1 + len(waited.get(field.id, ()))
            work += texts * pattern.work(field.pattern, field.max_length or shared_limits.FIELD_VALUE_CHARS)
        if work > limits.DOCUMENT_PATTERN_WORK:
            raise BadRequest(
                f"{describe(field)}: up to here, the patterns of the document take too long to be matched. Give their"
                " fields a max_length, or write them simpler."
            )
