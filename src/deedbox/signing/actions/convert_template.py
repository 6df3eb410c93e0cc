"""Convert a template: its files become the paper of all its documents; those that take long, by a job."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from deedbox.kernel import jobs
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.jobs import Work
from deedbox.kernel.sandbox import SandboxFailed
from deedbox.signing import limits
from deedbox.signing.action_context import ActionContext, SigningServices
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.actions.create_from_template import draft_document, ready_of
from deedbox.signing.preparation import OriginalFile, Plan, PreparedDocument, PreparedDocumentFile
from deedbox.signing.preparation.by_role import (
    ByRole,
    by_role,
    check_fields,
    check_roles,
    sample_parties,
    sample_people,
    without_values,
)
from deedbox.signing.sketch import describe
from deedbox.signing.store import templates
from deedbox.signing.template import Content, FromTemplate, Template, TemplateField

CONVERT_TEMPLATE_JOB = "convert_template"


class UnpreparedTemplate(NamedTuple):
    """A version of a template whose paper is to be made."""

    template: Template
    originals: Sequence[OriginalFile]
    finding: bool
    """Whether fields that the files bring along are added to those of the template."""
    fitting: bool = False
    """Whether fields that have no place in the files fall off."""


@asynccontextmanager
async def prepare_version(
    preparation: DocumentPreparation, unmade: UnpreparedTemplate, now: datetime
) -> AsyncIterator[tuple[Template, PreparedDocument]]:
    """The version, ready, with its paper until the end of this; BadRequest says why there can be none."""
    content, found = unmade.template.content, list[ByRole]()

    def planner(files: Sequence[PreparedDocumentFile]) -> Plan:
        brought = files if unmade.finding else ()
        fields = _with_place(content.fields, files) if unmade.fitting else content.fields
        found.append(by_role(content.roles, fields, brought, now))
        check_roles(found[0].roles)
        check_fields(found[0].fields, found[0].roles)
        return Plan(sample_parties(found[0].roles), found[0].fields)

    async with preparation.planned(unmade.originals, planner) as paper:
        complete = _complete(content, found[0], paper)
        yield replace(unmade.template, status="ready", paper_sha256=paper.sha256, content=complete), paper


def try_out(ctx: ActionContext, template: Template) -> None:
    """Raises BadRequest if no document can be made from the version: a field lies off its page, a default is wrong."""
    if template.paper_sha256 is not None:
        content = replace(template.content, fields=without_values(template.content.fields))
        people = sample_people(content.roles)
        ready = ready_of(replace(template, content=content))
        draft_document(ctx, ready, FromTemplate(template_id=template.id, roles=people))


def plan(ctx: ActionContext, unmade: UnpreparedTemplate) -> None:
    """The version is converted as soon as there is time for it."""
    template, terms = unmade.template, {"finding": unmade.finding, "fitting": unmade.fitting}
    jobs.enqueue(
        ctx.tx,
        jobs.NewJob(
            CONVERT_TEMPLATE_JOB,
            {"template_id": template.id, "version": template.version, **terms},
            unique_key=f"{CONVERT_TEMPLATE_JOB}:{template.id}:{template.version}",
            workspace_id=template.workspace_id,
        ),
        now=ctx.now,
    )


class TemplateConversion:
    """The job that makes the papers of templates whose files must be converted first."""

    def __init__(self, services: SigningServices, preparation: DocumentPreparation) -> None:
        self._services, self._preparation = services, preparation

    async def run(self, work: Work) -> None:
        """The handler of these jobs."""
        workspace_id, template_id = work.named("template_id")
        version = int(str(work.job.payload["version"]))
        finding, fitting = (bool(work.job.payload[name]) for name in ("finding", "fitting"))
        found = await self._services.db.read(lambda tx: _processing(tx, workspace_id, template_id, version))
        if found is None:
            return  # an attempt before this one has done it, or the template is gone
        unmade = found._replace(finding=finding, fitting=fitting)
        try:
            if work.job.attempts > limits.PREPARE_ATTEMPTS:
                raise BadRequest(
                    "The file could not be converted; it may be damaged. Save it as a PDF and upload that."
                )
            async with prepare_version(self._preparation, unmade, self._services.clock.now()) as (ready, paper):
                await work.finish(lambda tx: self._converted(tx, ready, paper))
        except (BadRequest, SandboxFailed) as error:
            failed = replace(unmade.template, status="failed", error=error.message)
            await work.finish(lambda tx: templates.complete(tx, failed))

    def _converted(self, tx: Tx, ready: Template, paper: PreparedDocument) -> None:
        with self._services.action(tx, ready.workspace_id) as ctx:
            try_out(ctx, ready)
            if templates.complete(tx, ready):
                blobs.adopt(tx, paper.pdf, ready.id, ctx.now)


def originals_of(tx: Tx, content: Content) -> list[OriginalFile]:
    """The stored files of a version."""
    return [
        OriginalFile(file.name, blobs.demand(tx, file.sha256), None, content.signed_input, file.pages, form=True)
        for file in content.files
    ]


def _processing(tx: Tx, workspace_id: str, template_id: str, version: int) -> UnpreparedTemplate | None:
    template = templates.find(tx, workspace_id, template_id, version)
    if template is None or template.status != "processing":
        return None
    return UnpreparedTemplate(template, originals_of(tx, template.content), finding=True)


def _with_place(fields: Sequence[TemplateField], files: Sequence[PreparedDocumentFile]) -> list[TemplateField]:
    """The fields whose page the files have, without those that one of the others would have had to show."""
    kept = [
        field
        for field in fields
        if field.file_number < len(files) and field.page <= len(files[field.file_number].sizes)
    ]
    before = len(kept) + 1
    while len(kept) < before:
        names = {name for field in kept for name in (field.id, field.label, field.group)}
        before, kept = len(kept), [field for field in kept if not field.show_if or field.show_if.field in names]
    return kept


def _complete(content: Content, found: ByRole, paper: PreparedDocument) -> Content:
    files = [
        replace(file, sizes=[*made.sizes], removed=[*made.removed], signatures=[*made.signatures])
        for file, made in zip(content.files, paper.files, strict=True)
    ]
    names, ids = {describe(field) for field in found.fields}, {field.id for field in found.fields}
    fell_off = [name for name in content.fell_off if name not in names]
    fell_off += [describe(field) for field in content.fields if field.id not in ids]
    return replace(
        content, files=files, roles=found.roles, fields=found.fields, places=[*paper.places], fell_off=fell_off
    )
