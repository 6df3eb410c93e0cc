"""A template's next version by its page: name, roles and words."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from msgspec import UNSET, Meta
from msgspec.structs import replace

from deedbox import i18n
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import ServiceError
from deedbox.signing.actions import draw_template
from deedbox.signing.model import Message, Reminders
from deedbox.signing.new_document import Language, Title
from deedbox.signing.template import Role, Template, TemplateChange, TemplateField
from deedbox.web import limits
from deedbox.web.dashboard import template_version
from deedbox.web.dashboard.rows import rows
from deedbox.web.dashboard.template_version import Next
from deedbox.web.dashboard.templates import asked_roles, roles_of
from deedbox.web.http import context, page_forms
from deedbox.web.http.app_pages import app_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import text
from deedbox.web.http.pages import go

_WORDS = ("name", "subject", "body", "language", "expires_days", "remind_after", "remind_every", "remind_max")
Days = Annotated[int, Meta(ge=1, le=shared_limits.REMINDER_HOURS_MAX // 24)]


class EditForm(msgspec.Struct, frozen=True):
    name: Title
    subject: Annotated[str, Meta(max_length=shared_limits.MESSAGE_SUBJECT_CHARS)] = ""
    body: Annotated[str, Meta(max_length=shared_limits.MESSAGE_BODY_CHARS)] = ""
    language: Language = "en"
    expires_days: Annotated[int, Meta(ge=1, le=shared_limits.EXPIRES_AFTER_HOURS_MAX // 24)] | None = None
    remind_after: Days | None = None
    remind_every: Days | None = None
    remind_max: Annotated[int, Meta(ge=1, le=shared_limits.REMINDERS_MAX)] | None = None


@get("/app/templates/{template_id:str}/edit", opt=person("documents:write"), include_in_schema=False)
async def edit_page(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    return _page(request, await template_version.newest(request, template_id))


@post(
    "/app/templates/{template_id:str}/edit",
    opt=person("documents:write"),
    include_in_schema=False,
    request_max_body_size=limits.SIGNING_FORM_BYTES,
)
async def save_template(request: AnyRequest, template_id: FromPath[str]) -> Response[Any]:
    """The next version, if anything differs; what was sent keeps its own."""
    form, before = await page_forms.form_of(request), await template_version.newest(request, template_id)
    try:
        with page_forms.send_once(request, form) as sent:
            if led := await sent.before():
                return go(led)
            wanted = _changes(form, before)
            if wanted is None:
                return go(f"/app/templates/{template_id}?done=same")
            now = context.of(request).deedbox.clock.now()
            elsewhere = wanted.roles is not UNSET or wanted.fields is not UNSET
            save = template_version.save(
                request,
                sent,
                Next(before, wanted),
                lambda tx: draw_template.kept_over(tx, before, now, elsewhere=elsewhere),
            )
            return go(await save)
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _page(request, before, form, error)


def _changes(form: FormMultiDict, before: Template) -> TemplateChange | None:
    """What differs from the version before; None if nothing does."""
    told, roles, content = page_forms.read_struct(form, EditForm), asked_roles(form), before.content
    wanted: dict[str, Any] = {
        "name": told.name,
        "message": Message(told.subject, told.body) if told.subject or told.body else None,
        "language": told.language,
        "expires_after_hours": _hours(told.expires_days, content.expires_after_hours),
        "reminders": _reminders(told, content.reminders),
        "roles": roles,
    }
    fields = _followed(content.fields, form, roles)
    now = {name: getattr(before if name == "name" else content, name) for name in wanted}
    given = {
        name: value for name, value in wanted.items() if value != (list(now[name]) if name == "roles" else now[name])
    }
    if fields != list(content.fields):
        given["fields"] = fields
    return TemplateChange(**given) if given else None


def _followed(fields: Any, form: FormMultiDict, roles: list[Role]) -> list[TemplateField]:
    """The fields with the new names of their roles; those of a role that is gone go with it."""
    was = [row.get("was", "").casefold() for row in roles_of(form)]
    names = {old: role.name for old, role in zip(was, roles, strict=True) if old}
    kept = [field for field in fields if (field.party or "").casefold() in names]
    return [replace(field, party=names[(field.party or "").casefold()]) for field in kept]


def _hours(days: int | None, before: int | None) -> int | None:
    """The hours of so many days; those of before where they round to the same."""
    return before if days == _days(before) else days and 24 * days


def _days(hours: int | None) -> int | None:
    return None if hours is None else max(1, round(hours / 24))


def _reminders(told: EditForm, before: Reminders | None) -> Reminders | None:
    if told.remind_after is None:
        return None
    first, every = (before.first_after_hours, before.every_hours) if before else (None, None)
    after = _hours(told.remind_after, first) or 24
    at_night = before.at_night if before else False
    return Reminders(after, _hours(told.remind_every, every) or after, told.remind_max or 3, at_night)


def _page(
    request: AnyRequest, found: Template, form: FormMultiDict | None = None, error: ServiceError | None = None
) -> Response[Any]:
    content = found.content
    if form is not None:
        typed, roles = {name: text(form, name) for name in _WORDS}, rows(form, "roles", ["name", "was"])
    else:
        message, reminders = content.message or Message("", ""), content.reminders
        times = (reminders.first_after_hours, reminders.every_hours) if reminders else (None, None)
        numbers = [_days(content.expires_after_hours), *map(_days, times), reminders.max if reminders else None]
        said = [found.name, message.subject, message.body, content.language, *(str(one or "") for one in numbers)]
        typed = dict(zip(_WORDS, said, strict=True))
        roles = [_row(role) for role in content.roles]
    return app_page(
        request,
        "dashboard/templates/edit.html",
        error=error,
        found=found,
        once=page_forms.new_once(),
        typed=typed,
        roles=[*roles, {}],
        languages=i18n.NAMES,
        fields={
            role.name: sum((one.party or "").casefold() == role.name.casefold() for one in content.fields)
            for role in content.roles
        },
    )


def _row(role: Role) -> dict[str, str]:
    told = msgspec.to_builtins(role)
    return {name: "" if value is None else str(value) for name, value in told.items()} | {"was": role.name}


ROUTES: list[Any] = [edit_page, save_template]
