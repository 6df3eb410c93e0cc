"""The sheet: what a signer fills in, as one form whose fields know where they stand on the pages."""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from deedbox.signing import show_if
from deedbox.signing.answers import fill_in, groups
from deedbox.signing.field_value import BY_HAND, current_value, format_value, normalize
from deedbox.signing.model import Attachment, Document, Field, first_page
from deedbox.web.signer import values
from deedbox.web.signer.inside import Inside

OWN = ("name", "email")
"""Fields that are filled for the signer if they leave them empty."""


_LINE = 0.012
"""Of the page's height: fields whose middles are not farther apart stand in one line."""


class SheetRow(NamedTuple):
    """A field of the form, what stands in its box, and of a day how the language says it.

    Radio buttons come as one, with all of their group; of each of those, the name that the form has for the group."""

    field: Field
    value: str
    said: str
    shown: bool = True
    """Whether its condition holds; one whose condition does not is in the form all the same, and not sent."""
    choices: Sequence["SheetRow"] = ()

    @property
    def boxes(self) -> list[Field]:
        return [choice.field for choice in self.choices] or [self.field]


class Home(NamedTuple):
    """Where the fields of a file stand."""

    document: Document
    before: int
    """How many pages of the document lie before the file's."""

    def page(self, field: Field) -> int:
        """The page of its document on which the field stands, from 1."""
        return self.before + field.page


class Other(NamedTuple):
    """What someone else has filled in."""

    field: Field
    name: str
    """Who has."""
    said: str


class SigningSheet(NamedTuple):
    rows: Sequence[SheetRow]
    by_hand: Mapping[str, Sequence[Field]]
    """Where the signature and the initials stand."""
    others: Sequence[Other]
    own: Mapping[str, str]
    """What is filled in for those who leave a field of this type empty."""


def sheet(
    who: Inside, filled: Mapping[str, str], files: Sequence[Attachment], typed: Mapping[str, Any] | None, now: str
) -> SigningSheet:
    """The form by what the signer has kept, typed and given."""
    given = given_by(who, typed) if typed is not None else {}
    own = {field.id: field for field in _fields(who)}
    stands = {
        **filled,
        **{field_id: normalize(own[field_id], value) for field_id, value in given.items()},
        **{one.field_id: one.sha256 for one in files if one.signer_id == who.signer.id},
    }
    possible = _in_reading_order(who)
    return SigningSheet(
        rows=_rows(who, possible, stands, typed, now),
        by_hand={kind: [field for field in possible if field.type == kind] for kind in BY_HAND},
        others=others(who, who.packet.documents),
        own={"name": who.signer.name, "email": who.signer.email},
    )


def given_by(who: Inside, form: Mapping[str, Any]) -> dict[str, str]:
    """What the form says of each field that is filled by hand; an unticked box is not sent by browsers."""
    given = {}
    fields = [field for field in _fields(who) if not field.read_only and field.type != "attachment"]
    for field in fields:
        if field.type == "checkbox" and (field.show_if is None or f"{field.id}-shown" in form):
            given[field.id] = "true" if form.get(field.id) else "false"
        elif field.id in form:
            given[field.id] = str(form[field.id]).replace("\0", "").strip()
    for group in groups(fields).values():
        if form.get(_group_name(group)) in {field.id for field in group}:
            given[str(form[_group_name(group)])] = "true"
    return values.read_values(fields, given, who.signer.language)


def homes(who: Inside) -> dict[str, Home]:
    """Where the fields of each file stand, by its id."""
    return {file.id: Home(one, first_page(one, file.id)) for one in who.packet.documents for file in one.files}


def _group_name(group: Sequence[Field]) -> str:
    """Under which the form sends the id of the chosen radio button."""
    return f"{group[0].id}-group"


def _fields(who: Inside) -> list[Field]:
    return [field for field in who.fields if field.type not in BY_HAND]


