"""Create from a template: a document on a paper that is ready. Nothing is read, rewritten or rehearsed."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec
from msgspec.structs import replace

from deedbox.kernel.blobs import store as blobs
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, NotFound
from deedbox.kernel.ids import new_id
from deedbox.pdf.marks.marks import PageRect
from deedbox.signing import limits, sessions, states
from deedbox.signing.action_context import ActionContext, ActionScope, SigningServices
from deedbox.signing.actions import convert, send
from deedbox.signing.actions import create as creation
from deedbox.signing.model import Document, Packet, Source
from deedbox.signing.new_document import (
    SAID_BY_TEMPLATE,
    KnownField,
    NewDocument,
    NewParty,
    as_known,
    end_of,
    without_field,
)
from deedbox.signing.preparation import StoredPreparation
from deedbox.signing.preparation.by_role import renew_ids
from deedbox.signing.preparation.placing import laid_out, place_of
from deedbox.signing.sessions import HashedCodes
from deedbox.signing.store import templates
from deedbox.signing.template import FromTemplate, Role, Template, TemplateField

_NO_CODES: HashedCodes = {}
_NOT_READY = {
    "processing": "The template is still being converted. Look at it again in a moment.",
    "failed": "The template's files could not be converted. Give it others by PATCH.",
}


class ReadyTemplate(msgspec.Struct, frozen=True):
    """A version of a template with all that documents are made of."""

    template: Template
    paper: StoredPreparation

    def asked(self, now: datetime) -> list[TemplateField]:
        """The fields of a document that is made from it, with ids of their own."""
        return renew_ids(self.template.content.fields, now)

    @property
    def hashes(self) -> set[str]:
        """The blobs that each document made from it refers to."""
        return {self.paper.sha256, *(file.sha256 for file in self.template.content.files)}


def ready(tx: Tx, workspace_id: str, template_id: str, version: int | None = None) -> ReadyTemplate:
    """The template in this version, or in its newest; Conflict unless its paper is made."""
    template = templates.find(tx, workspace_id, template_id, version)
    if template is None:
        raise NotFound("Template does not exist")
    return ready_of(template)


def ready_of(template: Template) -> ReadyTemplate:
    """The version with all that documents are made of; Conflict unless its paper is made."""
    if template.paper_sha256 is None:
        raise Conflict(_NOT_READY[template.status])
    content = template.content
    return ReadyTemplate(template, StoredPreparation.of(template.paper_sha256, content.files, content.places))


def wanted_of(new: NewDocument) -> FromTemplate:
    """What a request for a document asks of its template; BadRequest for what the template itself says."""
    if new.template_id is None:
        raise BadRequest("template_id: missing")
    SAID_BY_TEMPLATE.check(new)
    return msgspec.convert(new, FromTemplate, from_attributes=True)


@asynccontextmanager
async def prepare(services: SigningServices, wanted: FromTemplate) -> AsyncIterator[Callable[[ActionContext], Packet]]:
    """What creates the document in a transaction, once people's access codes are hashed."""
    people = [NewParty(name, wanted.people(name)) for name in wanted.roles]
    creation.check_parties(people)
    send.need_mail_for_codes(people, services.notifier)
    end_of(wanted.expires_at, services.clock.now())
    codes = await sessions.hashed_codes(people)
    yield lambda ctx: create(ctx, ready(ctx.tx, ctx.workspace_id, wanted.template_id), wanted, codes=codes)


def draft_document(
    ctx: ActionScope,
    ready: ReadyTemplate,
    wanted: FromTemplate,
    *,
    source: Source = "template",
    bulk_send_id: str | None = None,
    codes: HashedCodes = _NO_CODES,
) -> Packet:
    """The draft of the document that is wanted; nothing is read or stored. BadRequest names what is wrong."""
    template = ready.template
    new = _asked(ready, wanted)
    files = [replace(file, id=new_id("fil", ctx.now)) for file in template.content.files]
    packet = creation.new_packet(ctx, new, files, source, codes)
    hours = template.content.expires_after_hours if wanted.expires_at is None else None
    packet = replace(packet, expires_after_hours=hours)
    made_from = {"template_id": template.id, "template_version": template.version, "bulk_send_id": bulk_send_id}
    draft = states.move(packet.first, "lay_out", ctx.at, **made_from)
    laid = laid_out(packet, draft, ready.paper, ready.asked(ctx.now), ctx.now, wanted.values)
    return packet.with_document(laid)


