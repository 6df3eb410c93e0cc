"""New: files become a draft, whose people and fields come next."""

from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.datastructures import FormMultiDict
from msgspec import Meta

from deedbox import words
from deedbox.kernel import limits
from deedbox.kernel.crypto import Secret
from deedbox.kernel.db import Tx
from deedbox.kernel.errors import DeedboxError
from deedbox.signing.actions import begin
from deedbox.signing.new_document import FilePassword, NewDocument, NewFile, Title
from deedbox.signing.paper.intake import RefusedFiles
from deedbox.web.frame import context, forms, page_files, upload
from deedbox.web.frame.app_pages import app_page, asks_for_page
from deedbox.web.frame.context import AnyRequest
from deedbox.web.frame.doors import person
from deedbox.web.frame.pages import go
from deedbox.web.frame.upload import PageFiles
from deedbox.words import dashboard


class NewForm(msgspec.Struct, frozen=True):
    """What is filled in beside the files."""

    title: Title | None = None
    language: Annotated[str, Meta(max_length=2)] = words.DEFAULT
    password: FilePassword | None = None
    """For every PDF, where no script asks for each file's own."""


class _Given:
    """What has come of a form so far, for the page that says what is wrong with it."""

    typed: dict[str, str]
    names: list[str]

    def __init__(self) -> None:
        self.typed, self.names = {}, []


@get("/app/new", opt=person("documents:write"), include_in_schema=False)
async def new_page(request: AnyRequest) -> Response[Any]:
    return _page(request, _Given())


@post("/app/new", opt=person("documents:write"), include_in_schema=False, request_max_body_size=None)
async def begin_draft(request: AnyRequest) -> Response[Any]:
    """A draft of the files, once, however often it is sent; every refusal is said beside its file."""
    here, given = context.of(request), _Given()
    try:
        async with upload.page_files(request, here.deedbox.blobs, limits.DOCUMENT_FILES) as came:
            given.typed, given.names = came.typed, [part.filename for part in came.parts]
            return _led(request, await _begun(request, came))
    except DeedboxError as error:
        if error.status >= 500:
            raise
        return _refused(request, given, error)


async def _begun(request: AnyRequest, came: PageFiles) -> str:
    """Where the draft goes on."""
    here = context.of(request)
    hashes = [("file", part.received.blob.sha256) for part in came.parts]
    form = FormMultiDict([*came.typed.items(), *hashes])
    with forms.sending(request, form) as sent:
        if before := await sent.before():
            return before
        wanted = forms.filled(FormMultiDict(came.typed), NewForm)
        if not came.parts:
            raise forms.WrongForm({"file": dashboard.WORDS["new_no_file"]})
        files = [
            NewFile(part.filename, part.received, _password(wanted, came.typed, number, part.filename))
            for number, part in enumerate(came.parts)
        ]
        new = NewDocument(
            title=wanted.title or page_files.called(came.parts[0].filename, limits.TITLE_CHARS),
            language=words.known(wanted.language),
        )
        async with begin.prepared(here.deedbox.paper_mill, new, files) as make:

            def act(tx: Tx) -> str:
                with here.desk(tx) as desk:
                    return f"/app/documents/{make(desk).first.id}/people"

            return await sent.once(act)


def _password(wanted: NewForm, typed: dict[str, str], number: int, name: str) -> Secret | None:
    own = typed.get(f"unlock.{number}", "")[: limits.FILE_PASSWORD_CHARS]
    if own:
        return Secret(own)
    return Secret(wanted.password) if wanted.password and name.lower().endswith(".pdf") else None


def _led(request: AnyRequest, path: str) -> Response[Any]:
    """On to the next page; a script is told where that is."""
    return go(path) if asks_for_page(request) else Response({"to": path}, status_code=200)


def _refused(request: AnyRequest, given: _Given, error: DeedboxError) -> Response[Any]:
    reasons, locked = (error.reasons, error.locked) if isinstance(error, RefusedFiles) else ({}, set[int]())
    if asks_for_page(request):
        return _page(request, given, error, reasons)
    files = {at: {"reason": why, "code": "locked" if at in locked else "refused"} for at, why in reasons.items()}
    return forms.refusal(error, files=files)


def _page(
    request: AnyRequest, given: _Given, error: DeedboxError | None = None, reasons: dict[int, str] | None = None
) -> Response[Any]:
    """The form with what was typed; files a browser gives only once, so that they are named, and chosen again."""
    refused = [(name, (reasons or {}).get(number, "")) for number, name in enumerate(given.names)] if reasons else []
    return app_page(
        request,
        "dashboard/new.html",
        error=error,
        once=forms.new_once(),
        refused=refused,
        typed={"title": given.typed.get("title", ""), "language": given.typed.get("language", words.DEFAULT)},
        languages=words.NAMES,
        most_files=limits.DOCUMENT_FILES,
        most_bytes=limits.DOCUMENT_FILE_BYTES,
        title_chars=limits.TITLE_CHARS,
        password_chars=limits.FILE_PASSWORD_CHARS,
        accept=page_files.ACCEPT,
    )


ROUTES = [new_page, begin_draft]
