"""New: files become a draft, of one document or of several that are sent together; people and fields come next."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from msgspec import Meta

from deedbox import i18n
from deedbox.i18n import dashboard
from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import ServiceError
from deedbox.signing.action_context import ActionContext
from deedbox.signing.actions import begin
from deedbox.signing.actions.convert import DocumentPreparation
from deedbox.signing.model import Packet
from deedbox.signing.new_document import FilePassword, NewDocument, NewFile, Title
from deedbox.signing.new_packet import NewPacket, NewPacketDocument
from deedbox.signing.preparation.intake import RefusedFiles
from deedbox.web.http import context, page_files, page_forms, upload
from deedbox.web.http.app_pages import app_page, asks_for_page
from deedbox.web.http.auth import person
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.pages import go
from deedbox.web.http.upload import PageFiles


class NewForm(msgspec.Struct, frozen=True):
    """What is filled in beside the files."""

    kind: Literal["document", "packet"] = "document"
    """Whether the files are one document, or each is one of its own."""
    title: Title | None = None
    language: Annotated[str, Meta(max_length=2)] = i18n.DEFAULT
    password: FilePassword | None = None
    """For every PDF, where no script asks for each file's own."""


_USUAL = {"kind": "document", "title": "", "language": i18n.DEFAULT}


class _Given:
    """What has come of a form so far, for the page that says what is wrong with it."""

    typed: dict[str, str]
    names: list[str]

    def __init__(self) -> None:
        self.typed, self.names = {}, []


@get("/app/new", opt=person("documents:write"), include_in_schema=False)
async def new_page(request: AnyRequest) -> Response[Any]:
    """The form; `as=packet` chooses that each file is a document of its own."""
    given = _Given()
    given.typed = {"kind": "packet" if request.query_params.get("as") == "packet" else "document"}
    return _page(request, given)


@post("/app/new", opt=person("documents:write"), include_in_schema=False, request_max_body_size=None)
async def begin_draft(request: AnyRequest) -> Response[Any]:
    """A draft of the files, once, however often it is sent; every refusal is said beside its file."""
    here, given = context.of(request), _Given()
    try:
        async with upload.page_files(request, here.deedbox.blobs, limits.DOCUMENT_FILES) as came:
            given.typed, given.names = came.typed, [part.filename for part in came.parts]
            return _led(request, await _begun(request, came))
    except ServiceError as error:
        if error.status >= 500:
            raise
        return _refused(request, given, error)


async def _begun(request: AnyRequest, came: PageFiles) -> str:
    """Where the draft goes on."""
    here = context.of(request)
    hashes = [("file", part.received.blob.sha256) for part in came.parts]
    form = FormMultiDict([*came.typed.items(), *hashes])
    with page_forms.send_once(request, form) as sent:
        if before := await sent.before():
            return before
        wanted = page_forms.read_struct(FormMultiDict(came.typed), NewForm)
        if not came.parts:
            raise page_forms.WrongForm({"file": dashboard.WORDS["new_no_file"]})
        files = [
            NewFile(part.filename, part.received, _password(wanted, came.typed, number, part.filename))
            for number, part in enumerate(came.parts)
        ]
        async with _beginning(here.deedbox.paper_mill, wanted, files) as make:

            def act(tx: Tx) -> str:
                with here.action(tx) as ctx:
                    return f"/app/documents/{make(ctx).first.id}/people"

            return await sent.once(act)


def _beginning(
    preparation: DocumentPreparation, wanted: NewForm, files: Sequence[NewFile]
) -> AbstractAsyncContextManager[Callable[[ActionContext], Packet]]:
    """What makes the draft; what is given no title is called as its first file."""
    names, language = (
        [page_files.title_from_name(one.name, limits.TITLE_CHARS) for one in files],
        i18n.known(wanted.language),
    )
    title = wanted.title or names[0]
    if wanted.kind == "document":
        return begin.prepare(preparation, NewDocument(title=title, language=language), files)
    each = [NewPacketDocument(title=name) for name in names]
    return begin.prepared_packet(preparation, NewPacket(title=title, documents=each, language=language), files)


def _password(wanted: NewForm, typed: dict[str, str], number: int, name: str) -> Secret | None:
    own = typed.get(f"unlock.{number}", "")[: limits.FILE_PASSWORD_CHARS]
    if own:
        return Secret(own)
    return Secret(wanted.password) if wanted.password and name.lower().endswith(".pdf") else None


def _led(request: AnyRequest, path: str) -> Response[Any]:
    """On to the next page; a script is told where that is."""
    return go(path) if asks_for_page(request) else Response({"to": path}, status_code=200)


def _refused(request: AnyRequest, given: _Given, error: ServiceError) -> Response[Any]:
    reasons, locked = (error.reasons, error.locked) if isinstance(error, RefusedFiles) else ({}, set[int]())
    if asks_for_page(request):
        return _page(request, given, error, reasons)
    files = {at: {"reason": why, "code": "locked" if at in locked else "refused"} for at, why in reasons.items()}
    return page_forms.refusal(error, files=files)


def _page(
    request: AnyRequest, given: _Given, error: ServiceError | None = None, reasons: dict[int, str] | None = None
) -> Response[Any]:
    """The form with what was typed; files a browser gives only once, so that they are named, and chosen again."""
    refused = [(name, (reasons or {}).get(number, "")) for number, name in enumerate(given.names)] if reasons else []
    return app_page(
        request,
        "dashboard/new.html",
        error=error,
        once=page_forms.new_once(),
        refused=refused,
        typed={name: given.typed.get(name, usual) for name, usual in _USUAL.items()},
        languages=i18n.NAMES,
        most_files=limits.DOCUMENT_FILES,
        most_bytes=limits.DOCUMENT_FILE_BYTES,
        title_chars=limits.TITLE_CHARS,
        password_chars=limits.FILE_PASSWORD_CHARS,
        accept=page_files.ACCEPT,
    )


ROUTES = [new_page, begin_draft]