def _in_reading_order(who: Inside) -> list[Field]:
    """What may come to be shown, as one reads: line by line, but none before the one on which it depends."""
    read = [field for line in _lines(who) for field in sorted(line, key=lambda field: field.x)]
    known, waiting = {field.id for field in read}, dict[str, list[int]]()
    free, ordered = list[int](), list[Field]()
    for at, field in enumerate(read):
        on = field.show_if.field if field.show_if else ""
        (waiting.setdefault(on, []) if on in known else free).append(at)
    while free:
        ordered.append(read[heapq.heappop(free)])
        for at in waiting.get(ordered[-1].id, ()):
            heapq.heappush(free, at)
    return ordered


def _lines(who: Inside) -> list[list[Field]]:
    """The fields that may be shown, in the lines in which they stand, from the first page of the first document on."""
    files = {file.id: at for at, file in enumerate(file for one in who.packet.documents for file in one.files)}

    def place(field: Field) -> tuple[int, int, float]:
        return files[field.file_id], field.page, field.y + field.h / 2

    lines = list[list[Field]]()
    for field in sorted(who.possible_fields, key=place):
        above = place(lines[-1][0]) if lines else None
        if above and place(field)[:2] == above[:2] and place(field)[2] - above[2] <= _LINE:
            lines[-1].append(field)
        else:
            lines.append([field])
    return lines


def _rows(
    who: Inside, possible: Sequence[Field], stands: Mapping[str, str], typed: Mapping[str, Any] | None, now: str
) -> list[SheetRow]:
    standing_in, shown = dict[str, str](), set[str]()
    for document in who.packet.documents:
        fields = fill_in(document, who.party, who.signer, stands, now)
        shown |= show_if.shown(fields)
        standing_in |= {field.id: field.value or "" for field in fields}
    names = {one.id: _group_name(group) for group in groups(_fields(who)).values() for one in group}
    first = {group[0].id: group for group in groups(possible).values()}

    def value(field: Field) -> str:
        # In one that is hidden stands what will be there once it is shown.
        return standing_in[field.id] if field.id in shown else current_value(field, stands) or field.default or ""

    rows = []
    for field in possible:
        if field.id in first:
            choices = [SheetRow(one, value(one), names[one.id], one.id in shown) for one in first[field.id]]
            rows.append(SheetRow(field, "", "", any(choice.shown for choice in choices), choices))
        elif not field.is_button and field.type not in BY_HAND:
            # What is filled in for those who leave it empty is not theirs yet.
            offered = field.read_only or field.type not in OWN or current_value(field, stands) or field.default
            row = _row(field, value(field) if offered else "", typed, who.signer.language)
            rows.append(row._replace(shown=field.id in shown))
    return rows


def _row(field: Field, stands: str, typed: Mapping[str, Any] | None, language: str) -> SheetRow:
    """What stands in the field's box: what was typed, else what is kept or offered, numbers as the language writes."""
    value = stands
    if typed is not None and not field.read_only and field.id in typed:
        value = str(typed.get(field.id, ""))
    elif field.type == "number" or (field.read_only and field.type in ("date", "date_signed")):
        value = format_value(field.type, value, language)
    said = format_value(field.type, value, language)
    return SheetRow(field, value, said if field.type == "date" and said != value else "")


def others(who: Inside, documents: Sequence[Document], *, and_own: bool = False) -> list[Other]:
    """What those before have filled in; a mark by hand is told by the name of whose it is."""
    mine = set() if and_own else {field.id for field in who.fields}
    shown = {field_id for document in documents for field_id in show_if.shown(document.fields)}
    people = {signer.id: signer.name for _, signer in who.packet.signers()}
    found = []
    for field in (field for document in documents for field in document.fields):
        if not field.value or field.id in mine or field.id not in shown or field.type == "attachment":
            continue
        said = format_value(field.type, field.value, who.signer.language)
        if field.type in BY_HAND:
            said = people.get(field.value, "")
        elif field.type == "checkbox" or field.is_button:
            said = "✓" if field.value == "true" else ""
        found.append(Other(field, people.get(field.signer_id or "", ""), said))
    return [one for one in found if one.said]
