"""Fields by role: whose those are that the files of a template bring along, and which roles they name."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import asdict, replace

from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.signing.model import ShowIf
from deedbox.signing.new_document import QUORUM, K, NewField, NewParty, NewSigner, People
from deedbox.signing.preparation import PreparedDocumentFile
from deedbox.signing.template import Role, TemplateField

DEFAULT_ROLE = "Signer"
"""Of a fillable PDF whose fields name no role."""


class ByRole(NamedTuple):
    roles: list[Role]
    fields: list[TemplateField]


def by_role(
    roles: Sequence[Role], asked: Sequence[TemplateField], files: Sequence[PreparedDocumentFile], now: datetime
) -> ByRole:
    """The roles, found in the files if none are given, and all fields: those asked for and those that files bring."""
    tags = [tag for file in files for tag in file.tags]
    form = [field for file in files for field in file.form]
    known = [*roles] or [Role(name) for name in _named(tags, form)]
    need_roles(known)
    found = [*tags, *(_assigned(field, known) for field in form)]
    return ByRole(known, [*asked, *(template_field(field, now, found=True) for field in found)])


def template_field(field: NewField, now: datetime, *, found: bool = False) -> TemplateField:
    """The field as a template keeps it, with an id of its own."""
    return TemplateField(**asdict(field) | {"id": new_id("fld", now), "found": found})


def renew_ids(fields: Sequence[K], now: datetime) -> list[K]:
    """The fields with new ids, which the conditions among them follow."""
    ids = {field.id: new_id("fld", now) for field in fields}
    return [replace(field, id=ids[field.id], show_if=_followed(field.show_if, ids)) for field in fields]


def without_values(fields: Sequence[K]) -> list[K]:
    """The fields before a document brings its values: what only those can fill may be empty."""
    return [replace(field, required=field.required and not field.read_only) for field in fields]


def _followed(condition: ShowIf | None, ids: Mapping[str | None, str]) -> ShowIf | None:
    return None if condition is None else replace(condition, field=ids.get(condition.field, condition.field))


def need_roles(roles: Sequence[Role]) -> None:
    """Raises BadRequest if there is none: nobody could be sent a document."""
    if not roles:
        raise BadRequest(
            "roles: missing. Give them, or name them in the files by text tags such as {{signature:Tenant}}."
        )


def check_roles(roles: Sequence[Role]) -> None:
    """Raises BadRequest for roles that nobody could fill."""
    names = [role.name.casefold() for role in roles]
    for role in roles:
        if names.count(role.name.casefold()) > 1:
            raise BadRequest(f"roles: two are called {role.name}")
        QUORUM.check(role, f"The role {role.name}")
        if role.quorum is not None and not 1 <= role.quorum <= (role.signers or role.quorum):
            raise BadRequest(f"roles: the quorum of {role.name} must lie between 1 and the number of its signers")


def check_fields(fields: Sequence[NewField], roles: Sequence[Role]) -> None:
    """Raises BadRequest for a field that belongs to no role."""
    names = {role.name.casefold() for role in roles}
    for field in fields:
        what = field.label or f"the {field.type} on page {field.page}"
        if field.signer is not None or field.party is None:
            raise BadRequest(f"fields: {what} must name its role as `party`; a template has no signers")
        if field.party.casefold() not in names:
            raise BadRequest(f"fields: {what} names the role {field.party}, which the template does not have")


def check_files(fields: Sequence[NewField], count: int) -> None:
    """Raises BadRequest for a field on a file that there is not."""
    for field in fields:
        if field.file_number >= count:
            raise BadRequest(f"A field names file {field.file}, but there are {count} files, counted from 0")


def sample_people(roles: Sequence[Role]) -> People:
    """Someone for every seat, by role: with these it is tried out whether documents can be made."""
    return {party.name: party.signers for party in sample_parties(roles)}


def sample_parties(roles: Sequence[Role]) -> list[NewParty]:
    """The roles as parties with someone for every seat."""
    return [
        NewParty(role.name, [NewSigner("A", f"{number}.{seat}@b.co", role=role.role) for seat in range(role.seats)])
        for number, role in enumerate(roles)
    ]


def _named(tags: Sequence[NewField], form: Sequence[NewField]) -> list[str]:
    """The roles that tags name, or signature fields of a form before a dot; that of a form which names none."""
    names = [tag.party or "" for tag in tags]
    signed = [(field.label or "").partition(".") for field in form if field.type == "signature"]
    names += [role.strip() for role, dot, _ in signed if dot]
    told: dict[str, str] = {}
    for name in names:
        told.setdefault(name.casefold(), name)
    return [name for name in told.values() if name] or ([DEFAULT_ROLE] if form else [])


def _assigned(field: NewField, roles: Sequence[Role]) -> NewField:
    """The field of a form, with the role that its name begins with, else the first."""
    name = "group" if field.is_button else "label"
    prefix, dot, rest = (getattr(field, name) or "").partition(".")
    for role in roles:
        if dot and rest.strip() and role.name.casefold() == prefix.strip().casefold():
            return replace(field, party=role.name, **{name: rest.strip()})
    return replace(field, party=roles[0].name)
