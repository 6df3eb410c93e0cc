"""Draw the fields of a template: what someone moves on its pages is kept in a sketch, and laid out as its next version
when they say so."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import asdict, replace

from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict
from deedbox.kernel.ids import new_id
from deedbox.signing.actions import change_template
from deedbox.signing.actions.create_from_template import ready_of
from deedbox.signing.actions.draw import version_of
from deedbox.signing.model import ShowIf
from deedbox.signing.sketch import (
    DrawnFields,
    Sketch,
    SketchField,
    SketchParty,
    check_fields,
    describe,
    to_sketch_field,
)
from deedbox.signing.store import sketches
from deedbox.signing.template import Role, Template, TemplateChange, TemplateField


class TemplateDrawing(NamedTuple):
    """A template with the sketch of its fields."""

    template: Template
    version: int
    """Of the sketch."""
    sketch: Sketch
    kept: bool
    """Whether it has a row already; else it is the template as it stands."""


def load_sketch(tx: Tx, workspace_id: str, template_id: str) -> TemplateDrawing:
    """The sketch that is kept, unless the template was changed since; else the template as it stands."""
    template = change_template.find(tx, workspace_id, template_id)
    ready_of(template)
    if found := _kept(tx, template):
        return TemplateDrawing(template, *found, kept=True)
    sketch = _sketch(template)
    return TemplateDrawing(template, version_of(sketch), sketch, kept=False)


def draw_fields(tx: Tx, workspace_id: str, template_id: str, given: DrawnFields, now: datetime) -> int:
    """The version with these fields; Conflict if the sketch is no longer in the one that they were drawn in."""
    before = load_sketch(tx, workspace_id, template_id)
    if given.version != before.version:
        raise Conflict(sketches.CHANGED)
    sketch, at = replace(before.sketch, fields=given.fields), instant(now)
    check_fields(sketch)
    if before.kept:
        sketches.change(tx, template_id, before.version, sketch, at)
    else:
        sketches.drop(tx, template_id)
        sketches.add(tx, workspace_id, template_id, (before.version + 1, sketch), at)
    return before.version + 1


@contextmanager
def finish_sketch(tx: Tx, drawn: TemplateDrawing) -> Iterator[None]:
    """Around the version that is made of what was drawn; Conflict if more was drawn meanwhile: it waits on."""
    sketches.take(tx, drawn.template.id, drawn.version)
    yield


@contextmanager
def kept_over(tx: Tx, before: Template, now: datetime, *, elsewhere: bool) -> Iterator[None]:
    """Around a change of the template: what waits in its sketch waits on; Conflict if its roles or pages would be
    others, `elsewhere` than where it was drawn."""
    found = _kept(tx, before)
    if found is not None:
        if elsewhere:
            raise Conflict(
                "Fields were drawn on this template and are not saved yet. Save them or throw them away first: open its"
                " fields and choose Save. Then come back."
            )
        sketches.take(tx, before.id, found[0])
    yield
    if found is not None:
        sketch = replace(found[1], drawn_on=before.version + 1)
        sketches.add(tx, before.workspace_id, before.id, (found[0] + 1, sketch), instant(now))


def _kept(tx: Tx, template: Template) -> tuple[int, Sketch] | None:
    """The version and the sketch that was drawn on this version of the template."""
    found = sketches.find(tx, template.workspace_id, template.id)
    return found if found is not None and found[1].drawn_on == template.version else None


def laid_out(drawn: TemplateDrawing, now: datetime) -> TemplateChange:
    """The change that gives the template the fields of the sketch; BadRequest names one that is nobody's."""
    content, fields = drawn.template.content, drawn.sketch.fields
    known = {field.id: field for field in content.fields}
    ids = {one.key: one.key if one.key in known else new_id("fld", now) for one in fields}
    roles = {_key(number): role for number, role in enumerate(content.roles)}
    return TemplateChange(fields=[_field(one, ids, roles, known.get(one.key)) for one in fields])


def _sketch(template: Template) -> Sketch:
    roles = template.content.roles
    keys = {role.name.casefold(): _key(number) for number, role in enumerate(roles)}
    parties = [
        SketchParty(_key(number), role.name, role.order, role.rule, role.quorum, role.on_decline)
        for number, role in enumerate(roles)
    ]
    fields = [
        to_sketch_field(field, field.id or "", keys.get((field.party or "").casefold(), ""))
        for field in template.content.fields
    ]
    language = template.content.language
    return Sketch(template.version, template.name, language, parties=parties, fields=fields)


def _key(number: int) -> str:
    return f"r{number}"


def _field(
    field: SketchField, ids: dict[str, str], roles: dict[str, Role], before: TemplateField | None
) -> TemplateField:
    if field.who not in roles:
        raise BadRequest(f"{describe(field)} is nobody's: choose the role that fills it in")
    told = {name: value for name, value in asdict(field).items() if name in TemplateField.__struct_fields__}
    plain = {name: getattr(field, name) or None for name in ("label", "default", "pattern", "group", "hint")}
    condition = field.show_if
    followed = ShowIf(ids.get(condition.field, condition.field), condition.equals) if condition else None
    own = {"id": ids[field.key], "party": roles[field.who].name, "found": before is not None and before.found}
    return TemplateField(**told | plain | own | {"show_if": followed})