def create(
    ctx: ActionContext,
    ready: ReadyTemplate,
    wanted: FromTemplate,
    *,
    source: Source = "template",
    codes: HashedCodes = _NO_CODES,
) -> Packet:
    """A packet of one document made from the template: a draft, sent if that is asked for."""
    draft = draft_document(ctx, ready, wanted, source=source, codes=codes)
    after = send.as_sent(draft, ctx.now) if wanted.send else draft
    document = after.first
    blobs.share(ctx.tx, ready.hashes, [document.id])
    after = ctx.add(after, {document.id: as_request(after, document, ready)})
    ctx.record(after.first, "document.created", creation_details(after.first))
    if wanted.send:
        send.announce(ctx, draft, after)
    return after


def creation_details(document: Document) -> dict[str, object]:
    """What the trail of a document made from a template begins with."""
    return {
        "title": document.title,
        "files": [file.sha256 for file in document.files],
        "template": document.template_id,
        "template_version": document.template_version,
    }


def as_request(packet: Packet, document: Document, ready: ReadyTemplate) -> list[KnownField]:
    """The fields of a draft on a ready paper, as its sender may ask for them again; once it is sent, none.

    They are their roles', whoever has these by then; signatures at places of the template are placed again."""
    numbers = {file.id: number for number, file in enumerate(document.files)}
    if document.status != "draft":
        return []
    whose = {one_id: party.name for party, signer in packet.signers() for one_id in (party.id, signer.id)}
    places = [*ready.paper.places]
    return [
        replace(
            as_known(field, numbers[field.file_id]), signer=None, party=whose[field.signer_id or field.party_id or ""]
        )
        for field in document.fields
        if field.type != "signature" or field.file_id != document.files[-1].id or place_of(field) not in places
    ]


def paper_of(tx: Tx, document: Document) -> StoredPreparation | None:
    """The paper of a draft that was made from a template, with the places for signatures; None of any other."""
    if document.template_id is None or document.paper_sha256 is None:
        return None
    template = templates.find(tx, document.workspace_id, document.template_id, document.template_version)
    # Of a template that is gone, the places are left that are taken.
    places = template.content.places if template else _seats(tx, document)
    return StoredPreparation.of(document.paper_sha256, document.files, places)


def _seats(tx: Tx, document: Document) -> list[PageRect]:
    """Where signatures stand that nobody has asked for."""
    last = len(document.files) - 1
    asked = [place_of(one) for one in convert.asked_fields(tx, document) if one.file_number == last]
    signatures = [
        place_of(field)
        for field in document.fields
        if field.type == "signature" and field.file_id == document.files[-1].id
    ]
    return [place for place in signatures if place not in asked]


def joined_metadata(template: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Those of the document over those of its template; BadRequest if they are too many together."""
    metadata = {**template, **given}
    if len(metadata) > limits.METADATA_ENTRIES:
        raise BadRequest(f"metadata: with that of the template there are more than {limits.METADATA_ENTRIES} entries")
    return metadata


def _asked(ready: ReadyTemplate, wanted: FromTemplate) -> NewDocument:
    template, content = ready.template, ready.template.content
    parties = _parties(content.roles, wanted)
    if without_field(parties, content.fields) > len(ready.paper.places):
        raise BadRequest(
            "roles: the template has too few signature fields. Set `signers` in its roles, or add signature fields."
        )
    return NewDocument(
        title=wanted.title or template.name,
        parties=parties,
        message=wanted.message or content.message,
        metadata=joined_metadata(content.metadata, wanted.metadata),
        external_id=wanted.external_id,
        expires_at=wanted.expires_at,
        reminders=wanted.reminders or content.reminders,
        language=wanted.language or content.language,
        require_timestamp=wanted.require_timestamp,
        signed_input=content.signed_input,
        send=wanted.send,
    )


def _parties(roles: Sequence[Role], wanted: FromTemplate) -> list[NewParty]:
    known = [role.name for role in roles]
    if unknown := next((name for name in wanted.roles if name not in known), None):
        raise BadRequest(f"roles: the template has no role {unknown!r}; it has {', '.join(known)}")
    return [_party(role, wanted) for role in roles]


def _party(role: Role, wanted: FromTemplate) -> NewParty:
    people = wanted.people(role.name)
    if not people:
        raise BadRequest(f"roles: {role.name} is missing; the template needs somebody for it")
    if role.signers is not None and len(people) != role.signers:
        raise BadRequest(f"roles: {role.name} takes {role.signers} people, but {len(people)} are given")
    return NewParty(
        name=role.name,
        signers=[replace(one, role=role.role) if one.role == "signer" else one for one in people],
        order=role.order,
        rule=role.rule,
        quorum=role.quorum,
        on_decline=role.on_decline,
    )
