"""Files that come with a request: in a form or in JSON, streamed to the blobs, hashed and bounded on the way."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from multipart import MultipartSegment

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blobs, Incoming, ReceivedBlob
from deedbox.kernel.errors import BadRequest, TooLarge
from deedbox.web import limits
from deedbox.web.http import body, multipart
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.multipart import FILE, Take

DOCUMENT = "document"
ONE_FILE: dict[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {FILE: {"type": "string", "format": "binary", "description": "The file, with its name."}},
        "required": [FILE],
        "additionalProperties": False,
    },
    "encoding": {
        FILE: {
            "headers": {
                "Content-Disposition": {
                    "description": "The name's extension says what kind of file it is.",
                    "schema": {"type": "string"},
                    "example": f'form-data; name="{FILE}"; filename="lease.txt"',
                }
            }
        }
    },
}
DOCUMENT_WITH_FILES: dict[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {
            DOCUMENT: {
                "type": "string",
                "maxLength": limits.JSON_BODY_BYTES,
                "description": "The document as JSON, as without a form, but without files; `files` may name those that"
                ' are locked: `[{"name": "lease.pdf", "password": "…"}]`.',
            },
            FILE: {
                "type": "array",
                "minItems": 1,
                "maxItems": shared_limits.DOCUMENT_FILES,
                "items": {"type": "string", "format": "binary"},
                "description": "The files, each with its name.",
            },
        },
        "required": [DOCUMENT, FILE],
        "additionalProperties": False,
    }
}
PACKET_WITH_FILES: dict[str, Any] = {
    "schema": {
        "type": "object",
        "properties": {
            DOCUMENT: {
                "type": "string",
                "maxLength": limits.JSON_BODY_BYTES,
                "description": "The packet as JSON, as without a form, but without the bytes of files: the parts are"
                " the files of the documents, one for each, in their order. Where one has several, or one is locked,"
                ' `files` of each document names the parts that are its files, `[{"name": "lease.pdf"}]`, with a'
                " `password`; then every part is a file of exactly one document.",
            },
            FILE: {
                "type": "array",
                "minItems": 1,
                "maxItems": shared_limits.PACKET_FILES,
                "items": {"type": "string", "format": "binary"},
                "description": "The files of all documents, each with its name.",
            },
        },
        "required": [DOCUMENT, FILE],
        "additionalProperties": False,
    }
}
_TOO_LARGE = "File exceeds maximum size of {most}MB"


_TOO_MUCH_JSON = (
    f"JSON with files may have {limits.DOCUMENT_JSON_BYTES // shared_limits.MB} MB."
    " Send larger files as multipart/form-data: a part `document` and parts `file`."
)


class FormPart(NamedTuple):
    filename: str
    received: ReceivedBlob


class DocumentForm(NamedTuple):
    document: bytes
    parts: list[FormPart]


class UploadPage:
    """A page's form whose button sends one of its files: what is typed beside it, and in which part that file is."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._typed: dict[str, bytearray] = {}
        self._bytes = 0

    def typed(self) -> dict[str, str]:
        """What stood in the other boxes; those with other files are left out."""
        return {name: bytes(said).decode(errors="replace") for name, said in self._typed.items()}

    def take(self, part: MultipartSegment) -> Take:
        """What takes the bytes of another part than the file."""
        said = bytearray() if part.filename is not None else self._typed.setdefault(part.name, bytearray())

        async def write(data: bytes) -> None:
            self._bytes += len(data)
            if part.filename is None and self._bytes <= limits.SIGNING_FORM_BYTES:
                said.extend(data)
            elif part.filename is None:
                raise TooLarge(WORDS["form_too_large"])

        return write


class Beside(UploadPage):
    """The parts that a form of the API may have beside its file, each of them once."""

    def __init__(self, *names: str) -> None:
        super().__init__(FILE)
        self._names = names

    def take(self, part: MultipartSegment) -> Take:
        if part.name not in self._names or part.filename is not None:
            also = f", and as text {' and '.join(map(repr, self._names))}" if self._names else ""
            raise BadRequest(
                f"The form has a part that is not named {FILE!r}. Send the file in one part of that name{also}."
            )
        if part.name in self._typed:
            raise BadRequest(f"The form has two parts named {part.name!r}")
        return super().take(part)

    def text(self, name: str) -> str | None:
        """What the part says; None if there is none."""
        try:
            return bytes(self._typed[name]).decode() if name in self._typed else None
        except UnicodeDecodeError as error:
            raise BadRequest(f"{name}: it is not text in UTF-8") from error


