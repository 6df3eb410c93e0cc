"""The columns of a CSV file: what each heading means, and a row made of the cells below."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, TypeAlias, get_type_hints

import msgspec

from deedbox.kernel import limits
from deedbox.kernel.errors import BadRequest
from deedbox.signing.bulk import table
from deedbox.signing.bulk.model import FORMULA, NO_FORMULA, Flaw, NewRow, ReadRow, is_formula
from deedbox.signing.new_document import FieldValue, MetadataName, MetadataValue, NewSigner
from deedbox.signing.template import Template

Say: TypeAlias = Callable[[Any, msgspec.ValidationError], str]
"""What is wrong with a value, in plain words."""

_PERSON = re.compile(r"(?P<role>.+?)(?:\[(?P<number>[1-9][0-9]?)\])?\.(?P<field>[a-z_]+)", re.DOTALL)
_PLAIN = ("key", "external_id", "language")
_ROW_TYPES = get_type_hints(NewRow, include_extras=True)
_PERSON_TYPES = get_type_hints(NewSigner, include_extras=True)
_NEEDED = NO_FORMULA


class KnownColumns(NamedTuple):
    """What headings may name of a template."""

    roles: Collection[str]
    labels: Collection[str]

    @classmethod
    def of(cls, template: Template) -> "KnownColumns":
        """Its roles in their order, and the labels of its fields."""
        labels = dict.fromkeys(field.label for field in template.content.fields if field.label)
        return cls([role.name for role in template.content.roles], [*labels])


class Column(NamedTuple):
    heading: str
    """As it stands in the file."""
    part: str
    """`row`, `value`, `metadata`, `role`, or `ignored`."""
    name: str = ""
    """Of the row's or the person's field, the label, or the name in the metadata."""
    role: str = ""
    number: int = 1
    """Which person of the role."""
    type: Any = str


def rows(file: IO[bytes], mapping: Mapping[str, str | None], known: KnownColumns, say: Say) -> Iterator[ReadRow]:
    """The rows of a CSV file, each as it is asked for; BadRequest if the headings do not fit the template."""
    lines = table.lines(file)
    headings = next(lines, None)
    if headings is None:
        raise BadRequest("The CSV file is empty")
    if isinstance(headings, table.UnreadableLine):
        raise BadRequest(f"line {headings.number}: {headings.reason}")
    columns = meant(headings.cells, mapping, known, say)
    for index, line in enumerate(lines):
        if isinstance(line, table.UnreadableLine):
            yield ReadRow(index, line.number, None, [Flaw(index, line.number, None, line.reason)])
        else:
            yield _row(index, line, columns, say)


def meant(headings: Sequence[str], mapping: Mapping[str, str | None], known: KnownColumns, say: Say) -> list[Column]:
    """What each heading means; BadRequest, naming the heading, for one that fits nothing, or is missing."""
    names = [heading.strip() for heading in headings]
    while names and not names[-1]:
        names.pop()
    for unused in mapping.keys() - set(names):
        raise BadRequest(f"columns: the file has no heading {_cut(unused)!r}")
    columns = [_column(name, mapping.get(name, name), known, say) for name in names]
    places = [column[1:5] for column in columns if column.part != "ignored"]
    for column in columns:
        if column.part != "ignored" and places.count(column[1:5]) > 1:
            raise BadRequest(f"line 1, {_cut(column.heading)}: two columns mean the same")
    persons = {(column.role, column.name) for column in columns if column.part == "role"}
    missing = [f"{role}.{name}" for role in known.roles for name in _NEEDED if (role, name) not in persons]
    if missing:
        raise BadRequest(
            f"line 1: columns are missing: {_cut(', '.join(missing))}. Add them, or say in `columns` which of the"
            f" headings mean them: {_cut(', '.join(names))}."
        )
    return columns


def is_plain(heading: str, known: KnownColumns) -> bool:
    """Whether the heading itself says what the column means, without anybody who says it."""
    try:
        return bool(_column(heading, heading, known, lambda _, error: str(error)))
    except BadRequest:
        return False


def _column(heading: str, name: str | None, known: KnownColumns, say: Say) -> Column:
    if name is None:
        return Column(heading, "ignored")
    kind, colon, rest = name.partition(":")
    if name in _PLAIN:
        return Column(heading, "row", name, type=_ROW_TYPES[name])
    if colon and kind == "value":
        if rest not in known.labels:
            raise BadRequest(f"line 1, {_cut(heading)}: no field of the template has the label {_cut(rest)!r}")
        return Column(heading, "value", rest, type=FieldValue)
    if colon and kind == "metadata":
        try:
            msgspec.convert(rest, MetadataName)
        except msgspec.ValidationError as error:
            raise BadRequest(f"line 1, {_cut(heading)}: {say(MetadataName, error)}") from error
        return Column(heading, "metadata", rest, type=MetadataValue)
    return _person_column(heading, name, known)


def _person_column(heading: str, name: str, known: KnownColumns) -> Column:
    found = _PERSON.fullmatch(name)
    if found is None or found["field"] not in _PERSON_TYPES:
        raise BadRequest(
            f"line 1, {_cut(heading) or 'an empty heading'}: no such column. Columns are key, external_id, language,"
            " value:Label, metadata:name, and for people Role.name, Role.email and so on; `columns` says what another"
            " heading means, or null for one to leave out."
        )
    if found["role"] not in known.roles:
        roles = ", ".join(known.roles)
        raise BadRequest(
            f"line 1, {_cut(heading)}: the template has no role {_cut(found['role'])!r}; it has {_cut(roles)}"
        )
    number, field = int(found["number"] or 1), found["field"]
    return Column(heading, "role", field, found["role"], number, _PERSON_TYPES[field])


def _row(index: int, line: table.TableLine, columns: Sequence[Column], say: Say) -> ReadRow:
    """The row that the cells make, or everything that is wrong with them."""
    cells, flaws = list(line.cells), list[Flaw]()
    while len(cells) > len(columns) and not cells[-1].strip():
        cells.pop()
    if len(cells) != len(columns):
        reason = f"it has {len(cells)} cells, but there are {len(columns)} headings"
        return ReadRow(index, line.number, None, [Flaw(index, line.number, None, reason)])
    given: dict[str, dict[str, Any]] = {"row": {}, "value": {}, "metadata": {}}
    people: dict[tuple[str, int], dict[str, Any]] = {}
    for column, cell in zip(columns, cells, strict=True):
        text = cell if column.part == "value" else cell.strip()
        if not text or column.part == "ignored":
            continue
        to = people.setdefault((column.role, column.number), {}) if column.role else given[column.part]
        try:
            to[column.name] = _value(column, text, say)
        except ValueError as error:
            flaws.append(Flaw(index, line.number, column.heading, str(error)))
    flaws += [Flaw(index, line.number, *each) for each in _missing(people, columns, {one.column for one in flaws})]
    if flaws:
        return ReadRow(index, line.number, None, flaws)
    row = NewRow(**given["row"], roles=_roles(people), values=given["value"], metadata=given["metadata"])
    return ReadRow(index, line.number, row)


def _value(column: Column, text: str, say: Say) -> Any:
    """What the cell means; ValueError with the reason if its column cannot hold it."""
    if column.role and column.name in NO_FORMULA and is_formula(text):
        raise ValueError(FORMULA)
    try:
        return msgspec.convert(text, column.type, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(say(column.type, error)) from error


def _missing(
    people: Mapping[tuple[str, int], Mapping[str, Any]], columns: Sequence[Column], wrong: Collection[str | None]
) -> Iterator[tuple[str, str]]:
    """The headings under which a person's name or address should stand, each with the reason."""
    for (role, number), person in people.items():
        for name in _NEEDED:
            place = f"{role}.{name}" if number == 1 else f"{role}[{number}].{name}"
            heading = next(
                (one.heading for one in columns if (one.role, one.number, one.name) == (role, number, name)), place
            )
            if name not in person and heading not in wrong:
                yield heading, "missing"


def _roles(people: Mapping[tuple[str, int], Mapping[str, Any]]) -> dict[str, NewSigner | Sequence[NewSigner]]:
    """The people of each role, in the order of their numbers."""
    found: dict[str, list[NewSigner]] = {}
    for (role, _), person in sorted(people.items()):
        found.setdefault(role, []).append(NewSigner(**person))
    return {role: one[0] if len(one) == 1 else one for role, one in found.items()}


def _cut(text: str) -> str:
    return text if len(text) <= limits.MISTAKE_CHARS else text[: limits.MISTAKE_CHARS] + "…"
