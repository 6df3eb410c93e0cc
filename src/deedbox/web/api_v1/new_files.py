"""New records that come with files: in JSON that carries them in base64, or in a form whose parts they are."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import Meta

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blobs
from deedbox.kernel.constraints import exactly_one
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest
from deedbox.kernel.redacted import Redacted
from deedbox.signing.new_document import FilePassword, NewFile
from deedbox.web import limits
from deedbox.web.http import context, multipart, upload
from deedbox.web.http.body import decode_as, need_json
from deedbox.web.http.context import AnyRequest

FileName: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=shared_limits.FILENAME_CHARS, extra_json_schema=shared_limits.NO_NUL)
]
Base64: TypeAlias = Annotated[str, Meta(min_length=4, max_length=limits.DOCUMENT_JSON_BYTES)]

FILES_OR_TEMPLATE = exactly_one("file", "files", "template_id")


class NewFileBody(Redacted, frozen=True, forbid_unknown_fields=True):
    name: FileName
    """The file's name; its extension says what it is."""
    content_base64: Base64
    """The bytes of the file, in base64."""
    password: FilePassword | None = None
    """Opens a PDF that is locked. It is used once and kept nowhere."""


class NamedPassword(Redacted, frozen=True, forbid_unknown_fields=True):
    """The password of the part with this file name."""

    name: FileName
    """The name of the part's file."""
    password: FilePassword
    """Opens a PDF that is locked. It is used once and kept nowhere."""


class WithFiles(Protocol):
    """A body in JSON."""

    @property
    def file(self) -> NewFileBody | None: ...

    @property
    def files(self) -> Sequence[NewFileBody]: ...


class WithPasswords(Protocol):
    """The JSON of a form; `files` names the parts that are locked."""

    @property
    def files(self) -> Sequence[NamedPassword]: ...


J = TypeVar("J", bound=WithFiles)
F = TypeVar("F", bound=WithPasswords)


class UploadedRequest(NamedTuple, Generic[J, F]):
    """A request for something new, its files stored."""

    new: J | F
    files: list[NewFile]
    content: bytes
    """What tells this request from another with the same Idempotency-Key."""


@asynccontextmanager
async def asked_for(request: AnyRequest, in_json: type[J], in_form: type[F]) -> AsyncIterator[UploadedRequest[J, F]]:
    """What the request asks for; files that are not adopted until the end of this are removed."""
    blobs = context.of(request).deedbox.blobs
    async with AsyncExitStack() as held:
        if multipart.is_form(request):
            given = await held.enter_async_context(upload.document_form(request, blobs))
            told = await decode_as(request, in_form, given.document)
            files = _unlocked(told.files, given.parts)
            content = given.document + b"".join(file.original.blob.sha256.encode() for file in files)
            yield UploadedRequest(told, files, content)
            return
        need_json(request)
        content = await upload.document_json(request)
        body = await decode_as(request, in_json, content)
        sources = [body.file] if body.file is not None else body.files
        yield UploadedRequest(body, [await store_file(blobs, source, held) for source in sources], content)


async def store_file(blobs: Blobs, source: NewFileBody, held: AsyncExitStack) -> NewFile:
    """A file that came in JSON, stored and not yet adopted."""
    kept = upload.store(blobs, source.content_base64, shared_limits.DOCUMENT_FILE_BYTES)
    try:
        received = await held.enter_async_context(kept)
    except ValueError as error:
        raise BadRequest(f"{source.name}: content_base64 is not base64") from error
    password = Secret(source.password) if source.password else None
    return NewFile(multipart.clean(source.name), received, password)


def _unlocked(locked: Sequence[NamedPassword], parts: Sequence[upload.FormPart]) -> list[NewFile]:
    """The parts of a form as files, each with its password."""
    passwords = {multipart.clean(one.name): Secret(one.password) for one in locked}
    names = [part.filename for part in parts]
    for name in passwords:
        if names.count(name) != 1:
            raise BadRequest(f"{name}: a password is given for it, but {names.count(name)} parts `file` have that name")
    return [NewFile(part.filename, part.received, passwords.get(part.filename)) for part in parts]
