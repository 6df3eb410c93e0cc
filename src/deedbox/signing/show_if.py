"""Which fields are shown: those without a condition, and those whose condition holds."""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace

from deedbox.kernel.errors import BadRequest
from deedbox.signing import limits
from deedbox.signing.field_value import normalize
from deedbox.signing.model import Field, Party, ShowIf

NOTHING = ("signature", "initials", "date_signed", "attachment")
"""Types whose value no condition can name."""
FILLED_FOR_THEM = ("name", "email")
"""Types that hold the signer's own name and address where nothing else is written."""


def shown(fields: Sequence[Field]) -> set[str]:
    """The ids of the fields that are shown, by the values that stand in all of them."""
    return _true(fields, lambda decides, equals: _value(decides) == equals)


def possible(fields: Sequence[Field], own: Collection[str]) -> set[str]:
    """The ids of the fields that are shown or may come to be, whatever is still written into these own ones."""

    def may_be(decides: Field, equals: str) -> bool:
        if decides.id not in own:
            return _value(decides) == equals
        settled = decides.read_only and decides.type not in FILLED_FOR_THEM
        return not settled or _value(replace(decides, value=decides.default)) == equals

    return _true(fields, may_be)


def resolve(fields: Sequence[Field], parties: Sequence[Party]) -> list[Field]:
    """The fields with ids in their conditions; BadRequest for a condition that nobody could decide or fulfil."""
    if not any(field.show_if for field in fields):
        return [*fields]
    names = _names(fields)
    known = [_resolved(field, names) for field in fields]
    by_id = {field.id: field for field in known}
    for field in known:
        if field.show_if is not None:
            _check(field, _chain(field, by_id), parties)
    return known


def waited_for(fields: Sequence[Field]) -> dict[str, list[str]]:
    """What others wait to stand in a field, by its id."""
    found: dict[str, list[str]] = {}
    for field in fields:
        if field.show_if is not None:
            found.setdefault(field.show_if.field, []).append(field.show_if.equals)
    return found


def _true(fields: Sequence[Field], holds: Callable[[Field, str], bool]) -> set[str]:
    by_id, known = {field.id: field for field in fields}, dict[str, bool]()

    def is_true(field: Field) -> bool:
        if field.id not in known:
            condition = field.show_if
            decides = by_id[condition.field] if condition else None
            known[field.id] = (
                condition is None or decides is None or (holds(decides, condition.equals) and is_true(decides))
            )
        return known[field.id]

    return {field.id for field in fields if is_true(field)}


def _value(field: Field) -> str | None:
    return (field.value or "false") if _is_ticked(field) else field.value


def _is_ticked(field: Field) -> bool:
    return field.type == "checkbox" or field.is_button


def _names(fields: Sequence[Field]) -> dict[tuple[str | None, ...], list[Field]]:
    """The fields by id, by label, and radio buttons by group and label."""
    found: dict[tuple[str | None, ...], list[Field]] = {}
    for field in fields:
        for name in ((field.id,), ("label", field.label), ("group", field.group, field.label)):
            found.setdefault(name, []).append(field)
    return found


def _resolved(field: Field, names: Mapping[tuple[str | None, ...], Sequence[Field]]) -> Field:
    if field.show_if is None:
        return field
    name, equals = field.show_if.field, field.show_if.equals
    called = names.get((name,)) or names.get(("label", name), [])
    if not called:
        # A group stands for the radio button that has to be chosen in it.
        called, equals = names.get(("group", name, equals), []), "true"
    if len(called) != 1:
        many = "several fields are called so: give an id" if called else "there is no such field"
        raise BadRequest(f"{describe(field)} is shown if {name!r} equals {field.show_if.equals!r}, but {many}")
    return replace(field, show_if=ShowIf(called[0].id, normalize(called[0], equals) or equals))


def _chain(field: Field, by_id: Mapping[str, Field]) -> list[tuple[Field, str]]:
    """The fields that decide, one after the other, each with what has to stand in it."""
    found: list[tuple[Field, str]] = []
    condition = field.show_if
    while condition is not None:
        decides = by_id[condition.field]
        if decides.id == field.id or len(found) == limits.SHOW_IF_DEPTH:
            raise BadRequest(
                f"{describe(field)} is shown only if others are, in a circle or over "
                f"more than {limits.SHOW_IF_DEPTH} steps"
            )
        found.append((decides, condition.equals))
        condition = decides.show_if
    return found


def _check(field: Field, chain: Sequence[tuple[Field, str]], parties: Sequence[Party]) -> None:
    decides, equals = chain[0]
    whose = (decides.signer_id, decides.party_id)
    if whose != (field.signer_id, field.party_id) and _order(decides, parties) >= _order(field, parties):
        raise BadRequest(
            f"{describe(field)} depends on {describe(decides)}, which is filled by someone who does not "
            f"sign before: it must be"
            " of the same signer, or of one of a lower order"
        )
    if not _can_be(decides, equals):
        raise BadRequest(f"{describe(field)} could never be shown: {describe(decides)} can never be {equals!r}")
    chosen = [one for one, value in chain if one.is_button and value == "true"]
    if field.is_button:
        chosen.append(field)
    groups = [(one.signer_id, one.party_id, one.group) for one in chosen]
    if len(set(groups)) != len(groups):
        raise BadRequest(
            f"{describe(field)} could never be of use: two radio buttons of one group would have to be chosen"
        )


def _can_be(field: Field, value: str) -> bool:
    if field.type in NOTHING:
        return False
    if _is_ticked(field) and value not in ("true", "false"):
        return False
    # What is read_only is the sender's own choice for this document: so parts of a template are left out.
    return not field.is_choice or value in field.options


def _order(field: Field, parties: Sequence[Party]) -> int:
    return next(
        party.order
        for party in parties
        if field.party_id == party.id or any(one.id == field.signer_id for one in party.signers)
    )


def describe(field: Field) -> str:
    """The field, as a sender is told of it."""
    return repr(field.label) if field.label else f"The {field.type} on page {field.page}"
