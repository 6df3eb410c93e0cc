"""Tools for documents to be signed: what they can be made of, a draft, its state, and sending it."""

from typing import Annotated

import msgspec

from deedbox.assistant.api import Api, Asked, answer, get, post
from deedbox.assistant.tool import Cursor, DocumentId, Limit, Outcome, TemplateId, Tool, described
from deedbox.kernel import limits


class ListTemplates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    named: Annotated[str, described("Only those whose name holds this.", min_length=1, max_length=255)] | None = None
    limit: Limit = limits.TOOL_ITEMS_DEFAULT
    cursor: Cursor | None = None


class Role(msgspec.Struct, frozen=True):
    name: str
    order: Annotated[int, described("Lower ones sign first.")]
    signers: Annotated[int | None, described("How many people it takes; null: one or more.")]


class Field(msgspec.Struct, frozen=True):
    label: Annotated[str | None, described("By this name prepare_draft takes a value.")]
    type: str
    party: Annotated[str | None, described("The role that fills it.")]
    required: bool


class Template(msgspec.Struct, frozen=True):
    id: str
    name: str
    status: Annotated[str, described("Drafts can be created from it when it is `ready`.")]
    roles: list[Role]
    fields: list[Field]


class Templates(msgspec.Struct, frozen=True):
    templates: list[Template]
    next_cursor: str | None


async def list_templates(api: Api, wanted: ListTemplates) -> Outcome:
    asked = get("/api/v1/templates", q=wanted.named, limit=wanted.limit, cursor=wanted.cursor)
    heard = await answer(api, asked, Templates)
    said = f"{len(heard.templates)} templates" + ("." if heard.next_cursor is None else "; there are more.")
    return Outcome(heard, said, [_template(one) for one in heard.templates])


def _template(template: Template) -> str:
    roles = ", ".join(role.name for role in template.roles)
    labels = ", ".join(sorted({field.label for field in template.fields if field.label}))
    return (
        f"{template.id} ({template.status}): {template.name}\nroles: {roles}\nfields: {labels or 'none with a label'}"
    )


class Person(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, described("As it stands on the certificate.", max_length=limits.SIGNER_NAME_CHARS)]
    email: Annotated[str, described("Where the invitation will go.", max_length=limits.EMAIL_CHARS)]


People = Annotated[list[Person], described("One or several.", min_length=1, max_length=limits.DOCUMENT_SIGNERS)]


class PrepareDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    template_id: TemplateId
    roles: Annotated[
        dict[str, People],
        described("Who has which role of the template, by the role's name.", max_length=limits.DOCUMENT_PARTIES),
    ]
    values: Annotated[
        dict[str, str], described("What stands in fields, by their labels.", max_length=limits.DOCUMENT_FIELDS)
    ] = {}
    title: Annotated[str, described("The template's name unless given.", max_length=limits.TITLE_CHARS)] | None = None


class Signer(msgspec.Struct, frozen=True):
    name: str
    email: str
    status: str
    signed_at: str | None
    decline_reason: str | None


class Party(msgspec.Struct, frozen=True):
    name: str
    order: int
    status: str
    signers: list[Signer]


class Progress(msgspec.Struct, frozen=True):
    signers_total: int
    signers_signed: int


class State(msgspec.Struct, frozen=True):
    id: str
    title: str
    status: Annotated[str, described("A `draft` was sent to nobody; `completed` is signed by all and sealed.")]
    parties: list[Party]
    progress: Progress
    created_at: str
    sent_at: str | None
    completed_at: str | None
    expires_at: str | None
    verification_code: str | None
    error: str | None


async def prepare_draft(api: Api, wanted: PrepareDraft) -> Outcome:
    new = {"template_id": wanted.template_id, "roles": wanted.roles, "values": wanted.values, "send": False}
    if wanted.title is not None:
        new["title"] = wanted.title
    state = await answer(api, post("/api/v1/documents", new), State)
    return _outcome(state, "The draft was created and nobody was notified. A person must review and send it. ")


class OneDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    document_id: DocumentId


async def document_state(api: Api, wanted: OneDocument) -> Outcome:
    return _outcome(await answer(api, get(f"/api/v1/documents/{wanted.document_id}"), State))


async def send_draft(api: Api, wanted: OneDocument) -> Outcome:
    state = await answer(api, Asked("POST", f"/api/v1/documents/{wanted.document_id}/send"), State)
    return _outcome(state, "It is sent. ")


def _outcome(state: State, before: str = "") -> Outcome:
    signed = f"{state.progress.signers_signed} of {state.progress.signers_total} have signed"
    said = f"{before}{state.id} is {state.status}; {signed}."
    lines = [state.title, *(line for party in state.parties for line in _party(party))]
    return Outcome(state, said, ["\n".join(lines)])


def _party(party: Party) -> list[str]:
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
        State,
        prepare_draft,
        "prepares",
    ),
    Tool(
        "document_state",
        "State of a document",
        "Where a document to be signed stands: who has signed, who is waited for, who has declined and why.",
        "documents:read",
        OneDocument,
        State,
        document_state,
    ),
    Tool(
        "send_draft",
        "Send a draft",
        "Sends a draft to its signers: they get mails, and it cannot be taken back unseen. Ask a person first.",
        "documents:send",
        OneDocument,
        State,
        send_draft,
        "sends",
    ),
]
