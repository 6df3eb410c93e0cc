"""Fill: what a signer writes into their fields."""

from collections.abc import Mapping, Sequence

from deedbox.i18n.refusals import wrong_values
from deedbox.kernel.errors import BadRequest, Saying
from deedbox.signing import parties
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions.turn import at_turn
from deedbox.signing.answers import groups, settled_field_ids
from deedbox.signing.field_value import fault, fault_of, normalize
from deedbox.signing.model import Field, Packet, Party, Signer
from deedbox.signing.store import people

_GIVEN_OTHERWISE = ("attachment", "date_signed")
"""Types that have their own sentence for who writes a value into them."""


def fill(ctx: ActionContext, packet: Packet, signer_id: str, values: Mapping[str, str]) -> None:
    """Keeps what the signer has filled in so far; BadRequest, which names each field, for what it cannot hold."""
    party, signer = at_turn(packet, signer_id, ctx.now)
    filled, faults = check_values(packet, party, signer, values)
    if faults:
        raise wrong_values(faults)
    people.keep_values(ctx.tx, signer_id, filled)


def check_values(
    packet: Packet, party: Party, signer: Signer, values: Mapping[str, str]
) -> tuple[dict[str, str], list[Saying]]:
    """The values as they are kept, and all that is wrong with them; BadRequest for a field of someone else."""
    known = {
        field.id: (document, field)
        for document in packet.documents
        for field in parties.own_fields(document, party, signer)
    }
    done = {field_id for document in packet.documents for field_id in settled_field_ids(document)}
    filled, faults = {}, list[Saying]()
    for field_id, value in values.items():
        if field_id not in known:
            raise BadRequest(f"{field_id} is not one of your fields")
        document, field = known[field_id]
        filled[field_id] = normalize(field, value)
        if field_id in done:
            if filled.pop(field_id) not in ("", field.value):  # what changes nothing may come from an older page
                faults.append(fault_of(field, "settled"))
        elif field.read_only or field.type == "attachment":
            faults.append(fault_of(field, field.type if field.type in _GIVEN_OTHERWISE else "read_only"))
        elif wrong := fault(document, field, filled[field_id], packet.language):
            faults.append(wrong)
    for group in groups([field for _, field in known.values() if field.id not in done]).values():
        _choose(group, filled, faults)
    return filled, faults


def _choose(group: Sequence[Field], filled: dict[str, str], faults: list[Saying]) -> None:
    """Whoever chooses one radio button of a group takes back what was chosen before."""
    chosen = [field for field in group if filled.get(field.id) == "true"]
    faults += [
        fault_of(field, "radio_only_one", options=", ".join(one.label or "" for one in group)) for field in chosen[1:]
    ]
    if chosen:
        filled |= {field.id: "" for field in group if field.id not in filled}
