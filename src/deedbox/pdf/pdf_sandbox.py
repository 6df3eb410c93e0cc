"""The sandboxes in which the server has PDF files worked on, one pool for each kind of work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypedDict, TypeVar

import msgspec

from deedbox.kernel import limits as shared_limits
from deedbox.kernel.errors import BadRequest, Unavailable
from deedbox.kernel.sandbox import SandboxCall, SandboxFailed, SandboxKind, Sink, Stream
from deedbox.kernel.sandbox.pool import Sandbox
from deedbox.pdf import limits
from deedbox.pdf.intake import convert
from deedbox.pdf.intake import libreoffice as office
from deedbox.pdf.intake.convert import Source
from deedbox.pdf.intake.signed_input import EarlierSignature, IntakeTerms
from deedbox.pdf.marks.certificate_facts import CompletionCertificate
from deedbox.pdf.marks.fonts import Hand
from deedbox.pdf.marks.marks import Marks, PageRect, Placed, PreparedFile, SignatureBlock
from deedbox.pdf.render.lines import TextLine
from deedbox.pdf.seal import pades as seal

T = TypeVar("T")
Data: TypeAlias = bytes | Stream
Write: TypeAlias = Callable[[bytes], Awaitable[None]]

_PACKAGE = "deedbox.pdf"


def _modules(*names: str) -> tuple[str, ...]:
    return tuple(f"{_PACKAGE}.{name}" for name in names)


def _prepare(*names: str) -> tuple[SandboxCall, ...]:
    """The calls that load what these modules need, while a sandbox still may."""
    return tuple(SandboxCall(f"{module}:prepare") for module in _modules(*names))


def kinds(processes: int, *, unconfined: bool = False) -> tuple[SandboxKind, ...]:
    """Return one kind each for reading untrusted files, drawing on them, sealing, proving and verifying.

    They never share a process: a sandbox that was taken over can spoil what it prepares for a seal, and the proof, made
    afterwards in another process, reveals it."""
    intake = ("intake.take_in", "intake.image_to_pdf", "marks.logo")
    marks = ("marks.draw", "marks.certificate", "marks.typed_signature")
    return (
        SandboxKind(
            name="prepare",
            preload=_modules(*intake, "intake.join", "marks.signature_block", "marks.signature_images"),
            setup=_prepare(*intake),
            processes=processes,
            **_within(limits.PREPARE_SECONDS),
        ),
        SandboxKind(
            name="print",
            preload=_modules(*marks),
            setup=_prepare(*marks),
            processes=processes,
            **_within(limits.MARK_SECONDS),
        ),
        SandboxKind(
            name="pages",
            # Names beyond ASCII are written in UTF-16 and texts come in it: a closed sandbox could no longer load it.
            preload=(
                *_modules("render.draw_pages", "render.page_text", "seal.pades"),
                *("encodings.utf_16_be", "encodings.utf_16_le"),
            ),
            setup=(SandboxCall(f"{_PACKAGE}.seal.pades:load"),),
            processes=processes,
            **_within(limits.SEAL_SECONDS),
        ),
        SandboxKind(
            name="prove",
            preload=_modules("verify.parts", "verify.standalone_timestamp", "intake.earlier_signatures"),
            processes=processes,
            **_within(limits.PROVE_SECONDS),
        ),
        _verify(processes),
        _webpage(unconfined=unconfined),
    )


class _Within(TypedDict):
    cpu_seconds: int
    seconds: float


def _within(cpu_seconds: int) -> _Within:
    """Computing time, and the generous limit by the clock."""
    return {"cpu_seconds": cpu_seconds, "seconds": shared_limits.SANDBOX_PATIENCE * cpu_seconds}


def _verify(processes: int) -> SandboxKind:
    """Strangers use it: what they send must not delay the server's own work."""
    return SandboxKind(
        name="verify",
        preload=_modules("verify.verify_pdf"),
        processes=processes,
        caller_processes=max(1, processes // limits.VERIFY_CALLER_SHARE),
        cpu_seconds=shared_limits.VERIFY_CPU_SECONDS,
        seconds=shared_limits.VERIFY_SECONDS,
    )


def _webpage(*, unconfined: bool) -> SandboxKind:
    return SandboxKind(
        name="webpage",
        preload=(*_modules("intake.html_to_pdf"), "encodings.cp1252", "encodings.utf_16_be"),
        setup=_prepare("intake.html_to_pdf"),
        **_within(limits.CONVERT_SECONDS),
        calls=1,
        open_files=limits.CONVERT_OPEN_FILES,
        threads=limits.CONVERT_THREADS,
        fence=convert.webpage_fence(),
        fence_demanded=not unconfined,
    )


class PdfSandbox:
    """No process runs before its first work.

    Every method fails with BadRequest or SandboxFailed, both a 400, or with Unavailable."""

    def __init__(self, processes: int, *, unconfined_converters: bool = False) -> None:
        self._unconfined = unconfined_converters
        self._sandboxes = [Sandbox(kind) for kind in kinds(processes, unconfined=unconfined_converters)]

    async def run(self, function: str, *args: Any, into: Sink | None = None, cpu_seconds: float | None = None) -> Any:
        """What a function of this package, as `deedbox.pdf.module:function`, returns in its sandbox."""
        module = function.partition(":")[0]
        sandbox = next((one for one in self._sandboxes if module in one.kind.preload), None)
        if sandbox is None:
            raise ValueError(f"{function} has no sandbox")
        async with _honest_about_time():
            return await sandbox.call(function, *args, into=into, cpu_seconds=cpu_seconds)

    async def take_in(self, data: Data, write: Write, terms: IntakeTerms | None = None) -> PreparedFile:
        """Writes the PDF as it will be shown, marked and sealed; after an error only a part may be written."""
        return await self._made(PreparedFile, "intake.take_in:take_in", data, terms, write=write)

    async def take_in_and_place(self, data: Data, write: Write, terms: IntakeTerms, signers: int) -> Placed:
        """The same, with places for so many signers if they could be found at once; else they are yet to be found."""
        return await self._made(Placed, "marks.signature_block:take_in_and_place", data, terms, signers, write=write)

    async def earlier_signatures(self, data: Data, now: str, password: str | None = None) -> list[EarlierSignature]:
        """The signatures that a file from outside brings along; BadRequest if they cannot be read."""
        found = await self.run(f"{_PACKAGE}.intake.earlier_signatures:signatures", data, now, password)
        return _checked(found, list[EarlierSignature])

    async def join(self, data: Data, sizes: Sequence[int], write: Write) -> int:
        """Writes one PDF of several, which come one after the other, each of its size; how many pages it has."""
        return await self._made(int, "intake.join:join", data, list(sizes), write=write)

    async def block(self, data: Data, signers: int, write: Write, taken: Sequence[PageRect] = ()) -> SignatureBlock:
        """Places for signers without a field, none of them taken; writes a new PDF only if pages were added.

        They are for these places, and for those that are taken on pages that there are not."""
        return await self._made(SignatureBlock, "marks.signature_block:place", data, signers, list(taken), write=write)

    async def mark(self, data: Data, marks: Marks, write: Write) -> int:
        """Writes the PDF with the marks on its pages; how many pages have some."""
        return await self._made(int, "marks.draw:mark_pages", data, marks, write=write)

    async def certificate(self, signed: Data, completion: CompletionCertificate, write: Write) -> int:
        """Writes the certificate of completion with pictures of the signed document's pages; its size."""
        return await self._made(int, "marks.certificate:certify", signed, completion, write=write)

    async def logo(self, data: Data) -> bytes:
        """A workspace's logo, written anew as PNG; BadRequest if it is no picture."""
        return _checked(await self.run(f"{_PACKAGE}.marks.logo:logo", data), bytes)

    async def signature_image(self, data: bytes) -> bytes:
        """A drawn or uploaded signature as PNG on a transparent ground."""
        return _checked(await self.run(f"{_PACKAGE}.marks.signature_images:signature", data), bytes)

    async def shown_signature(self, data: bytes) -> tuple[bytes, bool]:
        """The same, and whether the ink is small in it."""
        picture, is_small = await self.run(f"{_PACKAGE}.marks.signature_images:shown", data)
        return _checked(picture, bytes), bool(is_small)

    async def hand(self, text: str, hand: Hand) -> bytes:
        """A typed signature as SVG."""
        return _checked(
            await self.run(
                f"{_PACKAGE}.marks.typed_signature:svg", text, hand, cpu_seconds=shared_limits.SANDBOX_CPU_SECONDS
            ),
            bytes,
        )

    async def render(self, data: Data, number: int, width: int = shared_limits.PAGE_IMAGE_WIDTH) -> bytes:
        """The page as WebP of about this width; NotFound if there is no such page."""
        found = await self.run(
            f"{_PACKAGE}.render.draw_pages:render", data, number, width, cpu_seconds=shared_limits.SANDBOX_CPU_SECONDS
        )
        return _checked(found, bytes)

    async def read(self, data: Data) -> list[list[TextLine]]:
        """The lines of each page; none of a page that is a picture."""
        return _checked(await self.run(f"{_PACKAGE}.render.page_text:pages", data), list[list[TextLine]])

    async def prepare_seal(self, data: Data, order: seal.SealParameters, into: Sink) -> seal.PreparedSeal:
        """Writes the PDF with a gap for its signature; where the gap is. Keys stay with the caller."""
        return _checked(await self.run(f"{_PACKAGE}.seal.pades:prepare", data, order, into=into), seal.PreparedSeal)

    async def convert(self, data: Data, source: Source, write: Write) -> None:
        """Writes a PDF made from an image, an HTML page or a Word document; it is yet to be taken in."""
        if source == "docx":
            async with _honest_about_time():
                await office.as_pdf(data, write, unconfined=self._unconfined)
        elif source == "pdf":
            raise BadRequest("This file is a PDF already")
        else:
            await self._made(
                int,
                "intake.image_to_pdf:as_pdf" if source == "image" else "intake.html_to_pdf:as_pdf",
                data,
                write=write,
            )

    async def check_converter(self, source: Source) -> None:
        """Raises BadRequest, which says what to do, if nothing here can or may turn such a file into a PDF."""
        if source in ("docx", "html"):
            await asyncio.to_thread(convert.check_converter, source, unconfined=self._unconfined)

    async def close(self) -> None:
        for sandbox in self._sandboxes:
            await sandbox.close()

    async def _made(self, kind: type[T], function: str, *args: Any, write: Write) -> T:
        sink = Sink(shared_limits.PREPARED_FILE_BYTES, write)
        return _checked(await self.run(f"{_PACKAGE}.{function}", *args, into=sink), kind)


@asynccontextmanager
async def _honest_about_time() -> AsyncIterator[None]:
    """A file at fault uses up its computing time; where only the clock ran out, the machine is too busy."""
    try:
        yield
    except SandboxFailed as failed:
        if failed.reason == "deadline":
            raise Unavailable("The server is too busy to process this file in time. Try again.") from failed
        raise


def _checked(value: Any, kind: type[T]) -> T:
    """What came out of a sandbox is believed only in its shape."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise SandboxFailed("crashed") from error
