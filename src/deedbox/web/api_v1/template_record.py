"""A template as the API shows it, in one of its versions."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from deedbox.pdf.intake.signed_input import SignedInput
from deedbox.signing.model import Message, Reminders
from deedbox.signing.template import Role, Template, TemplateField, TemplateStatus
from deedbox.web.api_v1.document_record import FileRecord, file_records


class TemplateRecord(msgspec.Struct, frozen=True):
    id: str
    """The template's id."""
    object: Literal["template"]
    name: str
    """What it is called, and each document made from it that is given no title."""
    version: int
    """Counts its changes, from 1."""
    status: TemplateStatus
    """Documents can be made from it when it is `ready`."""
    files: list[FileRecord]
    """Its files, in their order."""
    roles: Sequence[Role]
    """Who signs, and in which order: parties without people."""
    fields: Sequence[TemplateField]
    """What is filled in, and where; `party` is the name of a role."""
    message: Message | None
    """What the invitation says; null: the usual words."""
    reminders: Reminders | None
    """When people are reminded; null: never."""
    expires_after_hours: int | None
    """How long a document can be signed, from sending; null: for ever."""
    metadata: dict[str, str]
    """Your own names and values, which each document gets."""
    language: str
    """The language of the certificate, and of whoever has none of their own."""
    signed_input: SignedInput
    """What is done with a file that was signed before it came."""
    created_at: str
    """When the template was made."""
    updated_at: str
    """When this version was made."""
    error: str | None
    """Why its files could not be converted; null unless it is `failed`."""


def record(template: Template) -> TemplateRecord:
    content = template.content
    return TemplateRecord(
        id=template.id,
        object="template",
        name=template.name,
        version=template.version,
        status=template.status,
        files=file_records(content.files),
        roles=content.roles,
        fields=[replace(field, file=content.files[field.file_number].id) for field in content.fields],
        message=content.message,
        reminders=content.reminders,
        expires_after_hours=content.expires_after_hours,
        metadata=content.metadata,
        language=content.language,
        signed_input=content.signed_input,
        created_at=template.created_at,
        updated_at=template.updated_at,
        error=template.error,
    )
