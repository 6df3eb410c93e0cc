"""A document from a template: people for its roles, values for its fields, sent or kept as a draft."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import Meta

from deedbox import i18n
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.signing.actions import create_from_template as create
from deedbox.signing.model import Message, Reminders
from deedbox.signing.new_document import FieldValue, Label, Language, NewSigner, Title
from deedbox.signing.template import FromTemplate, Role, Template, TemplateField
from deedbox.web import limits
from deedbox.web.dashboard.initials import initials
from deedbox.web.dashboard.rows import replace_rows, rows
from deedbox.web.http import context, page_forms
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import text
from deedbox.web.http.pages import go

_PREFILLED = ("text", "number", "date", "select", "checkbox", "radio")
"""What a sender may fill in for others; names, addresses and signatures are theirs."""
Days = Annotated[int, Meta(ge=1, le=shared_limits.REMINDER_HOURS_MAX // 24)]


class RolePeople(msgspec.Struct, frozen=True):
    people: Annotated[list[NewSigner], Meta(max_length=shared_limits.DOCUMENT_SIGNERS)] = []


class LabelledValue(msgspec.Struct, frozen=True):
    label: Label
    value: FieldValue = ""


class UseForm(msgspec.Struct, frozen=True):
    """What is asked for beside the people."""

    title: Title | None = None
    subject: Annotated[str, Meta(max_length=shared_limits.MESSAGE_SUBJECT_CHARS)] = ""
    body: Annotated[str, Meta(max_length=shared_limits.MESSAGE_BODY_CHARS)] = ""
    language: Language | None = None
    expires_days: Annotated[int, Meta(ge=1, le=shared_limits.EXPIRES_AFTER_HOURS_MAX // 24)] | None = None
    remind_after: Days | None = None
    remind_every: Days | None = None
    remind_max: Annotated[int, Meta(ge=1, le=shared_limits.REMINDERS_MAX)] | None = None
    values: Annotated[list[LabelledValue], Meta(max_length=shared_limits.DOCUMENT_FIELDS)] = []


class Value(NamedTuple):
    """A field that can be filled in beforehand."""

    label: str
    type: str
    options: Sequence[str]
    typed: str


class Seats(NamedTuple):
    """A role, and what was typed of its people."""

    role: Role
    rows: list[dict[str, str]]
    more: bool
    """Whether it takes any number of people."""


@get("/app/templates/{template_id:str}/use", opt=person("documents:send"), include_in_schema=False)
async def use_page(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    return _page(request, await _template(request, template_id))


@post(
    "/app/templates/{template_id:str}/use",
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.SIGNING_FORM_BYTES,
)
async def use_template(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    """The document, sent once however often the button is pressed; or a draft, where that is asked for."""
    here, form = context.of(request), await page_forms.form_of(request)
    template = await _template(request, template_id)
    try:
        with page_forms.send_once(request, form) as sent:
            if before := await sent.before():
                return go(before)
            wanted = _wanted(request, form, template)
            async with create.prepare(here.deedbox.services, wanted) as make:

                def act(tx: Tx) -> str:
                    with here.action(tx) as ctx:
                        made = make(ctx).first
                    return f"/app/documents/{made.id}?done={'sent' if wanted.send else 'drafted'}"

                return go(await sent.once(act))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _page(request, template, form, error)


async def _template(request: AnyRequest, template_id: str) -> Template:
    here = context.of(request)
    workspace = here.caller.workspace_id
    return (await here.deedbox.db.read(lambda tx: create.ready(tx, workspace, template_id))).template


def _wanted(request: AnyRequest, form: FormMultiDict, template: Template) -> FromTemplate:
    told = page_forms.read_struct(form, UseForm)
    people, wrong = dict[str, Sequence[NewSigner]](), dict[str, str]()
    for number, role in enumerate(template.content.roles):
        prefix = f"roles.{number}.people"
        try:
            only = replace_rows(FormMultiDict(), {"people": _people(form, number)})
            people[role.name] = page_forms.read_struct(only, RolePeople).people
        except page_forms.WrongForm as error:
            wrong |= {name.replace("people", prefix, 1): said for name, said in error.wrong.items()}
    if wrong:
        raise page_forms.WrongForm(wrong)
    ends = context.of(request).deedbox.clock.now() + timedelta(days=told.expires_days) if told.expires_days else None
    return FromTemplate(
        template_id=template.id,
        roles={name: one for name, one in people.items() if one},
        values={one.label: one.value for one in told.values if one.value},
        title=told.title,
        message=Message(told.subject, told.body) if told.subject or told.body else None,
        language=told.language,
        expires_at=ends,
        reminders=_reminders(told),
        send=text(form, "act") != "draft",
    )


def _reminders(told: UseForm) -> Reminders | None:
    """When people are reminded; None where nothing is said of it, and the template decides."""
    if told.remind_after is None:
        return None
    return Reminders(24 * told.remind_after, 24 * (told.remind_every or told.remind_after), told.remind_max or 3)


def _people(form: FormMultiDict, number: int) -> list[dict[str, str]]:
    """The rows of the role's people, without those that are empty."""
    found = rows(form, f"roles.{number}.people", ["name", "email"])
    return [row if row.get("auth") == "access_code" else row | {"access_code": ""} for row in found]


def _page(
    request: AnyRequest, template: Template, form: FormMultiDict | None = None, error: ServiceError | None = None
) -> Response[Any]:
    content, given = template.content, form if form is not None else FormMultiDict()
    message = content.message or Message("", "")
    filled = {row["label"]: row.get("value", "") for row in rows(given, "values", ["label"])}
    typed = {name: text(given, name) for name in UseForm.__struct_fields__ if name != "values"}
    if form is None:
        typed |= {"title": template.name, "subject": message.subject, "body": message.body}
    return app_page(
        request,
        "dashboard/templates/use.html",
        error=error,
        found=template,
        once=page_forms.new_once(),
        typed=typed,
        seats=[_seats(role, _people(given, number)) for number, role in enumerate(content.roles)],
        values=_values(content.fields, filled),
        languages=i18n.NAMES,
        initials=initials,
    )


def _seats(role: Role, typed: list[dict[str, str]]) -> Seats:
    least = max(role.seats, 1)
    return Seats(role, [*typed, *[{}] * max(least - len(typed), 0)], more=role.signers is None)


def _values(fields: Sequence[TemplateField], typed: Mapping[str, str]) -> list[Value]:
    """What can be filled in, each label once; of radio buttons the group, with its choices."""
    found: dict[str, Value] = {}
    for field in fields:
        name = field.group if field.is_button else field.label
        if not name or field.type not in _PREFILLED:
            continue
        choices = [field.label or ""] if field.is_button else [*field.options]
        before = found[name].options if name in found and field.is_button else []
        kind = "select" if field.type == "radio" else field.type
        found[name] = Value(name, kind, [*before, *choices], typed.get(name, field.default or ""))
    return [*found.values()]


ROUTES: list[Any] = [use_page, use_template]
