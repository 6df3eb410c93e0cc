"""Change a template: the next version, beside those of which documents were made; and its end."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace

from deedbox.kernel import limits
from deedbox.kernel.blobs import Received
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.kernel.ids import new_id
from deedbox.signing.action_context import Desk, Office
from deedbox.signing.actions import convert_template
from deedbox.signing.actions.convert import PaperMill
from deedbox.signing.actions.convert_template import Unmade, originals_of, try_out
from deedbox.signing.actions.create import made_file
from deedbox.signing.new_document import NewFile, numbered, without_field
from deedbox.signing.preparation import Original
from deedbox.signing.preparation.by_role import check_fields, check_files, check_roles, need_roles, sample_parties
from deedbox.signing.sketch import named
from deedbox.signing.store import sketches, templates
from deedbox.signing.template import Content, Template, TemplateChange, TemplateField

_TAKEN_OVER = ("message", "reminders", "expires_after_hours", "metadata", "language", "signed_input", "roles")


@asynccontextmanager
async def prepared(
    office: Office,
    mill: PaperMill,
    before: Template,
    change: TemplateChange,
    files: Sequence[NewFile],
    *,
    fitting: bool = False,
) -> AsyncIterator[Callable[[Desk], Template]]:
    """What makes the next version at a desk: other files, or more people than there are places for, need a paper.

    Fields that have no place in other files are refused; where they are `fitting`, they fall off, and are named."""
    if before.status == "processing":
        raise Conflict("The template is still being converted. Look at it again in a moment.")
    if before.version >= limits.TEMPLATE_VERSIONS:
        raise Conflict(f"The template has {limits.TEMPLATE_VERSIONS:,} versions. Make another from its files.")
    now, received = office.clock.now(), [file.original for file in files]
    after = _next(before, change, files, now)
    check_roles(after.content.roles)
    if not fitting:
        check_files(after.content.fields, len(after.content.files))
    if not _needs_paper(before, after, files):
        need_roles(after.content.roles)
        check_fields(after.content.fields, after.content.roles)
        yield lambda desk: _stored(desk, before, after, received)
        return
    unmade = replace(after, status="processing", error=None, paper_sha256=None)
    originals = await _originals(office, unmade.content, files)
    # Whoever says all fields has seen those that the files bring along.
    finding = change.fields is UNSET and (bool(files) or before.status == "failed")
    if await mill.intake.takes_long(originals):
        plan = Unmade(unmade, originals, finding, fitting)
        yield lambda desk: _to_be_converted(desk, before, plan, received)
        return
    async with convert_template.made(mill, Unmade(unmade, originals, finding, fitting), now) as (ready, paper):
        yield lambda desk: _stored(desk, before, ready, [*received, paper.pdf])


def find(tx: Tx, workspace_id: str, template_id: str, version: int | None = None) -> Template:
    """The template in this version, or in its newest; another workspace's is not there at all."""
    template = templates.find(tx, workspace_id, template_id, version)
    if template is None:
        known = version is not None and templates.find(tx, workspace_id, template_id) is not None
        raise NotFound("The template has no such version" if known else "Template does not exist")
    return template


def delete(desk: Desk, template_id: str) -> None:
    """No document can be made from it any more; those that were have all they need."""
    template = find(desk.tx, desk.workspace_id, template_id)
    templates.drop(desk.tx, template.id)
    sketches.drop(desk.tx, template.id)
    blobs.release_all(desk.tx, template.id, desk.now)


def _next(before: Template, change: TemplateChange, files: Sequence[NewFile], now: datetime) -> Template:
    given = {name: value for name in _TAKEN_OVER if (value := getattr(change, name)) is not UNSET}
    fields = _fields(before, change, files, now)
    # What a file brought along goes with it, unless another brings the same.
    gone = [named(field) for field in before.content.fields if files and change.fields is UNSET and field.found]
    content = replace(before.content, fields=fields, fell_off=gone, **given)
    if files:
        content = replace(content, files=[made_file(file, now) for file in files], places=[])
    name = before.name if change.name is UNSET else change.name
    return replace(before, version=before.version + 1, name=name, content=content, updated_at=instant(now))


def _fields(before: Template, change: TemplateChange, files: Sequence[NewFile], now: datetime) -> list[TemplateField]:
    """The fields that are asked for; those that a file brought along go with it."""
    if change.fields is UNSET:
        return [field for field in before.content.fields if not (files and field.found)]
    numbers = numbered(change.fields, [file.id for file in before.content.files])
    return [field if field.id else replace(field, id=new_id("fld", now)) for field in numbers]


def _needs_paper(before: Template, after: Template, files: Sequence[NewFile]) -> bool:
    """Whether the files have to be taken in: others, on other terms, or with places for more signatures."""
    content = after.content
    if files or before.status == "failed" or content.signed_input != before.content.signed_input:
        return True
    return without_field(sample_parties(content.roles), content.fields) > len(content.places)


async def _originals(office: Office, content: Content, files: Sequence[NewFile]) -> list[Original]:
    if not files:
        return await office.db.read(lambda tx: originals_of(tx, content))
    return [Original(one.name, one.original.blob, one.password, content.signed_input, form=True) for one in files]


def _to_be_converted(desk: Desk, before: Template, unmade: Unmade, received: Sequence[Received]) -> Template:
    convert_template.plan(desk, unmade)
    return _stored(desk, before, unmade.template, received)


def _stored(desk: Desk, before: Template, after: Template, received: Sequence[Received]) -> Template:
    try_out(desk, after)
    blobs.adopt_all(desk.tx, received, after.id, desk.now)
    templates.add_version(desk.tx, before, after)
    return after
