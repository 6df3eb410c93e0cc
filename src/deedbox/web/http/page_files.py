"""A page's form with files in it: what was typed, and the files, stored and not yet adopted."""

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from litestar.datastructures import FormMultiDict
from multipart import MultipartSegment

from deedbox.i18n.dashboard import WORDS
from deedbox.kernel import limits as shared_limits
from deedbox.kernel.blobs import Blobs, Incoming
from deedbox.kernel.blobs.local import disk
from deedbox.kernel.crypto import Secret
from deedbox.kernel.errors import BadRequest, TooLarge
from deedbox.pdf.intake import convert
from deedbox.signing.new_document import NewFile
from deedbox.web import limits
from deedbox.web.http import context, multipart, page_forms
from deedbox.web.http.context import AnyRequest
from deedbox.web.http.multipart import FILE, Take

ACCEPT = ",".join(convert.ENDINGS)
"""The files that a box for documents offers to choose."""
_OPENS = "password"
"""The box for what opens locked files. It is used once, and kept and shown nowhere."""


class Filled(NamedTuple):
    form: FormMultiDict
    """What was typed, and under `file` the hash of each file: by it, the form is known when it comes again."""
    files: list[NewFile]


class UploadedTable(NamedTuple):
    form: FormMultiDict
    name: str
    """Of the file; empty if none was chosen."""
    content: bytes


class TypedForm:
    """What is typed into the boxes of a form that also holds files."""

    def __init__(self) -> None:
        self._said: list[tuple[str, bytearray]] = []
        self._bytes = 0

    def take(self, name: str) -> Take:
        said = bytearray()
        self._said.append((name, said))

        async def write(data: bytes) -> None:
            self._bytes += len(data)
            if self._bytes > limits.SIGNING_FORM_BYTES:
                raise TooLarge(WORDS["form_too_large"])
            said.extend(data)

        return write

    def pairs(self) -> list[tuple[str, Any]]:
        try:
            return [(name, bytes(said).decode().replace("\0", "")) for name, said in self._said]
        except UnicodeDecodeError as error:
            raise BadRequest(WORDS["form_not_text"]) from error


@asynccontextmanager
async def read_form(request: AnyRequest, blobs: Blobs, most_files: int) -> AsyncIterator[Filled]:
    """The form; files that are not adopted until the end of this are removed."""
    typed, files = TypedForm(), list[tuple[str, Incoming]]()
    async with AsyncExitStack() as held:

        async def opened(part: MultipartSegment) -> Take:
            if part.filename is None:
                return typed.take(part.name)
            if not part.filename:
                return _nothing  # no file was chosen
            if len(files) == most_files:
                with page_forms.beside(FILE):
                    raise BadRequest(WORDS["chosen_too_many"].format(most=most_files))
            name = multipart.filename(part)
            files.append((name, await held.enter_async_context(blobs.receive(shared_limits.DOCUMENT_FILE_BYTES))))
            return _to(name, files[-1][1])

        await multipart.read(request, opened)
        said = dict(typed.pairs())
        kept = [NewFile(name, await one.finish(), _password(name, said)) for name, one in files]
        yield Filled(FormMultiDict([*typed.pairs(), *((FILE, one.original.blob.sha256) for one in kept)]), kept)


async def table(request: AnyRequest, most: int) -> UploadedTable:
    """The form with its one file, which comes into memory when all of it is there and has room."""
    here, typed, names = context.of(request), TypedForm(), list[str]()
    with tempfile.SpooledTemporaryFile(limits.SMALL_BODY_BYTES, dir=str(here.deedbox.settings.data_dir)) as spool:

        async def write(data: bytes) -> None:
            if spool.tell() + len(data) > most:
                raise TooLarge(WORDS["chosen_table_too_large"].format(mb=most // shared_limits.MB))
            with disk():
                await asyncio.to_thread(spool.write, data)

        async def opened(part: MultipartSegment) -> Take:
            if part.filename is None:
                return typed.take(part.name)
            if not part.filename or names:
                return _nothing
            names.append(multipart.filename(part))
            return write

        await multipart.read(request, opened)
        if (size := spool.tell()) > limits.SMALL_BODY_BYTES:
            await here.room.take(size, here.holder)
            here.held += size
        spool.seek(0)
        content = await asyncio.to_thread(spool.read)
    return UploadedTable(FormMultiDict(typed.pairs()), names[0] if names else "", content)


def title_from_name(filename: str, most: int) -> str:
    """What is called as a file unless it is given a name: the file's own in words, without its ending."""
    bare = re.sub(r"\.\w+$", "", filename)
    return re.sub(r"[\s_]+", " ", bare).strip()[:most] or filename[:most]


def _password(name: str, said: dict[str, Any]) -> Secret | None:
    """What was typed to open locked files; others take no notice of it."""
    given = str(said.get(_OPENS, ""))[: shared_limits.FILE_PASSWORD_CHARS]
    return Secret(given) if given and name.lower().endswith(".pdf") else None


async def _nothing(_: bytes) -> None:
    """Takes the bytes of a part that is left out."""


def _to(name: str, incoming: Incoming) -> Take:
    async def write(data: bytes) -> None:
        with page_forms.beside(FILE, TooLarge):
            try:
                await incoming.write(data)
            except TooLarge as error:
                most = shared_limits.DOCUMENT_FILE_BYTES // shared_limits.MB
                raise TooLarge(WORDS["chosen_too_large"].format(name=name, mb=most)) from error

    return write
