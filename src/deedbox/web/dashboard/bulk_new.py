"""A new bulk send, step by step: a template and a CSV file, what its columns mean, what is wrong with its rows, and
then *Send*. The file is kept meanwhile, so that it is chosen once."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from litestar.params import FromPath
from litestar.response import Stream as StreamedResponse
from msgspec import UNSET, Meta, UnsetType

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel import validation_errors
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import BadRequest, Conflict, ServiceError
from deedbox.signing.actions import create_from_template
from deedbox.signing.bulk import guess, results, uploads
from deedbox.signing.bulk.columns import KnownColumns, is_plain
from deedbox.signing.bulk.model import BulkUpload, ColumnChoice, Name, Pace
from deedbox.signing.bulk.uploads import Head
from deedbox.signing.model import Message
from deedbox.signing.new_document import Id, Title
from deedbox.signing.store import templates
from deedbox.signing.template import Template
from deedbox.web import limits
from deedbox.web.dashboard.bulk import Done
from deedbox.web.http import context, page_files, page_forms
from deedbox.web.http.app_pages import app_page, asks_for_page
from deedbox.web.http.auth import person
from deedbox.web.http.blob_response import patiently
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.page_forms import beside, text
from deedbox.web.http.pages import go
from deedbox.web.http.query import QUERY

_PERSON = ("name", "email", "language", "time_zone", "access_code", "auth")
_ROW = ("key", "external_id", "language")
_SEVERAL = 2
"""People of a role for whom columns are offered where it takes any number."""


class NewBulkQuery(msgspec.Struct, frozen=True):
    template: Id | UnsetType = UNSET


class CheckQuery(msgspec.Struct, frozen=True):
    page: Annotated[int, Meta(ge=1, le=shared_limits.BULK_FLAWS)] = 1
    done: Done = ""


class ColumnsForm(msgspec.Struct, frozen=True):
    """What is said of the file beside its columns."""

    name: Name
    title: Title | None = None
    subject: Annotated[str, Meta(max_length=shared_limits.MESSAGE_SUBJECT_CHARS)] = ""
    body: Annotated[str, Meta(max_length=shared_limits.MESSAGE_BODY_CHARS)] = ""
    rows_per_minute: Pace | None = None


class Meaning(NamedTuple):
    """What a column can mean: its name in the API, and the word for it."""

    value: str
    word: str
    """Of the table of words; empty where the value's own name says it."""


class Meanings(NamedTuple):
    """What columns can mean, of one person or of the document."""

    title: str
    number: int
    """Of the person in the role; 0 where it is about no person."""
    choices: Sequence[Meaning]


@get("/app/bulk/new", opt={**person("documents:send"), QUERY: NewBulkQuery}, include_in_schema=False)
async def new_bulk_send(request: AnyRequest) -> Response[Any]:
    return await _new_page(request, context.of(request).query.template or "")


@post("/app/bulk/new", opt=person("documents:send"), include_in_schema=False, request_max_body_size=None)
async def choose_file(request: AnyRequest) -> Response[Any]:
    """Keeps the file, and asks what its columns mean."""
    here = context.of(request)
    deedbox, workspace = here.deedbox, here.caller.workspace_id
    form = FormMultiDict()
    try:
        with beside("file"):
            form, name, content = await page_files.table(request, limits.BULK_BYTES)
            if not name:
                raise BadRequest(WORDS["bulk_no_file"])
        template_id = text(form, "template_id")
        with beside("template_id"):
            await deedbox.db.read(lambda tx: create_from_template.ready(tx, workspace, template_id))
        with beside("file"):
            now = deedbox.clock.now()
            kept = await uploads.receive(deedbox.box, workspace, template_id, name, content, now)
    except ServiceError as error:
        if error.status >= 500:
            raise
        if not asks_for_page(request):
            return page_forms.refusal(error)
        return await _new_page(request, text(form, "template_id"), error)
    await deedbox.db.write(lambda tx: uploads.keep(tx, kept.upload, kept.encrypted))
    return go(f"/app/bulk/uploads/{kept.upload.id}")


@get("/app/bulk/uploads/{upload_id:str}", opt=person("documents:send"), include_in_schema=False)
async def columns_page(request: AnyRequest, upload_id: FromPath[str]) -> Response[Any]:
    """What each column means, as it was said, or as it is guessed."""
    return await _columns_page(request, await _looked(request, upload_id))


@post(
    "/app/bulk/uploads/{upload_id:str}",
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.SIGNING_FORM_BYTES,
)
async def check_rows(request: AnyRequest, upload_id: FromPath[str]) -> Response[Any]:
    """Keeps what the columns mean, and what is wrong with each row if they mean that."""
    here, form = context.of(request), await page_forms.form_of(request)
    seen = await _looked(request, upload_id)
    try:
        choice = _choice(form, seen)
        here.take_time(limits.BULK_CHECK_SECONDS)
        with beside("name", Conflict):
            found = await uploads.check_upload(
                here.deedbox.services, here.deedbox.box, seen.upload, choice, validation_errors.describe
            )
    except ServiceError as error:
        if error.status >= 500:
            raise
        return await _columns_page(request, seen, error=error, form=form)
    await here.deedbox.db.write(lambda tx: uploads.note(tx, seen.upload, choice, found))
    return go(f"/app/bulk/uploads/{upload_id}/check")