@asynccontextmanager
async def one_file(
    request: AnyRequest,
    blobs: Blobs,
    accept: Callable[[str], object],
    most: int = shared_limits.UPLOAD_BYTES,
    page: UploadPage | None = None,
) -> AsyncIterator[FormPart]:
    """The one file of the form. `accept` refuses a name before its bytes are read; what is not adopted is removed."""
    expected, beside = (FILE, 0) if page is None else (page.file, limits.SIGNING_FORM_BYTES)
    too_large, announced = _TOO_LARGE.format(most=most // shared_limits.MB), request.headers.get("content-length", "")
    too_much = announced.isdigit() and int(announced) > most + limits.UPLOAD_FORM_BYTES + beside
    if too_much and multipart.is_form(request):
        raise TooLarge(too_large)
    names: list[str] = []
    async with blobs.receive(most) as incoming:

        async def opened(part: MultipartSegment) -> Take:
            if part.name != expected and page is not None:
                return page.take(part)
            if part.name != expected:
                raise BadRequest(
                    f"The form has a part that is not named {FILE!r}. Send the file in one part of that name."
                )
            if names:
                raise BadRequest("The form contains several files. Send each one in a separate request.")
            name = multipart.filename(part)
            accept(name)
            names.append(name)
            return _to(incoming, too_large)

        await multipart.read(request, opened)
        if not names:
            raise BadRequest(f"The form has no part named {expected!r}")
        yield FormPart(names[0], await incoming.finish())


@asynccontextmanager
async def document_form(
    request: AnyRequest, blobs: Blobs, most_files: int = shared_limits.DOCUMENT_FILES
) -> AsyncIterator[DocumentForm]:
    """The JSON of a document or packet, and its files; what is not adopted until the end of this is removed."""
    document, files = bytearray(), list[tuple[str, Incoming]]()

    async def keep(data: bytes) -> None:
        document.extend(data)
        if len(document) > limits.JSON_BODY_BYTES:
            raise TooLarge("The document's JSON is too large")

    async with AsyncExitStack() as held:

        async def opened(part: MultipartSegment) -> Take:
            if part.name == DOCUMENT and not document:
                return keep
            if part.name == FILE and len(files) < most_files:
                name = multipart.filename(part)
                files.append((name, await held.enter_async_context(blobs.receive(shared_limits.DOCUMENT_FILE_BYTES))))
                return _to(files[-1][1], f"A file may have {shared_limits.DOCUMENT_FILE_BYTES // shared_limits.MB} MB")
            raise BadRequest(
                f"The form may have one part {DOCUMENT!r} and {most_files} parts {FILE!r},"
                f" and no part {part.name!r} beside them"
            )

        await multipart.read(request, opened)
        if not document:
            raise BadRequest(f"The form has no part named {DOCUMENT!r} with the document as JSON")
        yield DocumentForm(bytes(document), [FormPart(name, await one.finish()) for name, one in files])


class PageFiles(NamedTuple):
    """A page's form with any number of files: what is typed beside them, and the files in their order."""

    typed: dict[str, str]
    parts: list[FormPart]


@asynccontextmanager
async def page_files(request: AnyRequest, blobs: Blobs, most_files: int) -> AsyncIterator[PageFiles]:
    """The files of a page's form; what is not adopted until the end of this is removed."""
    page, files = UploadPage(FILE), list[tuple[str, Incoming]]()

    async def nowhere(_: bytes) -> None:
        """For a box in which no file was chosen."""

    async with AsyncExitStack() as held:

        async def opened(part: MultipartSegment) -> Take:
            if part.name != FILE:
                return page.take(part)
            if not part.filename:
                return nowhere
            if len(files) == most_files:
                raise BadRequest(WORDS["chosen_too_many"].format(most=most_files))
            name = multipart.filename(part)
            files.append((name, await held.enter_async_context(blobs.receive(shared_limits.DOCUMENT_FILE_BYTES))))
            most = shared_limits.DOCUMENT_FILE_BYTES // shared_limits.MB
            return _to(files[-1][1], WORDS["chosen_too_large"].format(name=name, mb=most))

        await multipart.read(request, opened)
        yield PageFiles(page.typed(), [FormPart(name, await one.finish()) for name, one in files])


async def document_json(request: AnyRequest) -> bytes:
    """The body of a request that carries its files in JSON, bounded while it is read."""
    try:
        return await body.read(request)
    except TooLarge as error:
        raise TooLarge(_TOO_MUCH_JSON) from error


@asynccontextmanager
async def store(blobs: Blobs, content_base64: str, limit: int) -> AsyncIterator[ReceivedBlob]:
    """A file that came in JSON, as a blob that is not adopted yet; ValueError if it is not base64."""
    async with blobs.receive(limit) as incoming:
        for piece in body.from_base64(content_base64):
            await incoming.write(piece)
        yield await incoming.finish()


def _to(incoming: Incoming, too_large: str) -> Take:
    async def write(data: bytes) -> None:
        try:
            await incoming.write(data)
        except TooLarge as error:
            raise TooLarge(too_large) from error

    return write
