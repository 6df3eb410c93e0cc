"""What stands in a signer's fields: their own answers, else what was offered; and nothing in those that are hidden."""

from collections.abc import Mapping, Sequence
from datetime import UTC

from msgspec.structs import replace

from deedbox.kernel import zones
from deedbox.kernel.clock import moment
from deedbox.signing import parties, show_if
from deedbox.signing.field_value import BY_HAND, current_value
from deedbox.signing.model import Document, Field, Party, Signer


def fill_in(document: Document, party: Party, signer: Signer, filled: Mapping[str, str], at: str) -> list[Field]:
    """The document's fields as they are once this signer, who has filled in this, signs at that time."""
    own = {
        "date_signed": signing_day(signer, at),
        "name": signer.name,
        "email": signer.email,
        "signature": signer.id,
        "initials": signer.id,
    }
    done = settled_field_ids(document)
    mine = [field for field in parties.own_fields(document, party, signer) if field.id not in done]
    values = {field.id: _value(field, filled, own) or None for field in mine}
    for group in groups(mine).values():
        values |= _chosen(group, filled, values)
    fields = [_holding(field, values) for field in document.fields]
    hidden = dict.fromkeys(values.keys() - show_if.shown(fields))
    return [_holding(field, hidden) for field in fields] if hidden else fields


def signing_day(signer: Signer, at: str) -> str:
    """The day on which someone signs at that time, in their time zone; in UTC if it is not known."""
    zone = zones.zone(signer.time_zone) if signer.time_zone else UTC
    return moment(at).astimezone(zone).date().isoformat()


def settled_field_ids(document: Document) -> set[str]:
    """The ids of the fields of whole parties with which someone has signed: they stay as that one has signed them."""
    shared = [field for field in document.fields if field.party_id is not None]
    chosen = {id(one) for group in groups(shared).values() if any(each.value for each in group) for one in group}
    return {field.id for field in shared if field.value is not None or id(field) in chosen}


def _holding(field: Field, values: Mapping[str, str | None]) -> Field:
    """The field with its value among these, if it is there."""
    return replace(field, value=values[field.id]) if values.get(field.id, field.value) != field.value else field


def groups(fields: Sequence[Field]) -> dict[tuple[str | None, str | None, str | None], list[Field]]:
    """The radio buttons among the fields, by their signer or party and their group."""
    found: dict[tuple[str | None, str | None, str | None], list[Field]] = {}
    for field in fields:
        if field.is_button:
            found.setdefault((field.signer_id, field.party_id, field.group), []).append(field)
    return found


def _value(field: Field, filled: Mapping[str, str], own: Mapping[str, str]) -> str | None:
    if field.type in BY_HAND:
        return own[field.type]
    stands = None if field.read_only else current_value(field, filled)
    return (field.default if stands is None else stands) or own.get(field.type)


def _chosen(
    group: Sequence[Field], filled: Mapping[str, str], values: Mapping[str, str | None]
) -> dict[str, str | None]:
    """The values of a group: what this signer has chosen goes before what the sender offers."""
    ids = [field.id for field in group]
    by_signer = [one for one in ids if filled.get(one) == "true"]
    chosen = next((one for one in (*by_signer, *ids) if one in by_signer or values[one] == "true"), None)
    return {one: "true" if one == chosen else None for one in ids}
