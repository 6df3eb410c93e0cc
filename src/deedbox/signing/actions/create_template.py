"""Create a template: from files, taken in and rehearsed once for all its documents, or from a document."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import count

from msgspec.structs import asdict, replace

from deedbox.kernel.blobs import ReceivedBlob
from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.clock import instant
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.ids import new_id
from deedbox.signing import parties, states
from deedbox.signing.action_context import ActionContext, SigningServices, document_of
from deedbox.signing.actions import convert_template
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.actions.convert_template import UnpreparedTemplate, try_out
from deedbox.signing.actions.create import DEFAULT_LANGUAGE, made_file
from deedbox.signing.model import Document, DocumentFile, Field, Packet, Party, Signer
from deedbox.signing.model import Role as PersonRole
from deedbox.signing.new_document import NewFile, as_known
from deedbox.signing.preparation import OriginalFile
from deedbox.signing.preparation.by_role import check_fields, check_files, check_roles, renew_ids, template_field
from deedbox.signing.preparation.placing import place_of
from deedbox.signing.store import templates
from deedbox.signing.template import SAID_BY_DOCUMENT, Content, NewTemplate, Role, Template, TemplateField

_ACTS: tuple[PersonRole, ...] = ("signer", "approver", "cc")
"""The first of those in a party has the party's own rule."""


@asynccontextmanager
async def prepare(
    services: SigningServices,
    preparation: DocumentPreparation,
    workspace_id: str,
    new: NewTemplate,
    files: Sequence[NewFile],
) -> AsyncIterator[Callable[[ActionContext], Template]]:
    """What creates the template in a transaction, once its files have been through the sandboxes.

    Word and HTML are converted later, by a job: until then the template is `processing`."""
    if bool(files) == (new.document_id is not None):
        raise BadRequest("Give a file, files or document_id, and only one of these")
    check_roles(new.roles)
    if new.roles:
        check_fields(new.fields, new.roles)
    if new.document_id is not None:
        document_id = new.document_id
        yield lambda ctx: from_document(ctx, new, document_id)
        return
    check_files(new.fields, len(files))
    now = services.clock.now()
    template, received = _template(workspace_id, new, files, now), [file.original for file in files]
    originals = [OriginalFile(one.name, one.original.blob, one.password, new.signed_input, form=True) for one in files]
    if await preparation.intake.takes_long(originals):
        yield lambda ctx: _to_be_converted(ctx, template, received)
        return
    async with convert_template.prepare_version(
        preparation, UnpreparedTemplate(template, originals, finding=True), now
    ) as (ready, paper):
        yield lambda ctx: _stored(ctx, ready, [*received, paper.pdf])


def from_document(ctx: ActionContext, new: NewTemplate, document_id: str) -> Template:
    """The template with the files, parties and fields of a document, whose paper is ready."""
    packet, document = document_of(ctx.tx, ctx.workspace_id, document_id)
    SAID_BY_DOCUMENT.check(new)
    if document.paper_sha256 is None:
        raise states.refusal(document.status)
    shown = replace(new, message=new.message or packet.message, reminders=new.reminders or packet.reminders)
    roles = _roles(packet, document)
    content = replace(
        _content(shown, [replace(file, id=new_id("fil", ctx.now)) for file in document.files]),
        roles=[*roles.values()],
        fields=_fields(packet, document, roles, ctx.now),
        places=[place_of(one) for one in document.fields if _is_seat(packet, document, one)],
        language=new.language or packet.language,
        signed_input=document.signed_input,
    )
    template = Template(
        new_id("tpl", ctx.now), ctx.workspace_id, 1, new.name, "ready", None, document.paper_sha256, content, ctx.at,
        ctx.at,
    )  # fmt: skip
    check_roles(content.roles)
    try_out(ctx, template)
    blobs.share(ctx.tx, {document.paper_sha256, *(file.sha256 for file in document.files)}, [template.id])
    templates.add(ctx.tx, template)
    return template


