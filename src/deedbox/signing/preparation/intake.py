"""Files on their way into a document: converted if need be, and made into one paper."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal, NamedTuple, TypeVar

import msgspec

from deedbox.i18n.refusals import refusal
from deedbox.kernel import limits
from deedbox.kernel.blobs import Blob, Blobs, ReceivedBlob
from deedbox.kernel.blobs.stream import head_of, open_stream
from deedbox.kernel.clock import Clock, instant
from deedbox.kernel.errors import BadRequest
from deedbox.pdf.intake import convert
from deedbox.pdf.intake.signed_input import LOCKED, NOT_OPENED, EarlierSignature, IntakeTerms
from deedbox.pdf.marks.marks import FormField, PageRect, PreparedFile, Tag
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.signing.model import Party
from deedbox.signing.new_document import NewField, NewParty, without_field
from deedbox.signing.preparation import OriginalFile, Plan, Planner, PreparedDocument, PreparedDocumentFile
from deedbox.signing.preparation.join import join

T = TypeVar("T")

NOT_LOCKED = "A password is for PDFs only. Give the file without one."
CONVERTED_LATER = (
    "A locked PDF cannot come with a Word document or an HTML page: those are converted later, and its password is kept"
    " nowhere. Upload it without protection, or them as PDF."
)


class RefusedFiles(BadRequest):
    """Files that cannot be taken in: why, by their numbers from 0; the message names the first."""

    def __init__(self, names: Sequence[str], reasons: Mapping[int, str]) -> None:
        first, why = next(iter(reasons.items()))
        super().__init__(f"{names[first]}: {why}")
        self.reasons = dict(reasons)

    @property
    def locked(self) -> set[int]:
        """The numbers of those that a password, or another one, would open."""
        return {number for number, why in self.reasons.items() if why in (LOCKED, NOT_OPENED)}


class _Taken(NamedTuple):
    """A file that was taken in."""

    pdf: ReceivedBlob
    file: PreparedDocumentFile
    places: Sequence[PageRect]
    """For signatures, where they were found at once."""


class Intake:
    def __init__(self, blobs: Blobs, workshop: PdfSandbox, clock: Clock) -> None:
        self._blobs = blobs
        self._workshop = workshop
        self._clock = clock

    async def takes_long(self, originals: Sequence[OriginalFile]) -> bool:
        """Whether a file must be converted by a program that takes its time; BadRequest if that cannot be run."""
        long = "long" in await self._each(originals, self._pace)
        locked = [number for number, one in enumerate(originals) if one.password is not None]
        if long and locked:
            raise RefusedFiles([one.name for one in originals], dict.fromkeys(locked, CONVERTED_LATER))
        return long

    async def check_now(self, originals: Sequence[OriginalFile]) -> None:
        """Raises RefusedFiles for those that need no conversion, and could not be taken in after it either."""
        async with AsyncExitStack() as held:

            async def check(number: int, one: OriginalFile) -> None:
                if await self._pace(number, one) == "soon":
                    await self._taken(number, one, held)

            await self._each(originals, check)

    async def _pace(self, _: int, original: OriginalFile) -> Literal["soon", "long"]:
        source = await self._source(original)
        await self._workshop.check_converter(source)
        if original.password is not None and source != "pdf":
            raise BadRequest(NOT_LOCKED)
        return "long" if source in ("docx", "html") else "soon"

    async def _each(
        self, originals: Sequence[OriginalFile], take: Callable[[int, OriginalFile], Awaitable[T]]
    ) -> list[T]:
        """What is taken of each file; RefusedFiles with all that are refused, not only the first."""
        taken, reasons = list[T](), dict[int, str]()
        for number, original in enumerate(originals):
            try:
                taken.append(await take(number, original))
            except BadRequest as error:
                reasons[number] = error.message
        if reasons:
            raise RefusedFiles([one.name for one in originals], reasons)
        return taken

    @asynccontextmanager
    async def paper(
        self, originals: Sequence[OriginalFile], parties: Sequence[NewParty | Party], fields: Sequence[NewField]
    ) -> AsyncIterator[PreparedDocument]:
        """The paper of these files for these signers, until the end of this; BadRequest says why there can be none."""
        async with AsyncExitStack() as held:
            # Where there are no fields but those that the file itself places, all who sign may need a place in it.
            signers = without_field(parties, fields) if len(originals) == 1 and not fields else 0
            paper = await self._whole(originals, held, signers)
            yield await self._placed(paper, Plan(parties, [*fields, *paper.tags]), originals[-1].pages, held)

    @asynccontextmanager
    async def planned(
        self, originals: Sequence[OriginalFile], planner: Planner
    ) -> AsyncIterator[tuple[PreparedDocument, Plan]]:
        """The paper of these files, and the plan that was made of what they bring along; it has no tags any more."""
        async with AsyncExitStack() as held:
            paper = await self._whole(originals, held)
            plan = planner(paper.files)
            files = [msgspec.structs.replace(file, tags=(), form=()) for file in paper.files]
            bare = msgspec.structs.replace(paper, files=files)
            yield await self._placed(bare, plan, originals[-1].pages, held), plan

    async def _whole(
        self, originals: Sequence[OriginalFile], held: AsyncExitStack, signers: int = 0
    ) -> PreparedDocument:
        """All files as one PDF, without places for signatures; of the only one, perhaps with places for so many."""
        taken = await self._each(originals, lambda number, one: self._taken(number, one, held, signers))
        pdfs, files = [one.pdf for one in taken], [one.file for one in taken]
        if len(taken) == 1:
            return PreparedDocument(pdfs[0], files, taken[0].places)
        return PreparedDocument(await self._joined(pdfs, held), files)

    async def _placed(self, paper: PreparedDocument, plan: Plan, shown: int, held: AsyncExitStack) -> PreparedDocument:
        """The paper with a place for each signature that has no field."""
        places = _taken_in_last(plan.fields, paper.files, shown)
        signers, pages = without_field(plan.parties, plan.fields), sum(len(file.sizes) for file in paper.files)
        if signers == len(paper.places) and not places:
            return paper
        if signers or any(place.page > pages for place in places):
            return await self._with_places(paper, signers, places, held)
        return paper

    @asynccontextmanager
    async def attachment(
        self, name: str, file: Blob
    ) -> AsyncIterator[tuple[ReceivedBlob, Sequence[tuple[float, float]]]]:
        """The PDF that is made of a signer's file, with the sizes of its pages, until the end of this.

        Of signatures in it, only the looks stay, and of links to web addresses nothing: the sender, who could refuse
        them, has no part in it."""
        original = OriginalFile(name, file, signed_input="flatten", tags=False, web_links=False)
        if await self._source(original) not in ("pdf", "image"):
            raise refusal(BadRequest, "attachment_kind")
        async with AsyncExitStack() as held:
            [taken] = await self._each([original], lambda number, one: self._taken(number, one, held))
            yield taken.pdf, taken.file.sizes

    async def _taken(self, number: int, original: OriginalFile, held: AsyncExitStack, signers: int = 0) -> "_Taken":
        password = original.password.reveal() if original.password else None
        source = await self._source(original)
        terms = IntakeTerms(
            password,
            original.signed_input,
            original.tags,
            original.form,
            web_links=original.web_links,
            converted=source in ("docx", "html"),
        )
        pdf = original.blob if source == "pdf" else (await self._converted(original.blob, source, held)).blob
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        async with open_stream(self._blobs, pdf) as data:
            if signers:
                placed = await self._workshop.take_in_and_place(data, incoming.write, terms, signers)
                made, block = placed.prepared, placed.block
            else:
                made, block = await self._workshop.take_in(data, incoming.write, terms), None
        signatures = await self._signatures(pdf, terms) if made.signed else []
        file = _paper_file(number, made, signatures)
        return _Taken(await incoming.finish(), file, block.places if block is not None else ())

    async def _signatures(self, pdf: Blob, terms: IntakeTerms) -> list[EarlierSignature]:
        async with open_stream(self._blobs, pdf) as data:
            return await self._workshop.earlier_signatures(data, instant(self._clock.now()), terms.password)

    async def _source(self, original: OriginalFile) -> convert.Source:
        return convert.source(original.name, await head_of(self._blobs, original.blob, convert.HEAD_BYTES))

    async def _converted(self, original: Blob, source: convert.Source, held: AsyncExitStack) -> ReceivedBlob:
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        async with open_stream(self._blobs, original) as data:
            await self._workshop.convert(data, source, incoming.write)
        return await incoming.finish()

    async def _joined(self, pdfs: Sequence[ReceivedBlob], held: AsyncExitStack) -> ReceivedBlob:
        if sum(pdf.blob.size_bytes for pdf in pdfs) > limits.PREPARED_FILE_BYTES:
            raise BadRequest(f"Together the files have more than {limits.PREPARED_FILE_BYTES // limits.MB} MB")
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        await join(self._blobs, self._workshop, [pdf.blob for pdf in pdfs], incoming.write)
        return await incoming.finish()

    async def _with_places(
        self, paper: PreparedDocument, signers: int, taken: Sequence[PageRect], held: AsyncExitStack
    ) -> PreparedDocument:
        """The same with places for so many signatures, on pages of their own if there is no room."""
        *others, last = paper.files
        before = sum(len(file.sizes) for file in others)
        incoming = await held.enter_async_context(self._blobs.receive(limits.PREPARED_FILE_BYTES))
        async with open_stream(self._blobs, paper.pdf.blob) as data:
            block = await self._workshop.block(data, signers, incoming.write, taken)
        places = [msgspec.structs.replace(place, page=place.page - before) for place in block.places]
        if not block.added:
            return msgspec.structs.replace(paper, places=places)
        added = (block.size.width, block.size.height) if block.size else last.sizes[-1]
        last = msgspec.structs.replace(last, sizes=[*last.sizes, *[added] * block.added])
        return PreparedDocument(await incoming.finish(), [*others, last], places)


def _taken_in_last(wanted: Sequence[NewField], files: Sequence[PreparedDocumentFile], shown: int) -> list[PageRect]:
    """Where fields stand in the last file, on its own pages or on those that its sender was shown after them."""
    *others, last = files
    before, pages = sum(len(file.sizes) for file in others), max(len(last.sizes), shown)
    return [
        PageRect(before + field.page, field.x, field.y, field.w, field.h)
        for field in wanted
        if field.file_number == len(others) and field.page <= pages
    ]


def _paper_file(number: int, made: PreparedFile, signatures: Sequence[EarlierSignature]) -> PreparedDocumentFile:
    return PreparedDocumentFile(
        sizes=[(page.width, page.height) for page in made.pages],
        tags=[_field(number, tag) for tag in made.tags],
        form=[_form_field(number, field) for field in made.form],
        removed=made.removed,
        signatures=signatures,
    )


def _field(number: int, tag: Tag) -> NewField:
    return NewField(
        type=tag.kind,
        **msgspec.structs.asdict(tag.place),
        file=number,
        party=tag.role,
        required=tag.required,
        label=tag.label or None,
        options=tag.options,
        font_size=tag.font_size,
        read_only=tag.read_only,
        max_length=tag.max_length,
        pattern=tag.pattern,
        group=tag.group,
    )


def _form_field(number: int, field: FormField) -> NewField:
    return NewField(
        type=field.kind,
        **msgspec.structs.asdict(field.place),
        file=number,
        required=field.required,
        label=field.name or None,
        default=field.value or None,
        options=field.options,
        font_size=field.font_size,
        max_length=field.max_length,
        group=field.group,
    )
