"""Change a template: the next version, beside those of which documents were made; and its end."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from msgspec import UNSET
from msgspec.structs import replace

from deedbox.kernel import limits
from deedbox.kernel.blobs import ReceivedBlob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.clock import instant
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import Conflict, NotFound
from deedbox.kernel.ids import new_id
from deedbox.signing.action_context import ActionContext, SigningServices
from deedbox.signing.actions import convert_template
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.actions.convert_template import UnpreparedTemplate, originals_of, try_out
from deedbox.signing.actions.create import made_file
from deedbox.signing.new_document import NewFile, number_files, without_field
from deedbox.signing.preparation import OriginalFile
from deedbox.signing.preparation.by_role import check_fields, check_files, check_roles, need_roles, sample_parties
from deedbox.signing.sketch import describe
from deedbox.signing.store import sketches, templates
from deedbox.signing.template import Content, Template, TemplateChange, TemplateField

_TAKEN_OVER = ("message", "reminders", "expires_after_hours", "metadata", "language", "signed_input", "roles")


@asynccontextmanager
async def prepare(
    services: SigningServices,
    preparation: DocumentPreparation,
    before: Template,
    change: TemplateChange,
    files: Sequence[NewFile],
    *,
    fitting: bool = False,
) -> AsyncIterator[Callable[[ActionContext], Template]]:
    """Yield what creates the next version: other files, or more people than places, need a new prepared PDF.

    Fields that have no place in other files are refused; where they are `fitting`, they fall off, and are named."""
    if before.status == "processing":
        raise Conflict("The template is still being converted. Look at it again in a moment.")
    if before.version >= limits.TEMPLATE_VERSIONS:
        raise Conflict(f"The template has {limits.TEMPLATE_VERSIONS:,} versions. Make another from its files.")
    now, received = services.clock.now(), [file.original for file in files]
    after = _next(before, change, files, now)
    check_roles(after.content.roles)
    if not fitting:
        check_files(after.content.fields, len(after.content.files))
    if not _needs_paper(before, after, files):
        need_roles(after.content.roles)
        check_fields(after.content.fields, after.content.roles)
        yield lambda ctx: _stored(ctx, before, after, received)
        return
    unmade = replace(after, status="processing", error=None, paper_sha256=None)
    originals = await _originals(services, unmade.content, files)
    # Whoever says all fields has seen those that the files bring along.
    finding = change.fields is UNSET and (bool(files) or before.status == "failed")
    if await preparation.intake.takes_long(originals):
        plan = UnpreparedTemplate(unmade, originals, finding, fitting)
        yield lambda ctx: _to_be_converted(ctx, before, plan, received)
        return
    async with convert_template.prepare_version(
        preparation, UnpreparedTemplate(unmade, originals, finding, fitting), now
    ) as (ready, paper):
        yield lambda ctx: _stored(ctx, before, ready, [*received, paper.pdf])


def find(tx: Tx, workspace_id: str, template_id: str, version: int | None = None) -> Template:
    """The template in this version, or in its newest; another workspace's is not there at all."""
    template = templates.find(tx, workspace_id, template_id, version)
    if template is None:
        known = version is not None and templates.find(tx, workspace_id, template_id) is not None
        raise NotFound("The template has no such version" if known else "Template does not exist")
    return template


def delete(ctx: ActionContext, template_id: str) -> None:
    """No document can be made from it any more; those that were have all they need."""
    template = find(ctx.tx, ctx.workspace_id, template_id)
    templates.drop(ctx.tx, template.id)
    sketches.drop(ctx.tx, template.id)
    blobs.release_all(ctx.tx, template.id, ctx.now)


def _next(before: Template, change: TemplateChange, files: Sequence[NewFile], now: datetime) -> Template:
    given = {name: value for name in _TAKEN_OVER if (value := getattr(change, name)) is not UNSET}
    fields = _fields(before, change, files, now)
    # What a file brought along goes with it, unless another brings the same.
    gone = [describe(field) for field in before.content.fields if files and change.fields is UNSET and field.found]
    content = replace(before.content, fields=fields, fell_off=gone, **given)
    if files:
        content = replace(content, files=[made_file(file, now) for file in files], places=[])
    name = before.name if change.name is UNSET else change.name
    return replace(before, version=before.version + 1, name=name, content=content, updated_at=instant(now))


def _fields(before: Template, change: TemplateChange, files: Sequence[NewFile], now: datetime) -> list[TemplateField]:
    """The fields that are asked for; those that a file brought along go with it."""
    if change.fields is UNSET:
        return [field for field in before.content.fields if not (files and field.found)]
    numbers = number_files(change.fields, [file.id for file in before.content.files])
    return [field if field.id else replace(field, id=new_id("fld", now)) for field in numbers]


def _needs_paper(before: Template, after: Template, files: Sequence[NewFile]) -> bool:
    """Whether the files have to be taken in: others, on other terms, or with places for more signatures."""
    content = after.content
    if files or before.status == "failed" or content.signed_input != before.content.signed_input:
        return True
    return without_field(sample_parties(content.roles), content.fields) > len(content.places)


async def _originals(services: SigningServices, content: Content, files: Sequence[NewFile]) -> list[OriginalFile]:
    if not files:
        return await services.db.read(lambda tx: originals_of(tx, content))
    return [OriginalFile(one.name, one.original.blob, one.password, content.signed_input, form=True) for one in files]


def _to_be_converted(
    ctx: ActionContext, before: Template, unmade: UnpreparedTemplate, received: Sequence[ReceivedBlob]
) -> Template:
    convert_template.plan(ctx, unmade)
    return _stored(ctx, before, unmade.template, received)


def _stored(ctx: ActionContext, before: Template, after: Template, received: Sequence[ReceivedBlob]) -> Template:
    try_out(ctx, after)
    blobs.adopt_all(ctx.tx, received, after.id, ctx.now)
    templates.add_version(ctx.tx, before, after)
    return after