def _template(workspace_id: str, new: NewTemplate, files: Sequence[NewFile], now: datetime) -> Template:
    content = _content(new, [made_file(file, now) for file in files])
    content = replace(content, fields=[template_field(field, now) for field in new.fields])
    at = instant(now)
    return Template(new_id("tpl", now), workspace_id, 1, new.name, "processing", None, None, content, at, at)


def _content(new: NewTemplate, files: Sequence[DocumentFile]) -> Content:
    return Content(
        files=files,
        roles=new.roles,
        message=new.message,
        reminders=new.reminders,
        expires_after_hours=new.expires_after_hours,
        metadata=dict(new.metadata),
        language=new.language or DEFAULT_LANGUAGE,
        signed_input=new.signed_input,
    )


def _to_be_converted(ctx: ActionContext, template: Template, received: Sequence[ReceivedBlob]) -> Template:
    convert_template.plan(ctx, UnpreparedTemplate(template, (), finding=True))
    return _stored(ctx, template, received)


def _stored(ctx: ActionContext, template: Template, received: Sequence[ReceivedBlob]) -> Template:
    try_out(ctx, template)
    blobs.adopt_all(ctx.tx, received, template.id, ctx.now)
    templates.add(ctx.tx, template)
    return template


def _roles(packet: Packet, document: Document) -> dict[str, Role]:
    """The parties that have a part in the document as roles, by their ids; who approves or gets a copy beside those who
    sign has a role of their own. Of those with one name, the later ones are numbered."""
    found: dict[str, Role] = {}
    for party in packet.parties:
        if not packet.lone and not any(parties.own_fields(document, party, one) for one in party.signers):
            continue
        acts = Counter(one.role for one in party.signers if one.delegated_to is None)
        for number, (act, people) in enumerate(sorted(acts.items(), key=lambda one: _ACTS.index(one[0]))):
            name = _free(party.name if number == 0 else f"{party.name} ({act})", found.values())
            key = party.id if number == 0 else f"{party.id}:{act}"
            found[key] = _role(party, name, act, people, main=number == 0)
    return found


def _role(party: Party, name: str, act: PersonRole, people: int, *, main: bool) -> Role:
    by_quorum = main and party.rule == "quorum"
    return Role(
        name=name,
        order=party.order,
        rule=party.rule if main else "all",
        quorum=min(party.quorum or 1, people) if by_quorum else None,
        signers=people,
        on_decline=party.on_decline,
        role=act,
    )


def _free(name: str, roles: Iterable[Role]) -> str:
    """The name, numbered if a role has it already."""
    taken = {role.name.casefold() for role in roles}
    names = (name if number == 1 else f"{name} {number}" for number in count(1))
    return next(one for one in names if one.casefold() not in taken)


def _fields(packet: Packet, document: Document, roles: Mapping[str, Role], now: datetime) -> list[TemplateField]:
    """The document's fields by role. A party's people are interchangeable: a field of one is a field of the party."""
    numbers = {file.id: number for number, file in enumerate(document.files)}
    whose = {party_id: role.name for party_id, role in roles.items()}
    whose |= {signer.id: whose[party.id] for party, signer in packet.signers() if party.id in whose}
    known = [as_known(field, numbers[field.file_id]) for field in document.fields]
    fields = [
        TemplateField(**asdict(replace(one, signer=None, party=whose[one.signer or one.party or ""])))
        for one, field in zip(known, document.fields, strict=True)
        if not _is_seat(packet, document, field)
    ]
    return renew_ids(fields, now)


def _is_seat(packet: Packet, document: Document, field: Field) -> bool:
    """Whether it is the signature of one of several people, at a place that anyone of their role may take."""
    shared = {signer.id for party, signer in packet.signers() if sum(map(_signs, party.signers)) > 1}
    return field.type == "signature" and field.signer_id in shared and field.file_id == document.files[-1].id


def _signs(signer: Signer) -> bool:
    return signer.role == "signer" and signer.delegated_to is None
