"""Fill: what a signer writes into their fields."""

from collections.abc import Mapping

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.glyphs import need_printable
from deedbox.signing import parties
from deedbox.signing.actions.turn import at_turn
from deedbox.signing.desk import Desk
from deedbox.signing.model import Field, Packet, Party, Signer
from deedbox.signing.printed_value import check_fits
from deedbox.signing.store import people


def fill(desk: Desk, packet: Packet, signer_id: str, values: Mapping[str, str]) -> None:
    """Keeps what the signer has filled in so far."""
    party, signer = at_turn(packet, signer_id, desk.now)
    check_values(packet, party, signer, values)
    people.keep_values(desk.tx, signer_id, values)


def check_values(packet: Packet, party: Party, signer: Signer, values: Mapping[str, str]) -> None:
    """BadRequest for a field of someone else, or a value that it cannot have."""
    known = {
        field.id: (document, field)
        for document in packet.documents
        for field in parties.own_fields(document, party, signer)
    }
    for field_id, value in values.items():
        if field_id not in known:
            raise BadRequest(f"{field_id} is not one of your fields")
        document, field = known[field_id]
        _check(field, value)
        check_fits(document, field, value, packet.language)


def _check(field: Field, value: str) -> None:
    name = field.label or field.id
    if len(value) > limits.FIELD_VALUE_CHARS:
        raise BadRequest(f"{name}: at most {limits.FIELD_VALUE_CHARS} characters")
    need_printable(name, value)
    if field.type == "select" and value not in field.options:
        raise BadRequest(f"{name}: choose one of {', '.join(field.options)}")
    if field.type == "checkbox" and value not in ("true", "false"):
        raise BadRequest(f"{name}: a checkbox is true or false")
    if field.type == "number" and not _is_number(value):
        raise BadRequest(f"{name}: {value} is not a number")


def _is_number(text: str) -> bool:
    return text.strip().lstrip("+-").replace(".", "", 1).replace(",", "").isdecimal()
