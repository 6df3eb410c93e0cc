"""Tools for documents to be signed: what they can be made of, a draft, its state, and sending it."""

from typing import Annotated

import msgspec

from deedbox.assistant import limits
from deedbox.assistant.api import Api, ApiRequest, answer, get, post
from deedbox.assistant.tool import Cursor, DocumentId, Limit, TemplateId, Tool, ToolOutcome, describe
from deedbox.kernel import limits as shared_limits


class ListTemplates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    named: Annotated[str, describe("Only those whose name holds this.", min_length=1, max_length=255)] | None = None
    limit: Limit = limits.TOOL_ITEMS_DEFAULT
    cursor: Cursor | None = None


class RoleSummary(msgspec.Struct, frozen=True):
    name: str
    order: Annotated[int, describe("Lower ones sign first.")]
    signers: Annotated[int | None, describe("How many people it takes; null: one or more.")]


class FieldSummary(msgspec.Struct, frozen=True):
    label: Annotated[str | None, describe("By this name prepare_draft takes a value.")]
    type: str
    party: Annotated[str | None, describe("The role that fills it.")]
    required: bool


class TemplateSummary(msgspec.Struct, frozen=True):
    id: str
    name: str
    status: Annotated[str, describe("Drafts can be created from it when it is `ready`.")]
    roles: list[RoleSummary]
    fields: list[FieldSummary]


class Templates(msgspec.Struct, frozen=True):
    templates: list[TemplateSummary]
    next_cursor: str | None


async def list_templates(api: Api, wanted: ListTemplates) -> ToolOutcome:
    asked = get("/api/v1/templates", q=wanted.named, limit=wanted.limit, cursor=wanted.cursor)
    heard = await answer(api, asked, Templates)
    said = f"{len(heard.templates)} templates" + ("." if heard.next_cursor is None else "; there are more.")
    return ToolOutcome(heard, said, [_template(one) for one in heard.templates])


def _template(template: TemplateSummary) -> str:
    roles = ", ".join(role.name for role in template.roles)
    labels = ", ".join(sorted({field.label for field in template.fields if field.label}))
    return (
        f"{template.id} ({template.status}): {template.name}\nroles: {roles}\nfields: {labels or 'none with a label'}"
    )


class PersonSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, describe("As it stands on the certificate.", max_length=shared_limits.SIGNER_NAME_CHARS)]
    email: Annotated[str, describe("Where the invitation will go.", max_length=shared_limits.EMAIL_CHARS)]


People = Annotated[
    list[PersonSummary], describe("One or several.", min_length=1, max_length=shared_limits.DOCUMENT_SIGNERS)
]


class PrepareDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    template_id: TemplateId
    roles: Annotated[
        dict[str, People],
        describe("Who has which role of the template, by the role's name.", max_length=shared_limits.DOCUMENT_PARTIES),
    ]
    values: Annotated[
        dict[str, str], describe("What stands in fields, by their labels.", max_length=shared_limits.DOCUMENT_FIELDS)
    ] = {}
    title: (
        Annotated[str, describe("The template's name unless given.", max_length=shared_limits.TITLE_CHARS)] | None
    ) = None


class SignerSummary(msgspec.Struct, frozen=True):
    name: str
    email: str
    status: str
    signed_at: str | None
    decline_reason: str | None


class PartySummary(msgspec.Struct, frozen=True):
    name: str
    order: int
    status: str
    signers: list[SignerSummary]


class SigningProgress(msgspec.Struct, frozen=True):
    signers_total: int
    signers_signed: int


class DocumentSummary(msgspec.Struct, frozen=True):
    id: str
    title: str
    status: Annotated[str, describe("A `draft` was sent to nobody; `completed` is signed by all and sealed.")]
    parties: list[PartySummary]
    progress: SigningProgress
    created_at: str
    sent_at: str | None
    completed_at: str | None
    expires_at: str | None
    verification_code: str | None
    error: str | None


async def prepare_draft(api: Api, wanted: PrepareDraft) -> ToolOutcome:
    new = {"template_id": wanted.template_id, "roles": wanted.roles, "values": wanted.values, "send": False}
    if wanted.title is not None:
        new["title"] = wanted.title
    state = await answer(api, post("/api/v1/documents", new), DocumentSummary)
    return _outcome(state, "The draft was created and nobody was notified. A person must review and send it. ")


class OneDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    document_id: DocumentId


async def document_state(api: Api, wanted: OneDocument) -> ToolOutcome:
    return _outcome(await answer(api, get(f"/api/v1/documents/{wanted.document_id}"), DocumentSummary))


async def send_draft(api: Api, wanted: OneDocument) -> ToolOutcome:
    state = await answer(api, ApiRequest("POST", f"/api/v1/documents/{wanted.document_id}/send"), DocumentSummary)
    return _outcome(state, "It is sent. ")


def _outcome(state: DocumentSummary, before: str = "") -> ToolOutcome:
    signed = f"{state.progress.signers_signed} of {state.progress.signers_total} have signed"
    said = f"{before}{state.id} is {state.status}; {signed}."
    lines = [state.title, *(line for party in state.parties for line in _party(party))]
    return ToolOutcome(state, said, ["\n".join(lines)])


def _party(party: PartySummary) -> list[str]:
    lines = [f"{party.name} (order {party.order}): {party.status}"]
    for signer in party.signers:
        reason = f", because: {signer.decline_reason}" if signer.decline_reason else ""
        lines.append(f"- {signer.name} <{signer.email}>: {signer.status}{reason}")
    return lines


TOOLS = [
    Tool(
        "list_templates",
        "List the templates",
        "Templates for new drafts, with their roles and the labels of their fields.",
        "documents:read",
        ListTemplates,
        Templates,
        list_templates,
    ),
    Tool(
        "prepare_draft",
        "Prepare a draft",
        "Makes a draft from a template, with people in its roles and values in its fields. A draft is sent to nobody.",
        "documents:write",
        PrepareDraft,
        DocumentSummary,
        prepare_draft,
        "prepares",
    ),
    Tool(
        "document_state",
        "State of a document",
        "Where a document to be signed stands: who has signed, who is waited for, who has declined and why.",
        "documents:read",
        OneDocument,
        DocumentSummary,
        document_state,
    ),
    Tool(
        "send_draft",
        "Send a draft",
        "Sends a draft to its signers: they get mails, and it cannot be taken back unseen. Ask a person first.",
        "documents:send",
        OneDocument,
        DocumentSummary,
        send_draft,
        "sends",
    ),
]