@get(
    "/app/bulk/uploads/{upload_id:str}/check",
    opt={**person("documents:send"), QUERY: CheckQuery},
    include_in_schema=False,
)
async def check_page(request: AnyRequest, upload_id: FromPath[str]) -> Response[Any]:
    """Every row that cannot be sent, with its line and reason, a page of them at a time."""
    upload, template = await _found(request, upload_id)
    if upload.report is None or upload.choice is None:
        return go(f"/app/bulk/uploads/{upload_id}")
    number, most = context.of(request).query.page, shared_limits.PAGE_DEFAULT
    flaws = upload.report.flaws[(number - 1) * most : number * most]
    return app_page(
        request,
        "dashboard/bulk/check.html",
        upload=upload,
        made_from=template,
        report=upload.report,
        choice=upload.choice,
        flaws=flaws,
        number=number,
        last=-(-len(upload.report.flaws) // most),
        checked=upload.stamp(upload.report.version),
        once=page_forms.new_once(),
        sample=_sample(template),
    )


@get("/app/bulk/uploads/{upload_id:str}/bad-rows.csv", opt=person("documents:send"), include_in_schema=False)
async def bad_rows(request: AnyRequest, upload_id: FromPath[str]) -> Response[Any]:
    """All lines that cannot be sent, with their reasons."""
    here = context.of(request)
    upload, _ = await _found(request, upload_id)
    flaws = upload.report.flaws if upload.report else ()
    content = await uploads.content_of(here.deedbox.services, here.deedbox.box, upload)
    lines = results.bad_rows(content, flaws)
    each, in_all = limits.DOWNLOAD_STALL_SECONDS, limits.DOWNLOAD_SECONDS
    headers = {"Content-Disposition": 'attachment; filename="rows-to-correct.csv"', "Content-Type": results.KIND}
    return StreamedResponse(patiently(here, _in_turns(lines), each=each, in_all=in_all), headers=headers)


@post(
    "/app/bulk/uploads/{upload_id:str}/send",
    opt=person("documents:send"),
    include_in_schema=False,
    request_max_body_size=limits.FORM_BYTES,
)
async def send_rows(request: AnyRequest, upload_id: FromPath[str]) -> Response[Any]:
    """Sends the rows that were found to be in order: exactly those that the button names, or none."""
    here, form = context.of(request), await page_forms.form_of(request)
    with page_forms.send_once(request, form) as sent:
        if before := await sent.before():
            return go(before)
        upload, _ = await _found(request, upload_id)
        choice, back = upload.choice, f"/app/bulk/uploads/{upload_id}"
        if choice is None:
            return go(back)
        here.take_time(limits.BULK_CHECK_SECONDS)
        try:
            found = await uploads.check_upload(
                here.deedbox.services, here.deedbox.box, upload, choice, validation_errors.describe
            )
        except ServiceError as error:
            if error.status >= 500:
                raise
            return await _columns_page(request, await _looked(request, upload_id), error=error)
        asked = (str(len(found.report.rows)), upload.stamp(found.version))
        if asked != (text(form, "rows"), text(form, "checked")):
            await here.deedbox.db.write(lambda tx: uploads.note(tx, upload, choice, found))
            return go(f"{back}/check?done=checked_again")

        def act(tx: Tx) -> str:
            with here.action(tx) as ctx:
                return f"/app/bulk/{uploads.send(ctx, upload, found).id}?done=begun"

        return go(await sent.once(act))


class SeenTable(NamedTuple):
    """A file whose columns are being named."""

    upload: BulkUpload
    template: Template
    head: Head

    @property
    def known(self) -> KnownColumns:
        return KnownColumns.of(self.template)


async def _looked(request: AnyRequest, upload_id: str) -> SeenTable:
    here = context.of(request)
    upload, template = await _found(request, upload_id)
    content = await uploads.content_of(here.deedbox.services, here.deedbox.box, upload)
    return SeenTable(upload, template, await asyncio.to_thread(uploads.head_of, content))


async def _found(request: AnyRequest, upload_id: str) -> tuple[BulkUpload, Template]:
    here = context.of(request)
    workspace = here.caller.workspace_id

    def look(tx: Tx) -> tuple[BulkUpload, Template]:
        upload = uploads.find(tx, workspace, upload_id)
        return upload, create_from_template.ready(tx, workspace, upload.template_id).template

    return await here.deedbox.db.read(look)


def _choice(form: FormMultiDict, seen: SeenTable) -> ColumnChoice:
    """What the form says; WrongForm names what is wrong with it."""
    told = page_forms.read_struct(form, ColumnsForm)
    meanings = [text(form, f"columns.{number}") or None for number in range(len(seen.head.headings))]
    if missing := guess.find_missing_roles(meanings, seen.known):
        raise page_forms.WrongForm({f"role.{name}": name for name in missing})
    message = Message(told.subject, told.body) if told.subject or told.body else None
    return ColumnChoice(
        name=told.name,
        title=told.title,
        message=message,
        rows_per_minute=told.rows_per_minute,
        meanings=meanings,
    )


async def _new_page(request: AnyRequest, template_id: str, error: ServiceError | None = None) -> Response[Any]:
    here = context.of(request)
    workspace = here.caller.workspace_id

    def look(tx: Tx) -> list[Template]:
        found = templates.page(tx, workspace, None, shared_limits.PAGE_MAX, None)
        chosen = templates.find(tx, workspace, template_id) if template_id else None
        named = [chosen] if chosen and chosen.id not in {one.id for one in found} else []
        return [one for one in (*named, *found) if one.status == "ready"]

    found = await here.deedbox.db.read(look)
    return app_page(
        request,
        "dashboard/bulk/new.html",
        error=error,
        templates=found,
        template_id=template_id,
        most=shared_limits.BULK_ROWS,
    )


async def _columns_page(
    request: AnyRequest, seen: SeenTable, *, error: ServiceError | None = None, form: FormMultiDict | None = None
) -> Response[Any]:
    upload, choice = seen.upload, seen.upload.choice
    guessed = guess.guess(seen.head.headings, seen.known)
    meanings = choice.meanings if choice and len(choice.meanings) == len(guessed) else guessed
    if form is not None:
        meanings = [text(form, f"columns.{number}") or None for number in range(len(guessed))]
    meanings = [one if one and is_plain(one, seen.known) else None for one in meanings]
    return app_page(
        request,
        "dashboard/bulk/columns.html",
        error=error,
        upload=upload,
        made_from=seen.template,
        columns=[*zip(seen.head.headings, seen.head.samples, meanings, strict=True)],
        choices=_choices(seen.template, meanings),
        typed=_typed(upload, form),
    )


def _typed(upload: BulkUpload, form: FormMultiDict | None) -> dict[str, str]:
    """What stands in the boxes: what was typed, else what was said before."""
    names, choice = ColumnsForm.__struct_fields__, upload.choice
    if form is not None:
        return {name: text(form, name) for name in names}
    if choice is None:
        bare = page_files.title_from_name(upload.file_name, shared_limits.BULK_NAME_CHARS)
        return dict.fromkeys(names, "") | {"name": bare}
    message = choice.message or Message("", "")
    pace = str(choice.rows_per_minute or "")
    return dict(zip(names, (choice.name, choice.title or "", message.subject, message.body, pace), strict=True))


def _sample(template: Template) -> str:
    """A dry run as a program asks for it."""
    people = {role.name: {"name": "Ann", "email": "ann@example.com"} for role in template.content.roles}
    body = {"dry_run": True, "name": "Renewal", "template_id": template.id, "rows": [{"roles": people}]}
    return msgspec.json.encode(body).decode().replace("'", "\\u0027")


def _choices(template: Template, meanings: Sequence[str | None]) -> list[Meanings]:
    """What columns can mean, by person; what they mean already is among it."""
    found = [
        Meanings(role.name, number, [Meaning(f"{_whose(role.name, number)}.{field}", field) for field in _PERSON])
        for role in template.content.roles
        for number in sorted({*range(1, (role.signers or _SEVERAL) + 1), *_numbers(role.name, meanings)})
    ]
    labels = KnownColumns.of(template).labels
    if labels:
        found.append(Meanings("values", 0, [Meaning(f"value:{label}", "") for label in labels]))
    own = [*_ROW, *(one for one in meanings if one and one.startswith("metadata:"))]
    return [*found, Meanings("document", 0, [Meaning(one, one if one in _ROW else "") for one in own])]


def _whose(role: str, number: int) -> str:
    return role if number == 1 else f"{role}[{number}]"


def _numbers(role: str, meanings: Sequence[str | None]) -> set[int]:
    """The numbers of the role's people whom columns name: these alone, so that the page does not grow with them."""
    named = (re.fullmatch(rf"{re.escape(role)}\[([1-9][0-9]?)\]\.\w+", one or "") for one in meanings)
    return {int(one[1]) for one in named if one}


async def _in_turns(lines: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The lines, some at a time, between which others have their turns."""
    while some := await asyncio.to_thread(lambda: b"".join(islice(lines, shared_limits.LIST_BATCH))):
        yield some


ROUTES: list[Any] = [new_bulk_send, choose_file, columns_page, check_rows, check_page, bad_rows, send_rows]
